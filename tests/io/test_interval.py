"""Tests of `io.interval`: the differences of two samples of a device and of the CPUs."""

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.io.interval import (
    CpuShare,
    DiskInterval,
    cpu_interval,
    disk_interval,
    hung_share,
)
from exporter.linux.diskstats import DiskStats
from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuTicks, CpuTimes
from tests.io.records import (
    ANY_DISK,
    ANY_SECONDS,
    NEW,
    NEW_OF_OLD,
    WRAP_SECONDS,
    as_counted,
    grown,
    over,
)

#: A device that has worked for months; its time fields are close to their wrap.
OLD = NEW._replace(
    **as_counted(
        reads_completed=10**9,
        read_bytes=10**13,
        read_time_seconds=WRAP_SECONDS - 0.25,
        writes_completed=2 * 10**9,
        written_bytes=10**14,
        write_time_seconds=WRAP_SECONDS - 0.25,
        io_time_seconds=WRAP_SECONDS - 0.25,
        io_time_weighted_seconds=WRAP_SECONDS - 0.25,
        discard_time_seconds=WRAP_SECONDS - 0.25,
        flush_requests_time_seconds=WRAP_SECONDS - 0.25,
    )
)

#: One second with 100 reads, 200 writes, 10 discards and 50 flushes.
SECOND = {
    "reads_completed": 100,
    "read_bytes": 409_600,
    "read_time_seconds": 0.5,
    "writes_completed": 200,
    "written_bytes": 3_276_800,
    "write_time_seconds": 1.5,
    "io_time_seconds": 0.9,
    "io_time_weighted_seconds": 2.5,
    "discards_completed": 10,
    "discard_time_seconds": 0.3,
    "flush_requests": 50,
    "flush_requests_time_seconds": 0.7,
}


def test_an_interval_contains_the_differences() -> None:
    interval = over(NEW, grown(NEW, **SECOND))
    assert (100, 409_600, 0.5) == (interval.reads, interval.read_bytes, interval.read_seconds)
    assert (200, 3_276_800, 1.5) == (
        interval.writes,
        interval.written_bytes,
        interval.write_seconds,
    )
    assert (50, 0.7) == (interval.flushes, interval.flush_seconds)
    assert pytest.approx(2.3) == interval.queue_depth
    assert pytest.approx(0.9) == interval.busy_ratio
    assert not interval.stalled


def test_flush_time_does_not_add_to_the_queue_depth() -> None:
    """Sequential fsyncs have one request in flight, not two."""
    now = grown(
        NEW,
        writes_completed=100,
        write_time_seconds=1.0,
        flush_requests=100,
        flush_requests_time_seconds=0.9,
        io_time_seconds=1.0,
    )
    assert pytest.approx(1.0) == over(NEW, now).queue_depth


@pytest.mark.parametrize("wrapping", [name for name in SECOND if name.endswith("_seconds")])
def test_each_time_field_wraps_separately(wrapping: str) -> None:
    """The interval is the same, whichever field passes 2^32 milliseconds."""
    then = NEW._replace(**as_counted(**{wrapping: getattr(OLD, wrapping)}))
    expected = over(NEW, grown(NEW, **SECOND))
    actual = over(then, grown(then, **SECOND))
    assert expected == pytest.approx(actual, abs=1e-6)


def test_all_time_fields_may_wrap_at_once() -> None:
    expected = over(NEW, grown(NEW, **SECOND))
    assert expected == pytest.approx(over(OLD, grown(OLD, **SECOND)), abs=1e-6)


@pytest.mark.parametrize(
    "field",
    [
        "reads_completed",
        "writes_completed",
        "read_bytes",
        "written_bytes",
        "discards_completed",
        "flush_requests",
    ],
)
def test_a_decreased_count_means_another_device(field: str) -> None:
    then = grown(NEW, **{field: 5_120_000})
    assert disk_interval(then, grown(then, **{field: -512}), 1.0) is None


def test_another_device_number_means_another_device() -> None:
    assert disk_interval(NEW, NEW._replace(number="8:16"), 1.0) is None


def test_an_impossible_increase_means_another_device() -> None:
    """A new device with the same name and number has already done more than the old one."""
    assert disk_interval(NEW, grown(NEW, reads_completed=200_000_000), 1.0) is None
    assert disk_interval(NEW, grown(NEW, reads_completed=200_000_000), 60.0) is not None


