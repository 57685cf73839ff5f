"""`io.sampler` gives the same results, however many samples it processes together."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.linux.diskstats import DiskStats
from exporter.linux.proc_stat import CpuTimes
from tests.fuzz import examples
from tests.io.machine import Machine
from tests.io.records import NEW

NAMES = ("sdx", "sdy", "dm-0")


@dataclass(frozen=True)
class Step:
    """What happens between two samples, and whether the samples so far are then processed.

    seconds: the time until the sample; more than three is a gap.
    growth: the increase of each of the first eleven counters of a disk, keyed by its name. A disk
        that is missing has disappeared. None means that its counters start again at 0.
    in_flight: the requests in flight of each disk.
    busy_ticks: the ticks of softirqs of the only CPU, of 100.
    waiting: the share of the time in which tasks waited for I/O.
    """

    seconds: float
    growth: dict[str, tuple[int, ...] | None]
    in_flight: int
    busy_ticks: int
    waiting: float
    is_processed: bool


_GROWTH = st.none() | st.tuples(*[st.integers(0, 900)] * 11) | st.just((0,) * 11)
_STEPS = st.lists(
    st.builds(
        Step,
        seconds=st.sampled_from([1.0, 1.0, 1.0, 1.25, 0.5, 5.0]),
        growth=st.dictionaries(st.sampled_from(NAMES), _GROWTH, min_size=1),
        in_flight=st.integers(0, 9),
        busy_ticks=st.integers(0, 100),
        waiting=st.sampled_from([0.0, 0.5]),
        is_processed=st.booleans(),
    ),
    min_size=2,
    max_size=25,
)


def results(steps: Sequence[Step], *, one_by_one: bool) -> list[Any]:
    """Return what the sampler shows whenever its samples were processed, and at the end."""
    with tempfile.TemporaryDirectory() as place:
        its = Machine(Path(place))
        records = {name: NEW._replace(device=name, number=f"8:{name[-1]}") for name in NAMES}
        softirq = idle = waited = 0.0
        shown = []
        for step in steps:
            for name, growth in step.growth.items():
                records[name] = _grown(records[name], growth, step.in_flight)
            its.disks(*(records[name] for name in NAMES if name in step.growth))
            softirq, idle = softirq + step.busy_ticks / 100, idle + 1 - step.busy_ticks / 100
            its.cpus(CpuTimes(0, 0, 0, idle, 0, 0, softirq, 0))
            its.waiting(waited := waited + step.waiting * step.seconds)
            its.clock.advance(step.seconds)
            its.sampler.tick()
            if one_by_one or step.is_processed or step is steps[-1]:
                with its.sampler.flushed():
                    if step.is_processed or step is steps[-1]:
                        shown.append(_shown(its))
        return shown


def _grown(record: DiskStats, growth: tuple[int, ...] | None, in_flight: int) -> DiskStats:
    if growth is None:
        return NEW._replace(device=record.device, number=record.number)
    fields = DiskStats._fields[2:13]
    counted = {name: getattr(record, name) + by for name, by in zip(fields, growth, strict=True)}
    return record._replace(**counted | {"io_now": in_flight})


def _shown(its: Machine) -> list[Any]:
    sampler, now = its.sampler, its.clock.monotonic()
    shown: list[Any] = [sampler.samples, sampler.gaps, sampler.disks, sampler.stat]
    shown += [sampler.recent.requests, *(list(sampler.recent.column(i, 30)) for i in (0, 2, 3, 4))]
    shown += [sampler.cpu.softirq_max_ratio.value(now), sampler.cpu.softirq_saturated_seconds]
    for name, activity in sampler.activities.items():
        histograms = (activity.busy_ratio, activity.queue_depth, activity.read_await)
        shown.append((name, activity.saturated_seconds, activity.stalls.total_seconds))
        shown += [(each.buckets(), each.peak.value(now)) for each in histograms]
        shown.append((activity.verdict.value(now), activity.stalls.is_stalled))
        if (recent := sampler.recent.drive(name)) is not None:
            shown.append((list(recent.column(1, 30)), recent.statuses(30), recent.last))
    return [repr(each) for each in shown]


@settings(max_examples=examples(60))
@given(_STEPS)
def test_samples_that_are_processed_together_give_the_results_of_each_alone(
    steps: list[Step],
) -> None:
    assert results(steps, one_by_one=True) == results(steps, one_by_one=False)
