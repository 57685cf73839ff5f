"""Builds the section about the latency of single requests in the last hour. Pure."""

import math

from exporter.pages.page_texts import NO_VALUE, counted, duration, escaped, titled
from exporter.tails.latency_bins import Bins, as_histogram, bounds
from exporter.tails.latency_watch import HourOfRequests
from exporter.tails.request_histogram import OPERATIONS, percentile

_SHARES = (0.5, 0.99, 0.999)

#: The histogram: its lowest and highest decade of seconds, and the bars of a decade.
_FIRST_DECADE, _LAST_DECADE, _PER_DECADE = -5, 1, 4
_BARS = (_LAST_DECADE - _FIRST_DECADE) * _PER_DECADE
_LEVELS = "▁▂▃▄▅▆▇█"

_HEAD = (
    '<table class="sm"><thead><tr><th scope="col">Requests</th>'
    '<th scope="col" class="r">Number</th>'
    '<th scope="col" class="r">p50</th><th scope="col" class="r">p99</th>'
    '<th scope="col" class="r">p99.9</th><th scope="col" class="r">Max</th>'
    '<th scope="col" class="p1">From 10 µs to 10 s, log scale</th></tr></thead><tbody>'
)
_MEANING = (
    "From the issue to the driver until the completion: the drive and its link. A commit waits"
    " for its slowest request. A percentile is shown if at least one request is slower."
)


def request_section(hour: HourOfRequests) -> str:
    """Returns the section.

    hour: what was measured. Without requests, the section says that there was none.
    """
    rows = "".join(
        _row(name, hour.bins[op]) for op, name in OPERATIONS.items() if hour.bins.get(op)
    )
    windows = counted(hour.windows, "window")
    note = f"last hour · observed for {duration(hour.observed_seconds)} in {windows}"
    table = f"{_HEAD}{rows}</tbody></table>" if rows else "<p>No request in these windows.</p>"
    return titled("rq", "Latency of single requests", note, f"{table}<p>{_words(hour)}</p>")


def _words(hour: HourOfRequests) -> str:
    words = [_MEANING] if hour.bins else []
    if hour.unfinished:
        words.append(
            f"{counted(hour.unfinished, 'request')} did not complete within two seconds after a"
            " window and are not in the table."
        )
    if hour.lost:
        words.append(f"{counted(hour.lost, 'request')} could not be matched.")
    return escaped(" ".join(words))


def _row(name: str, bins: Bins) -> str:
    histogram = as_histogram(bins)
    values = [percentile(histogram, share) for share in _SHARES] + [histogram.max_seconds]
    cells = "".join(f'<td class="r"><b>{_time(value)}</b></td>' for value in values)
    return (
        f'<tr><th scope="row">{name}</th><td class="r">{histogram.count:,}</td>{cells}'
        f'<td class="p1"><code>{_bars(bins)}</code></td></tr>'
    )


def _time(seconds: float | None) -> str:
    """Returns a time with its unit and at most three digits, such as ``0.48 ms``."""
    if seconds is None:
        return NO_VALUE
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        value = seconds * 1e3
        return f"{value:.2f} ms" if value < 9.995 else f"{value:.0f} ms"
    return f"{seconds:.2f} s"


def _bars(bins: Bins) -> str:
    """Returns a character for each quarter of a decade, with a logarithmic height.

    A dot is a range without requests. One slow request among a million is visible.
    """
    counts = [0] * _BARS
    for number, count in bins.items():
        low, high = bounds(number)
        column = math.floor((math.log10((low + high) / 2) - _FIRST_DECADE) * _PER_DECADE)
        counts[min(max(column, 0), _BARS - 1)] += count
    highest = math.log(max(*counts, 1) + 1)
    last = len(_LEVELS) - 1
    return "".join(
        _LEVELS[round(math.log(count + 1) / highest * last)] if count else "·" for count in counts
    )
