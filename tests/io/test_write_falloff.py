"""Falloff under production writes: found at 1 and at 5 seconds, and nothing taken for it."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.interval import DiskInterval, disk_interval
from exporter.io.write_falloff import WriteFalloff, WriteFalloffDetector, WriteFalloffRules
from exporter.linux.diskstats import DiskStats
from tests.io.records import ANY_DISK, ANY_SECONDS, NEW, grown, over
from tests.probe.traces import GB, MB, Passive, Speed, Work, ramp, steps

RULES = WriteFalloffRules()

#: How many histories of each kind are judged.
HISTORIES = 20

INTERVALS = pytest.mark.parametrize("every", [1.0, 5.0], ids=["1s", "5s"])


def events(speed: Speed, work: Sequence[Work], every: float, seed: int) -> list[WriteFalloff]:
    burst = WriteFalloffDetector(RULES)
    samples = Passive(speed, random.Random(seed)).intervals(work, every)
    return [found for now, disk in samples if (found := burst.observe(now, disk))]


@INTERVALS
@pytest.mark.parametrize(
    ("speed", "ends", "ratio"),
    [
        pytest.param(steps(540, (8.5, 112)), 8.5, 0.207, id="600p"),
        pytest.param(steps(2300, (22, 620)), 22, 0.27, id="970 EVO"),
        pytest.param(steps(1600, (14, 150)), 14, 0.094, id="QLC"),
        pytest.param(steps(150, (0.9, 20)), 0.9, 0.133, id="small and slow"),
    ],
)
def test_the_end_of_a_cache_is_found(speed: Speed, ends: float, ratio: float, every: float) -> None:
    """Once, and about where it is: within half a second of writing, or 0.2 GB."""
    for seed in range(HISTORIES):
        (found,) = events(speed, [Work(90)], every, seed)
        near = max(0.2, speed(0) / GB / 2)
        assert pytest.approx(ends, abs=near) == found.burst_bytes / GB
        assert pytest.approx(ratio, abs=0.04) == found.ratio


@INTERVALS
def test_a_fall_from_410_to_260_is_found(every: float) -> None:
    for seed in range(HISTORIES):
        (found,) = events(steps(410, (20, 260)), [Work(150)], every, seed)
        assert pytest.approx(0.634, abs=0.06) == found.ratio
        assert found.ratio <= RULES.falloff_ratio


@INTERVALS
def test_work_that_went_before_is_no_part_of_the_burst(every: float) -> None:
    """The cache had an idle time to recover from what was written beforehand."""
    work = [Work(40, wants=50), Work(100, wants=0), Work(60)]
    for seed in range(HISTORIES):
        (found,) = events(steps(540, (8.5, 112)), work, every, seed)
        assert pytest.approx(8.5, abs=0.3) == found.burst_bytes / GB


FAST = steps(540)
CACHED = steps(540, (8.5, 112))


@INTERVALS
@pytest.mark.parametrize(
    ("speed", "work"),
    [
        pytest.param(FAST, [Work(120)], id="a drive without a cache"),
        pytest.param(FAST, [Work(40), Work(60, wants=150)], id="less is wanted"),
        pytest.param(
            FAST,
            [Work(40, is_overcounted=True), Work(60, wants=150, is_overcounted=True)],
            id="less is wanted, on a kernel that calls it busy",
        ),
        pytest.param(FAST, [Work(40, depth=16), Work(60, depth=2, pace=0.5)], id="a shorter queue"),
        pytest.param(FAST, [Work(40), Work(60, size=16384, pace=0.3)], id="smaller requests"),
        pytest.param(FAST, [Work(40), Work(60, pace=0.4, reads=400)], id="reads take their share"),
        pytest.param(CACHED, [Work(12), Work(70, wants=0)] * 5, id="bursts shorter than the cache"),
        pytest.param(
            steps(2000, (2, 500)), [Work(3, depth=32), Work(100, wants=20)] * 4, id="short peaks"
        ),
        pytest.param(
            FAST, [Work(20), Work(40, wants=0), Work(40, pace=0.4)], id="a slower burst after rest"
        ),
        pytest.param(CACHED, [Work(16), Work(10), Work(60, wants=0)], id="slow for too short"),
        pytest.param(steps(480, (6, 400)), [Work(120)], id="870 EVO, 480 to 400"),
        pytest.param(steps(112), [Work(120)], id="a cache that was full before"),
    ],
)
def test_nothing_else_is_a_falloff(speed: Speed, work: list[Work], every: float) -> None:
    assert [[]] * HISTORIES == [events(speed, work, every, seed) for seed in range(HISTORIES)]


def test_a_slow_decline_is_a_falloff_too() -> None:
    """Whether it is heat, `cause_of_slowdown` tells."""
    (found,) = events(ramp(540, 150, 20), [Work(120)], 1.0, 1)
    assert found.ratio <= RULES.falloff_ratio


def seconds(
    count: int, megabytes: float, *, depth: int = 8, size: int = 1 << 20
) -> list[DiskInterval]:
    """So many seconds of writing, all alike."""
    work = {
        "writes_completed": round(megabytes * MB / size),
        "written_bytes": megabytes * MB,
        "write_time_seconds": depth,
        "io_time_seconds": 1.0,
    }
    return [over(NEW, grown(NEW, **work))] * count


def observed(
    burst: WriteFalloffDetector, samples: Sequence[DiskInterval]
) -> Iterator[WriteFalloff | None]:
    for now, disk in enumerate(samples):
        yield burst.observe(float(now), disk)


def test_a_falloff_by_hand() -> None:
    """3 GB at 600, a second that is half fast, 15 at 120: found in the 15th slow one."""
    burst = WriteFalloffDetector(RULES)
    samples = [*seconds(5, 600), *seconds(1, 360), *seconds(20, 120)]
    found = list(observed(burst, samples))
    (told,) = [event for event in found if event]
    assert 5 + 14 == found.index(told)
    assert pytest.approx(3.3e9, rel=1e-3) == told.burst_bytes
    assert pytest.approx(600e6, rel=1e-3) == told.burst_bytes_per_second
    assert pytest.approx(0.2, rel=1e-2) == told.ratio
    assert burst.is_slow


def test_a_device_is_slow_until_it_is_fast_again_or_has_room() -> None:
    idle = over(NEW, NEW)
    for last in (seconds(1, 600)[0], idle):
        burst = WriteFalloffDetector(RULES)
        list(observed(burst, [*seconds(5, 600), *seconds(20, 120)]))
        assert burst.is_slow
        burst.observe(25.0, last)
        assert not burst.is_slow


def test_a_burst_has_one_falloff_and_the_next_its_own() -> None:
    burst = WriteFalloffDetector(RULES)
    one = [*seconds(5, 600), *seconds(60, 120), *seconds(5, 600), *seconds(60, 120)]
    rest = [over(NEW, NEW)] * 40
    assert 2 == sum(1 for event in observed(burst, [*one, *rest, *one]) if event)


def test_samples_that_never_came_end_a_burst_too() -> None:
    """The sampler leaves out seconds in which a device did nothing."""
    burst = WriteFalloffDetector(RULES)
    list(observed(burst, seconds(10, 600)))
    late = [burst.observe(1000.0 + n, disk) for n, disk in enumerate(seconds(30, 120))]
    assert [None] * 30 == late


def test_a_pause_within_a_burst_fills_the_cache_on() -> None:
    """2 GB written with idle time in between count as what they are."""
    (moderate,) = seconds(1, 200)
    pause = [moderate._replace(busy_ratio=0.5)] * 10
    samples = [*seconds(5, 600), *pause, *seconds(5, 600), *seconds(20, 120)]
    (told,) = [event for event in observed(WriteFalloffDetector(RULES), samples) if event]
    assert pytest.approx(8e9, rel=1e-3) == told.burst_bytes


def test_one_writer_that_never_pauses_is_enough() -> None:
    """dd with oflag=direct: one request in flight, and busy for nearly all of the time."""
    fast = [disk._replace(busy_ratio=0.96, queue_depth=0.96) for disk in seconds(5, 600, depth=1)]
    slow = [disk._replace(busy_ratio=0.99, queue_depth=0.99) for disk in seconds(20, 120, depth=1)]
    assert 1 == sum(1 for event in observed(WriteFalloffDetector(RULES), [*fast, *slow]) if event)


def test_a_device_that_hangs_is_none_that_falls_off() -> None:
    (hanging,) = [
        disk._replace(writes=0, written_bytes=0, write_seconds=0.0) for disk in seconds(1, 1)
    ]
    samples = [*seconds(5, 600), *[hanging] * 60]
    assert [None] * 65 == list(observed(WriteFalloffDetector(RULES), samples))


ANY_INTERVAL = st.builds(
    lambda then, work, span: over(then, grown(then, **work), span),
    st.just(NEW),
    st.fixed_dictionaries(
        {
            "writes_completed": st.integers(0, 10**6),
            "written_bytes": st.integers(0, 10**12),
            "write_time_seconds": st.floats(0, 1e5),
            "reads_completed": st.integers(0, 10**6),
            "read_bytes": st.sampled_from([0, 0, 0, 10**6, 10**12]),
            "io_time_seconds": st.floats(0, 10),
            "io_now": st.integers(0, 100),
        }
    ),
    st.sampled_from([1e-3, 0.25, 1.0, 5.0, 60.0]),
)


@given(
    st.lists(ANY_INTERVAL, max_size=40), st.sampled_from([RULES, replace(RULES, lasting_seconds=0)])
)
def test_any_work_can_be_observed(work: list[DiskInterval], rules: WriteFalloffRules) -> None:
    burst, now, written = WriteFalloffDetector(rules), 0.0, 0
    for disk in work:
        now += disk.seconds
        written += disk.written_bytes
        found = burst.observe(now, disk)
        if found is not None:
            assert 0 <= found.ratio <= rules.falloff_ratio + 1e-9
            assert 0 <= found.burst_bytes <= written


@given(ANY_DISK, ANY_DISK, ANY_SECONDS)
def test_any_two_readings_of_the_kernel_can_be_observed(
    then: DiskStats, now: DiskStats, span: float
) -> None:
    burst = WriteFalloffDetector(RULES)
    disk = disk_interval(then, now, span)
    for second in range(5):
        assert disk is None or burst.observe(second * span, disk) is None