def test_a_small_decrease_of_a_time_counts_as_zero() -> None:
    """It is not 49.7 days."""
    then = grown(NEW, read_time_seconds=100.0, io_time_seconds=100.0)
    interval = over(then, grown(then, read_time_seconds=-0.1, io_time_seconds=-1.0))
    assert (0.0, 0.0, 0.0) == (interval.read_seconds, interval.busy_ratio, interval.queue_depth)


def test_kernels_without_discard_and_flush_counters_are_supported() -> None:
    now = grown(NEW_OF_OLD, writes_completed=100, write_time_seconds=0.5, io_time_seconds=0.4)
    interval = over(NEW_OF_OLD, now)
    assert (100, 0, 0.0) == (interval.writes, interval.flushes, interval.flush_seconds)
    assert pytest.approx(0.4) == interval.busy_ratio


def test_the_queue_depth_limits_an_overcounted_utilisation() -> None:
    """StackOverflow 75362533: 7,497 writes/s of 0.03 ms at 100 % util. The device is 22 % busy."""
    now = grown(NEW, writes_completed=7497, write_time_seconds=0.225, io_time_seconds=1.0)
    interval = over(NEW, now)
    assert pytest.approx(0.225) == interval.queue_depth
    assert interval.queue_depth == interval.busy_ratio


class FioRun(NamedTuple):
    """The disk statistics that fio printed for a run at 100 % utilisation."""

    op: str
    ios: int
    ticks_ms: int
    weighted_ms: int
    wall_ms: int
    queue_depth: float


TV_2 = [
    FioRun("write", 30_170_065, 6_428_786, 35_324, 1_000_001, 6.43),
    FioRun("write", 649_953, 54_335_318, 53_030_424, 1_000_091, 54.3),
    FioRun("read", 756_532, 31_953_025, 30_273_944, 1_000_042, 31.95),
    FioRun("write", 6_360_259, 30_567_537, 30_852_566, 60_011, 509.4),
]


@pytest.mark.parametrize("run", TV_2, ids=str)
def test_the_queue_depth_is_computed_from_request_times(run: FioRun) -> None:
    """The weighted time is not used; it gives 0.035 for the first case."""
    work = {
        f"{run.op}s_completed": run.ios,
        f"{run.op}_time_seconds": run.ticks_ms / 1000,
        "io_time_seconds": run.wall_ms / 1000,
        "io_time_weighted_seconds": run.weighted_ms / 1000,
    }
    interval = over(NEW, grown(NEW, **work), run.wall_ms / 1000)
    assert run.queue_depth == pytest.approx(interval.queue_depth, rel=0.002)
    assert interval.busy_ratio == 1.0
    assert not interval.stalled


def test_a_stall_is_detected_while_it_lasts() -> None:
    then = NEW._replace(io_now=7)
    interval = over(then, grown(then, io_time_seconds=1.0))
    assert (True, 1.0, 7.0) == (interval.stalled, interval.busy_ratio, interval.queue_depth)


def test_a_stall_is_detected_if_io_time_stands_still() -> None:
    """Some kernels update io_ticks only when a request starts or ends, so not during a stall."""
    then = NEW._replace(io_now=1)
    interval = over(then, then)
    assert (True, 1.0, 1.0) == (interval.stalled, interval.busy_ratio, interval.queue_depth)


def test_new_requests_are_not_a_stall() -> None:
    """Requests are in flight only at the end; io_time shows for how long."""
    late = over(NEW, grown(NEW, io_now=3, io_time_seconds=0.02))
    assert not late.stalled
    assert pytest.approx(0.02) == late.busy_ratio
    early = over(NEW, grown(NEW, io_now=3, io_time_seconds=0.5))
    assert (True, 0.5) == (early.stalled, early.busy_ratio)


def test_a_long_request_among_others_is_not_a_stall() -> None:
    then = NEW._replace(io_now=1)
    assert not over(then, grown(then, writes_completed=1, write_time_seconds=0.001)).stalled


@pytest.mark.parametrize("hung_seconds", [5, 120, 86_400])
def test_the_interval_after_a_stall_has_a_plausible_queue_depth(hung_seconds: int) -> None:
    """32 stalled requests complete at once. The queue depth is at most 32."""
    then = NEW._replace(io_now=32)
    now = grown(then, io_now=-32, writes_completed=40, write_time_seconds=32.0 * hung_seconds + 0.1)
    interval = over(then, now)
    assert interval.queue_depth <= 40
    assert not interval.stalled


