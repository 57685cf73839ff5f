"""The live view of the command ``latency``. Pure."""

import math
from collections.abc import Iterator, Sequence

from exporter.latency.request_histogram import RequestHistogram
from exporter.latency.request_summary import OPERATIONS, PERCENTILES, DeviceSummary, percentile
from exporter.report.formatting import quantity
from exporter.top.spans import Line, Span, Style, fitted, line

#: The columns of a histogram per decade of latency, and the decades: from 1 µs to 10 s.
_PER_DECADE = 4
_FIRST_DECADE, _LAST_DECADE = -6, 1
_COLUMNS = _PER_DECADE * (_LAST_DECADE - _FIRST_DECADE)

_LEVELS = "▁▂▃▄▅▆▇█"
_NAMES = ("1µs", "10", "100", "1ms", "10", "100", "1s")
_NAME_WIDTH, _OPERATION_WIDTH, _COUNT_WIDTH, _VALUE_WIDTH = 12, 19, 11, 9


def screen(
    devices: Sequence[DeviceSummary], observed_seconds: float, share: float, height: int
) -> list[Line]:
    """Returns the lines of the screen.

    devices: what was measured so far.
    share: the finished share of the measurement, from 0 to 1.
    height: the maximum number of lines.
    """
    scale = "".join(f"{name:<{_PER_DECADE}}" for name in _NAMES)
    columns = ("requests", "p50", "p99", "p99.9", "max")
    widths = (_COUNT_WIDTH, *[_VALUE_WIDTH] * 4)
    heads = "".join(f"{name:>{width}}" for name, width in zip(columns, widths, strict=True))
    first = line(
        Span("ssd-exporter latency", Style.BOLD),
        f"  {share * 100:.0f} %, {observed_seconds:.1f} s observed; q ends it",
    )
    head = line(
        Span(
            f"{'device':<{_NAME_WIDTH}}{'operation':<{_OPERATION_WIDTH}}{heads}  {scale}",
            Style.QUIET,
        )
    )
    rows = [row for device in devices for row in _rows(device)]
    return [first, line(), head, *rows][:height]


def _rows(device: DeviceSummary) -> Iterator[Line]:
    for each in device.operations:
        histogram = each.device
        shares = [PERCENTILES[name] for name in ("p50", "p99", "p99_9")]
        values = [*(percentile(histogram, share) for share in shares), histogram.max_seconds]
        texts = ("-" if value is None else quantity(value, "s") for value in values)
        yield line(
            fitted(device.name, _NAME_WIDTH),
            fitted(OPERATIONS[each.operation], _OPERATION_WIDTH),
            f"{histogram.count:>{_COUNT_WIDTH},}",
            *(f"{text:>{_VALUE_WIDTH}}" for text in texts),
            f"  {bars(histogram)}",
        )


def bars(histogram: RequestHistogram) -> str:
    """Returns a character per quarter of a decade from 1 µs to 10 s, with a logarithmic height.

    A dot is a range without requests. One slow request among a million is visible.
    """
    counts = [0] * _COLUMNS
    for bucket in histogram.buckets:
        middle = (bucket.low_seconds + bucket.high_seconds) / 2
        column = math.floor((math.log10(middle) - _FIRST_DECADE) * _PER_DECADE)
        counts[min(max(column, 0), _COLUMNS - 1)] += bucket.count
    highest = math.log(max(*counts, 1) + 1)
    last = len(_LEVELS) - 1
    return "".join(
        _LEVELS[round(math.log(count + 1) / highest * last)] if count else "·" for count in counts
    )
