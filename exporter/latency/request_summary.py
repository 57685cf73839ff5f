"""Summarises a measurement per device: percentiles, populations, place of the time. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.latency.populations import (
    PopulationRules,
    Populations,
    come_in_bursts,
    two_populations,
)
from exporter.latency.request_window import RequestMeasurement
from exporter.report.formatting import quantity
from exporter.tails.request_histogram import OPERATIONS, RequestHistogram, merged

#: The percentiles, keyed by their name in JSON.
PERCENTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


@dataclass(frozen=True, slots=True)
class OperationSummary:
    """The latencies of one operation of a device.

    operation: a key of `OPERATIONS`.
    device: latencies from the issue until the completion.
    queue: latencies in the queue, of the requests that were queued.
    populations: the fast and the slow requests; None for one population.
    in_bursts: True if the slow ones come in bursts; None means unknown.
    """

    operation: str
    device: RequestHistogram
    queue: RequestHistogram
    populations: Populations | None
    in_bursts: bool | None


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """What was measured of a device.

    number: the device number, ``major:minor``. name: its name.
    operations: those with requests, in the order of `OPERATIONS`.
    requeued: the times after which the driver gave requests back.
    issued, unfinished, lost: as in `RequestMeasurement`.
    """

    number: str
    name: str
    operations: tuple[OperationSummary, ...]
    requeued: RequestHistogram
    issued: int
    unfinished: int
    lost: int

    @property
    def count(self) -> int:
        return sum(each.device.count for each in self.operations)

    def sentence(self, rules: PopulationRules | None = None) -> str:
        """Returns the judgement in one sentence."""
        slow = [each for each in self.operations if each.populations is not None]
        parts = []
        if self.unfinished:
            requests = _requests(self.unfinished)
            parts.append(f"{requests} did not complete within two seconds after the measurement")
        if longest := self.requeued.max_seconds:
            requests = _requests(self.requeued.count)
            parts.append(
                f"the driver gave back {requests}, the slowest after {quantity(longest, 's')},"
                " and this time is not in the percentiles"
            )
        if slow:
            worst = max(slow, key=lambda each: _excess_seconds(each.populations))
            parts.insert(0, _population_words(worst))
        elif not parts:
            least = (rules or PopulationRules()).least_slow
            parts.append(
                f"too few requests to tell ({self.count})"
                if self.count < 10 * least
                else "no separate population of slow requests"
            )
        return f"{self.name}: {'; '.join(parts)}."


def summaries(
    measured: RequestMeasurement, names: Mapping[str, str], chosen: Sequence[str] = ()
) -> tuple[DeviceSummary, ...]:
    """Returns a summary of each device with requests, the busiest first.

    names: the names of the devices, keyed by device number. A device without a name has its number.
    chosen: the device numbers to return; all for an empty sequence. They are returned without
        requests too.
    """
    numbers = dict.fromkeys(chosen) or {number: None for number, _ in measured.in_device}
    numbers |= {} if chosen else dict.fromkeys(measured.issued)
    found = (_summary(measured, number, names.get(number, number)) for number in numbers)
    return tuple(sorted(found, key=lambda each: (-each.count, each.name)))


def _summary(measured: RequestMeasurement, number: str, name: str) -> DeviceSummary:
    operations = []
    for operation in OPERATIONS:
        key = number, operation
        histogram = measured.in_device.get(key)
        if histogram is None or not histogram.count:
            continue
        found = two_populations(histogram)
        intervals = [each.get(key, RequestHistogram()) for each in measured.intervals]
        bursts = come_in_bursts(intervals, found.slow_from_seconds) if found else None
        queue = measured.in_queue.get(key, RequestHistogram())
        operations.append(OperationSummary(operation, histogram, queue, found, bursts))
    return DeviceSummary(
        number,
        name,
        tuple(operations),
        merged(each for key, each in measured.requeued.items() if key[0] == number),
        measured.issued.get(number, 0),
        measured.unfinished.get(number, 0),
        measured.lost.get(number, 0),
    )


def _excess_seconds(populations: Populations | None) -> float:
    """Returns the time that the slow requests took."""
    return populations.slow_count * populations.slow_seconds if populations else 0.0


def _population_words(summary: OperationSummary) -> str:
    found = summary.populations
    assert found is not None
    share = f"{found.slow_share * 100:.2g} %"
    words = (
        f"two populations of {OPERATIONS[summary.operation]}: {share} take about"
        f" {quantity(found.slow_seconds, 's')}, the others {quantity(found.fast_seconds, 's')}"
    )
    if summary.in_bursts is not None:
        words += ", in bursts" if summary.in_bursts else ", spread evenly"
    # The requests that waited as long as the slow ones take.
    waited = summary.queue.between(found.slow_from_seconds)
    if waited > found.slow_count:
        return f"{words}; more requests ({waited}) waited as long in the queue"
    return f"{words}; the time passes in the device"


def _requests(count: int) -> str:
    return f"{count:,} request{'' if count == 1 else 's'}"