def test_a_full_device_is_busy_on_kernels_that_count_too_little() -> None:
    """8 requests of 20 ms are in flight all the time. Linux 5.7 to 6.9 counts 80 % of it."""
    then = NEW._replace(io_now=8)
    work = {"writes_completed": 400, "write_time_seconds": 8.0, "io_time_seconds": 0.8}
    assert 1.0 == over(then, grown(then, **work)).busy_ratio
    assert 0.8 == over(NEW, grown(NEW, **work)).busy_ratio


def test_requests_that_hang_are_more_than_the_completed_ones_explain() -> None:
    """31 writes hang, and two reads of 1 ms complete."""
    then = NEW._replace(io_now=31)
    now = grown(then, reads_completed=2, read_time_seconds=0.002)
    assert pytest.approx(31 - 0.002) == over(then, now).excess_requests
    assert 0.0 == over(NEW, grown(NEW, reads_completed=2)).excess_requests
    assert over(then, then).excess_requests is None


def test_an_idle_second_is_all_zero() -> None:
    interval = over(NEW, NEW)
    assert (0.0, 0.0, False) == (interval.queue_depth, interval.busy_ratio, interval.stalled)


@given(ANY_DISK, ANY_DISK, ANY_SECONDS)
@example(NEW, NEW, 1e-6)
def test_any_two_records_give_a_plausible_interval(
    then: DiskStats, now: DiskStats, seconds: float
) -> None:
    """For any two samples no value is negative, and the busy ratio is at most 1."""
    interval = disk_interval(then, now, seconds)
    if interval is None:
        return
    assert _smallest(interval) >= 0
    assert interval.busy_ratio <= 1
    assert interval.busy_ratio <= interval.queue_depth
    assert interval.busy_ratio >= 0.5 or not interval.stalled
    requests = interval.reads + interval.writes
    assert requests or not interval.stalled or interval.queue_depth == now.io_now


def _smallest(interval: DiskInterval) -> float:
    return min(value or 0.0 for value in interval._replace(excess_requests=None))


_WORK = st.fixed_dictionaries(
    {
        "reads_completed": st.integers(0, 10**6),
        "read_time_seconds": st.integers(0, 10**6).map(lambda ms: ms / 1000),
        "writes_completed": st.integers(0, 10**6),
        "write_time_seconds": st.integers(0, 10**6).map(lambda ms: ms / 1000),
        "discard_time_seconds": st.integers(0, 10**6).map(lambda ms: ms / 1000),
        "flush_requests_time_seconds": st.integers(0, 10**6).map(lambda ms: ms / 1000),
        "io_time_seconds": st.integers(0, 1000).map(lambda ms: ms / 1000),
    }
)
_START = st.integers(0, (1 << 32) - 1).map(lambda ms: ms / 1000)


@given(_WORK, _START, _START, _START, _START)
def test_the_differences_do_not_depend_on_the_counter_values(
    work: dict[str, float], read: float, write: float, flush: float, io: float
) -> None:
    """The interval is the same for any start values, also just before a wrap."""
    anywhere = grown(
        NEW,
        read_time_seconds=read,
        write_time_seconds=write,
        flush_requests_time_seconds=flush,
        io_time_seconds=io,
    )
    expected = over(NEW, grown(NEW, **work))
    assert expected == pytest.approx(over(anywhere, grown(anywhere, **work)), abs=1e-5)


def test_the_time_of_a_stall_is_not_counted_twice() -> None:
    """Four requests are stalled for five seconds; the kernel adds their 20 s when they end."""
    then = NEW._replace(io_now=4)
    uncredited = 0.0
    for _ in range(5):
        interval = disk_interval(then, then, 1.0, uncredited)
        assert interval is not None
        assert interval.queue_depth == 4
        uncredited = interval.uncredited_seconds
    assert pytest.approx(20) == uncredited
    ended = grown(then, io_now=-4, writes_completed=104, write_time_seconds=20.5)
    interval = disk_interval(then, ended, 1.0, uncredited)
    assert interval is not None
    assert interval.queue_depth <= 4
    assert interval.uncredited_seconds == 0


@given(ANY_DISK, ANY_DISK, ANY_SECONDS, st.floats(0, 1e12))
def test_any_uncredited_time_gives_a_plausible_interval(
    then: DiskStats, now: DiskStats, seconds: float, uncredited: float
) -> None:
    interval = disk_interval(then, now, seconds, uncredited)
    if interval is not None:
        assert _smallest(interval) >= 0
        assert interval.busy_ratio <= min(1, interval.queue_depth)


NONE = CpuTimes(*[0.0] * 8)

_CPUS = st.dictionaries(st.integers(0, 5), st.tuples(*[st.integers(0, 10**11)] * 8))


