"""The report of the command ``latency``. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exporter.latency.request_summary import PERCENTILES, DeviceSummary, OperationSummary
from exporter.latency.request_window import RequestMeasurement
from exporter.report.content import Chart, ChartLine, Report, Table
from exporter.report.formatting import quantity
from exporter.tails.request_histogram import OPERATIONS, RequestHistogram, percentile

#: The number of points of a chart per decade of latency, and its lowest and highest latency.
_POINTS_PER_DECADE = 4
_LOW_SECONDS, _HIGH_SECONDS = 1e-6, 100.0

_DEFINITIONS = (
    "In the device: from the moment when the block layer gives a request to the driver until its"
    " completion. In the queue: before that, for requests that were queued. The maximum is the"
    " upper end of its bucket; from 16 µs on, a bucket is at most 12.5 % wide."
)
_INSIDE = (
    "The time in the device includes the driver and the link. Whether it passes inside the drive is"
    " known if an NVMe drive has a latency log (OCP, C3h): see ssd_smart_slowest_request_seconds."
)


def report(
    measured: RequestMeasurement,
    devices: Sequence[DeviceSummary],
    asked_seconds: float,
    notes: Sequence[str] = (),
    virtual: Sequence[str] = (),
) -> Report:
    """Returns the report.

    asked_seconds: the duration that the user chose.
    notes: further sentences.
    virtual: the names of the disks of a hypervisor or a cloud.
    """
    rows = [row for device in devices for row in _rows(device)]
    queued = [row for device in devices for row in _queue_rows(device)]
    tables = []
    if rows:
        columns = ("device", "operation", "requests", "p50", "p90", "p99", "p99.9", "max")
        numbers = frozenset(range(2, len(columns)))
        tables.append(Table("In the device", columns, tuple(rows), numbers, keys=2))
        if queued:
            tables.append(Table("In the queue", columns, tuple(queued), numbers, keys=2))
    charts = (chart for device in devices[:4] if (chart := _chart(device)))
    return Report(
        "Latency of single requests",
        " ".join(device.sentence() for device in devices) or "No request was issued.",
        (
            ("observed", f"{measured.observed_seconds:.1f} of {asked_seconds:g} s"),
            ("requests", f"{sum(device.count for device in devices):,}"),
            ("lost", f"{sum(device.lost for device in devices):,}"),
        ),
        (*tables, *charts),
        (*notes, *_notes(measured, devices, asked_seconds, virtual)),
        _data(measured, devices, asked_seconds),
    )


def _rows(device: DeviceSummary) -> Iterator[tuple[str, ...]]:
    for each in device.operations:
        yield (device.name, OPERATIONS[each.operation], *_figures(each.device))


def _queue_rows(device: DeviceSummary) -> Iterator[tuple[str, ...]]:
    for each in device.operations:
        if each.queue.count:
            yield (device.name, OPERATIONS[each.operation], *_figures(each.queue))


def _figures(histogram: RequestHistogram) -> tuple[str, ...]:
    values = [percentile(histogram, share) for share in PERCENTILES.values()]
    return (f"{histogram.count:,}", *map(_seconds, (*values, histogram.max_seconds)))


def _seconds(value: float | None) -> str:
    return "-" if value is None else quantity(value, "s")


def _notes(
    measured: RequestMeasurement,
    devices: Sequence[DeviceSummary],
    asked_seconds: float,
    virtual: Sequence[str],
) -> Iterator[str]:
    yield _DEFINITIONS
    yield _INSIDE
    if measured.rounds > 1:
        yield (
            f"The measurement has {measured.rounds} rounds, because a map of the kernel was full,"
            f" and observed {measured.observed_seconds:.1f} of {asked_seconds:g} s."
        )
    for device in devices:
        if device.lost:
            yield (
                f"{device.name}: {device.lost:,} of {device.issued:,} requests were lost: no"
                " completion was matched, for example of two requests for the same sectors at the"
                " same time."
            )
    if virtual:
        yield (
            f"{', '.join(virtual)}: a volume of a hypervisor, an array or a cloud. The time in the"
            " device includes these and their network."
        )


def _chart(device: DeviceSummary) -> Chart | None:
    lines = tuple(
        ChartLine(OPERATIONS[each.operation], _points(each.device)) for each in device.operations
    )
    decades = range(round(math.log10(_LOW_SECONDS)), round(math.log10(_HIGH_SECONDS)) + 1)
    ticks = tuple((float(decade), quantity(10.0**decade, "s")) for decade in decades)
    if not lines:
        return None
    return Chart(
        f"{device.name}: latencies of the requests",
        "latency",
        "share of the requests, %",
        lines,
        x_ticks=ticks,
    )


def _points(histogram: RequestHistogram) -> tuple[tuple[float, float], ...]:
    """Returns the share of the requests in percent per quarter of a decade of latency."""
    counts: dict[int, int] = {}
    for bucket in histogram.buckets:
        # The middle of the first bucket is half of its width.
        middle = (bucket.low_seconds + bucket.high_seconds) / 2
        bounded = min(max(middle, _LOW_SECONDS), _HIGH_SECONDS)
        place = math.floor(math.log10(bounded) * _POINTS_PER_DECADE)
        counts[place] = counts.get(place, 0) + bucket.count
    places = range(min(counts) - 1, max(counts) + 2)
    return tuple(
        ((place + 0.5) / _POINTS_PER_DECADE, 100 * counts.get(place, 0) / histogram.count)
        for place in places
    )


def _data(
    measured: RequestMeasurement, devices: Sequence[DeviceSummary], asked_seconds: float
) -> dict[str, Any]:
    return {
        "asked_seconds": asked_seconds,
        "observed_seconds": measured.observed_seconds,
        "rounds": measured.rounds,
        "devices": {
            device.name: {
                "number": device.number,
                "sentence": device.sentence(),
                "issued": device.issued,
                "measured": device.count,
                "lost": device.lost,
                "unfinished": device.unfinished,
                "requeued": _histogram(device.requeued),
                "operations": {each.operation: _operation(each) for each in device.operations},
            }
            for device in devices
        },
    }


def _operation(summary: OperationSummary) -> Mapping[str, Any]:
    return {
        "device": _histogram(summary.device),
        "queue": _histogram(summary.queue),
        "populations": summary.populations,
        "in_bursts": summary.in_bursts,
    }


def _histogram(histogram: RequestHistogram) -> dict[str, Any]:
    """Returns a histogram with its percentiles in seconds, and buckets as [low, high, count]."""
    found = {name: percentile(histogram, share) for name, share in PERCENTILES.items()}
    return {
        "count": histogram.count,
        **{f"{name}_seconds": value for name, value in found.items()},
        "max_seconds": histogram.max_seconds,
        "buckets": [[b.low_seconds, b.high_seconds, b.count] for b in histogram.buckets],
    }
