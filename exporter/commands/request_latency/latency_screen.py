"""The live view of the command ``latency``. Pure."""

import math
from collections.abc import Iterator, Sequence

from exporter.latency.request_summary import PERCENTILES, DeviceSummary
from exporter.report.formatting import quantity
from exporter.tails.request_histogram import OPERATIONS, RequestHistogram, percentile
from exporter.top.spans import Line, Span, Style, fitted, line

#: The columns of a histogram per decade of latency, and the decades: from 1 µs to 10 s.
_PER_DECADE = 4
_FIRST_DECADE, _LAST_DECADE = -6, 1
_COLUMNS = _PER_DECADE * (_LAST_DECADE - _FIRST_DECADE)

_LEVELS = "▁▂▃▄▅▆▇█"
_NAMES = ("1µs", "10", "100", "1ms", "10", "100", "1s")
#: 80 columns have the histogram and the tail; wider terminals also the median and the number.
_NAME_WIDTH, _OPERATION_WIDTH, _VALUE_WIDTH, _COUNT_WIDTH = 10, 13, 9, 11


def screen(
    devices: Sequence[DeviceSummary], observed_seconds: float, share: float, height: int
) -> list[Line]:
    """Returns the lines of the screen.

    devices: what was measured so far.
    share: the finished share of the measurement, from 0 to 1.
    height: the maximum number of lines.
    """
    scale = "".join(f"{name:<{_PER_DECADE}}" for name in _NAMES)
    heads = "".join(f"{name:>{_VALUE_WIDTH}}" for name in ("p99", "p99.9", "max", "p50"))
    names = f"{'device':<{_NAME_WIDTH}}{'operation':<{_OPERATION_WIDTH}}"
    first = line(
        Span("ssd-exporter latency", Style.BOLD),
        f"  {share * 100:.0f} %, {observed_seconds:.1f} s observed; q ends it",
    )
    head = line(Span(f"{names}{scale}{heads}{'requests':>{_COUNT_WIDTH}}", Style.QUIET))
    rows = [row for device in devices for row in _rows(device)]
    return [first, line(), head, *rows][:height]


def _rows(device: DeviceSummary) -> Iterator[Line]:
    for each in device.operations:
        histogram = each.device
        p50, p99, p99_9 = (percentile(histogram, PERCENTILES[n]) for n in ("p50", "p99", "p99_9"))
        values = (p99, p99_9, histogram.max_seconds, p50)
        texts = ("-" if value is None else quantity(value, "s") for value in values)
        operation = OPERATIONS[each.operation].replace("synchronous", "sync")
        yield line(
            fitted(device.name, _NAME_WIDTH),
            fitted(operation, _OPERATION_WIDTH),
            bars(histogram),
            *(f"{text:>{_VALUE_WIDTH}}" for text in texts),
            f"{histogram.count:>{_COUNT_WIDTH},}",
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