def ticks(cpus: dict[int, CpuTimes]) -> dict[int, CpuTicks]:
    """Return the times of each CPU in ticks."""
    return {
        number: tuple(round(seconds * TICKS_PER_SECOND) for seconds in times)
        for number, times in cpus.items()
    }


def test_shares_are_ratios_of_each_cpus_elapsed_time() -> None:
    """This also holds if the interval has one tick more or less."""
    now = {
        0: NONE._replace(user=0.03, system=0.29, idle=0.06, softirq=0.50, irq=0.12),
        1: NONE._replace(user=0.5, iowait=0.25, idle=0.25),
    }
    interval = cpu_interval(ticks({0: NONE, 1: NONE}), ticks(now))
    assert interval is not None
    assert pytest.approx(CpuShare(0.62, 0.0, 0.06)) == interval.cpus[0]
    assert pytest.approx(CpuShare(0.0, 0.25, 0.25)) == interval.cpus[1]
    assert pytest.approx(CpuShare(0.31, 0.125, 0.155)) == interval.host
    assert (0, 0.25) == (interval.hottest, interval.iowait_max)


def test_a_decreased_cpu_time_counts_as_zero() -> None:
    then = NONE._replace(iowait=5.0, idle=100.0)
    interval = cpu_interval(
        ticks({0: then}), ticks({0: then._replace(iowait=4.0, idle=100.5, user=0.5)})
    )
    assert interval is not None
    assert pytest.approx(CpuShare(0.0, 0.0, 0.5)) == interval.cpus[0]


def test_a_cpu_in_only_one_sample_is_omitted() -> None:
    now = NONE._replace(user=1.0)
    interval = cpu_interval(ticks({0: NONE, 1: NONE}), ticks({0: now, 2: now}))
    assert interval is not None
    assert {0} == interval.cpus.keys()


@pytest.mark.parametrize(
    ("then", "now"), [({}, {}), ({}, {0: NONE}), ({0: NONE}, {}), ({0: NONE}, {0: NONE})]
)
def test_without_elapsed_time_there_is_no_interval(
    then: dict[int, CpuTimes], now: dict[int, CpuTimes]
) -> None:
    assert cpu_interval(ticks(then), ticks(now)) is None


@given(_CPUS, _CPUS)
def test_shares_are_between_0_and_1_for_any_counters(
    then: dict[int, CpuTicks], now: dict[int, CpuTicks]
) -> None:
    interval = cpu_interval(then, now)
    if interval is None:
        return
    for share in (interval.host, *interval.cpus.values()):
        assert 0 <= min(share)
        assert sum(share) <= 1 + 1e-9
    assert interval.hottest in interval.cpus


def test_missing_completions_show_when_a_hang_began() -> None:
    whole = over(NEW, grown(NEW, writes_completed=1000, write_time_seconds=0.5))
    part = over(NEW, grown(NEW, writes_completed=400, write_time_seconds=0.2))
    assert whole is not None
    assert part is not None
    assert pytest.approx(0.6) == hung_share(whole, part, 8)
    assert pytest.approx(0.6) == hung_share(whole, part._replace(seconds=2.0, writes=800), 8)
    assert 0.0 == hung_share(whole, whole._replace(writes=900), 8), "the load varies by 10 %"
    assert 0.0 == hung_share(part, whole, 8)
    assert 0.0 == hung_share(None, whole, 8) == hung_share(whole, None, 8)
    assert 0.0 == hung_share(whole._replace(writes=0), whole, 8)


def test_a_full_queue_shows_in_its_missing_request_time_when_a_hang_began() -> None:
    """More requests completed than before; the time of each was short."""
    full = NEW._replace(io_now=8)
    whole = over(full, grown(full, writes_completed=1000, write_time_seconds=8.0))
    part = over(full, grown(full, writes_completed=1200, write_time_seconds=3.2))
    assert pytest.approx(0.6) == hung_share(whole, part, 8)
    assert 0.0 == hung_share(whole, whole, 8)


def test_requests_that_were_in_flight_by_chance_do_not_show_when_a_hang_began() -> None:
    """Eight threads submit together 50 times a second, at the moment of a sample too."""
    together = NEW._replace(io_now=8)
    whole = over(NEW, grown(NEW, writes_completed=400, write_time_seconds=0.4))
    part = over(together, grown(together, writes_completed=320, write_time_seconds=0.3))
    assert 0.0 == hung_share(whole, part, 8)
    half = over(together, grown(together, writes_completed=200, write_time_seconds=0.2))
    assert pytest.approx(0.5) == hung_share(whole, half, 8)
