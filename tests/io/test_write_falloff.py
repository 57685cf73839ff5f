"""Tests of `io.write_falloff`: detection at 1 and 5 second intervals, false alarms, and causes."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.disk_rules import BaselineRules, DiskRules, WriteFalloffRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.config.settings import DeviceSettings
from exporter.drives.health import DriveHealth
from exporter.io import survey
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.drive import Drive, drive_from_name
from exporter.io.falloff_tracker import WriteFalloffTracker
from exporter.io.interval import DiskInterval, disk_interval
from exporter.io.slowdown import SlowdownEvidence, slowdown_evidence
from exporter.io.verdict import DiskContext, Verdict
from exporter.io.write_falloff import WriteFalloff, WriteFalloffDetector
from exporter.linux import topology
from exporter.linux.diskstats import DiskStats
from exporter.linux.links import LinkSpeed
from tests.io.machine import Machine
from tests.io.records import ANY_DISK, ANY_SECONDS, NEW, grown, over
from tests.linux import trees
from tests.linux.trees import Sys
from tests.probe.traces import GB, MB, Passive, Speed, Work, ramp, steps

RULES = WriteFalloffRules()

#: The number of simulated histories of each kind.
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
def test_the_end_of_a_cache_is_detected(
    speed: Speed, ends: float, ratio: float, every: float
) -> None:
    """It is detected once, and within half a second of writing or 0.2 GB of the right place."""
    for seed in range(HISTORIES):
        (found,) = events(speed, [Work(90)], every, seed)
        near = max(0.2, speed(0) / GB / 2)
        assert pytest.approx(ends, abs=near) == found.burst_bytes / GB
        assert pytest.approx(ratio, abs=0.04) == found.ratio


@INTERVALS
def test_a_drop_from_410_to_260_is_detected(every: float) -> None:
    for seed in range(HISTORIES):
        (found,) = events(steps(410, (20, 260)), [Work(150)], every, seed)
        assert pytest.approx(0.634, abs=0.06) == found.ratio
        assert found.ratio <= RULES.falloff_ratio


@INTERVALS
def test_earlier_load_is_not_part_of_the_burst(every: float) -> None:
    """The cache was idle long enough to recover from the earlier writes."""
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
def test_other_loads_are_not_a_falloff(speed: Speed, work: list[Work], every: float) -> None:
    assert [[]] * HISTORIES == [events(speed, work, every, seed) for seed in range(HISTORIES)]


def test_a_gradual_decline_is_a_falloff() -> None:
    """`slowdown_verdict` decides whether the cause is heat."""
    (found,) = events(ramp(540, 150, 20), [Work(120)], 1.0, 1)
    assert found.ratio <= RULES.falloff_ratio
    assert not found.is_sudden


def test_a_writer_that_asks_for_a_part_of_the_speed_shows_the_end_of_the_cache() -> None:
    """The device is not saturated before, and has a long queue afterwards."""
    for seed in range(HISTORIES):
        (found,) = events(steps(540, (8.5, 112)), [Work(120, wants=250)], 1.0, seed)
        assert pytest.approx(8.5, abs=0.5) == found.burst_bytes / GB


def test_what_begins_after_the_drop_does_not_hide_a_falloff() -> None:
    (fast,), (slow,) = seconds(1, 600), seconds(1, 120)
    backup = slow._replace(reads=2_000, read_bytes=1 << 30, read_seconds=4.0)
    samples = [*[fast] * 10, *[slow] * 5, *[backup] * 20]
    (told,) = [event for event in observed(WriteFalloffDetector(RULES), samples) if event]
    assert pytest.approx(6e9, rel=1e-3) == told.burst_bytes


def test_reads_that_begin_with_the_drop_explain_it() -> None:
    (fast,), (slow,) = seconds(1, 600), seconds(1, 120)
    backup = slow._replace(reads=2_000, read_bytes=1 << 30, read_seconds=4.0)
    burst = WriteFalloffDetector(RULES)
    assert [None] * 70 == list(observed(burst, [*[fast] * 10, *[backup] * 60]))


def test_a_drop_that_returns_without_a_rest_is_withdrawn() -> None:
    """A patrol read or a power cap takes half a minute. The next one is not reported again."""
    seen = activity()
    work(seen, *[FAST_SECOND] * 10, *[SLOW_SECOND] * 30)
    assert seen.falloffs is not None
    assert (1, 0) == (seen.falloffs.events, seen.falloffs.withdrawn)
    assert seen.falloffs.last is not None
    work(seen, *[FAST_SECOND] * 10, *[SLOW_SECOND] * 30, since=40)
    assert (1, 1) == (seen.falloffs.events, seen.falloffs.withdrawn)
    assert seen.falloffs.last is None


def seconds(
    count: int, megabytes: float, *, depth: int = 8, size: int = 1 << 20
) -> list[DiskInterval]:
    """Return equal seconds of writing."""
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


def test_a_falloff_calculated_by_hand() -> None:
    """3 GB at 600 MB/s, one mixed second, then 120 MB/s: detected in the 15th slow second."""
    burst = WriteFalloffDetector(RULES)
    samples = [*seconds(5, 600), *seconds(1, 360), *seconds(20, 120)]
    found = list(observed(burst, samples))
    (told,) = [event for event in found if event]
    assert 5 + 14 == found.index(told)
    assert pytest.approx(3.3e9, rel=1e-3) == told.burst_bytes
    assert pytest.approx(600e6, rel=1e-3) == told.burst_bytes_per_second
    assert pytest.approx(0.2, rel=1e-2) == told.ratio
    assert burst.is_slow


def test_the_load_before_the_burst_does_not_change_the_reference() -> None:
    """The first interval also contains small writes and reads of the load before."""
    burst = WriteFalloffDetector(RULES)
    size = 131_072
    interval = DiskInterval(1.0, 0, 0.0, 0, 0, 8.0, 0, 0, 0.0, False, 8.0, 1.0)
    mixed = interval._replace(
        reads=14_000, read_bytes=230_000_000, writes=13_000, written_bytes=640_000_000
    )
    fast = interval._replace(writes=4_000, written_bytes=4_000 * size)
    slow = interval._replace(writes=850, written_bytes=850 * size)
    work = [mixed, *[fast] * 5, *[slow] * 20]
    (found,) = filter(None, (burst.observe(now, disk) for now, disk in enumerate(work, start=1)))
    assert found.burst_bytes_per_second == 4_000 * size
    assert pytest.approx(850 / 4_000, abs=0.01) == found.ratio


def test_a_pause_of_the_drive_does_not_hide_a_falloff() -> None:
    """A drive that moves its cached data may complete nothing for a second or two."""
    burst = WriteFalloffDetector(RULES)
    fast = DiskInterval(1.0, 0, 0.0, 0, 4_000, 8.0, 4_000 * 131_072, 0, 0.0, False, 8.0, 1.0)
    slow = fast._replace(writes=850, written_bytes=850 * 131_072)
    pause = fast._replace(writes=0, written_bytes=0, write_seconds=0.0, stalled=True)
    work = [*[fast] * 6, *[*[slow] * 5, pause] * 5]
    assert 1 == sum(burst.observe(now, disk) is not None for now, disk in enumerate(work, start=1))


def test_a_device_is_slow_until_it_recovers_or_is_less_busy() -> None:
    idle = over(NEW, NEW)
    for last in (seconds(1, 600)[0], idle):
        burst = WriteFalloffDetector(RULES)
        list(observed(burst, [*seconds(5, 600), *seconds(20, 120)]))
        assert burst.is_slow
        burst.observe(25.0, last)
        assert not burst.is_slow


def test_each_burst_has_at_most_one_falloff() -> None:
    burst = WriteFalloffDetector(RULES)
    one = [*seconds(5, 600), *seconds(60, 120), *seconds(5, 600), *seconds(60, 120)]
    rest = [over(NEW, NEW)] * 40
    assert 2 == sum(1 for event in observed(burst, [*one, *rest, *one]) if event)


def test_missing_samples_end_a_burst() -> None:
    """The sampler omits idle seconds."""
    burst = WriteFalloffDetector(RULES)
    list(observed(burst, seconds(10, 600)))
    late = [burst.observe(1000.0 + n, disk) for n, disk in enumerate(seconds(30, 120))]
    assert [None] * 30 == late


def test_writes_during_a_pause_also_fill_the_cache() -> None:
    """2 GB that were written with idle time in between count in full."""
    (moderate,) = seconds(1, 200)
    pause = [moderate._replace(busy_ratio=0.5)] * 10
    samples = [*seconds(5, 600), *pause, *seconds(5, 600), *seconds(20, 120)]
    (told,) = [event for event in observed(WriteFalloffDetector(RULES), samples) if event]
    assert pytest.approx(8e9, rel=1e-3) == told.burst_bytes


def test_one_writer_without_pauses_is_enough() -> None:
    """dd with oflag=direct: one request in flight, and busy almost all the time."""
    fast = [disk._replace(busy_ratio=0.96, queue_depth=0.96) for disk in seconds(5, 600, depth=1)]
    slow = [disk._replace(busy_ratio=0.99, queue_depth=0.99) for disk in seconds(20, 120, depth=1)]
    assert 1 == sum(1 for event in observed(WriteFalloffDetector(RULES), [*fast, *slow]) if event)


def test_a_stall_is_not_a_falloff() -> None:
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
def test_any_load_can_be_observed(work: list[DiskInterval], rules: WriteFalloffRules) -> None:
    burst, now, written = WriteFalloffDetector(rules), 0.0, 0
    for disk in work:
        now += disk.seconds
        written += disk.written_bytes
        found = burst.observe(now, disk)
        if found is not None:
            assert 0 <= found.ratio <= rules.falloff_ratio + 1e-9
            assert 0 <= found.burst_bytes <= written


@given(ANY_DISK, ANY_DISK, ANY_SECONDS)
def test_any_two_records_can_be_observed(then: DiskStats, now: DiskStats, span: float) -> None:
    burst = WriteFalloffDetector(RULES)
    disk = disk_interval(then, now, span)
    for second in range(5):
        assert disk is None or burst.observe(second * span, disk) is None


ALONE = DiskContext(is_cpu_bound=False, is_waited_for=None)
IDLE = over(NEW, NEW)
HOT = SlowdownEvidence(temperature_celsius=80, warning_celsius=77)


def second(megabytes: int) -> DiskInterval:
    """Return one second of writes with 8 requests in flight."""
    work = {
        "writes_completed": megabytes,
        "written_bytes": megabytes << 20,
        "write_time_seconds": 8,
        "io_time_seconds": 1.0,
    }
    return over(NEW, grown(NEW, **work))


FAST_SECOND, SLOW_SECOND = second(500), second(100)

#: Ten seconds at 500 MiB/s, then at 100 MiB/s until it counts as a falloff.
CLIFF = (*[FAST_SECOND] * 10, *[SLOW_SECOND] * 15)


def activity(
    drive: Drive | None = None, told: Callable[[], SlowdownEvidence] = SlowdownEvidence
) -> DiskActivity:
    baselines = Baselines(BaselineRules()).for_drive("sda")
    return DiskActivity(drive or drive_from_name("sdx"), DiskRules(), baselines, 0.0, told)


def work(seen: DiskActivity, *seconds: DiskInterval, since: int = 0) -> float:
    """Record the seconds and return the time of the last one."""
    now = float(since)
    for now, disk in enumerate(seconds, start=since + 1):
        seen.record(now, disk, ALONE)
    return now


def falloff_events(seen: DiskActivity) -> int:
    assert seen.falloffs is not None
    return seen.falloffs.events


def test_a_falloff_gives_the_verdict_from_detection_until_recovery() -> None:
    seen = activity()
    assert Verdict.DEVICE is seen.verdict.value(work(seen, *CLIFF))
    assert Verdict.WRITE_CACHE is seen.verdict.value(work(seen, *[SLOW_SECOND] * 6, since=25))
    assert 1 == falloff_events(seen)
    assert Verdict.DEVICE is seen.verdict.value(work(seen, *[FAST_SECOND] * 6, since=31))
    assert Verdict.NONE is seen.verdict.value(work(seen, *[IDLE] * 12, since=37))
    assert 1 == falloff_events(seen)


def test_the_speed_and_the_bytes_of_the_last_falloff_are_stored() -> None:
    seen = activity()
    work(seen, *CLIFF)
    assert seen.falloffs is not None
    assert seen.falloffs.last is not None
    assert pytest.approx(0.2) == seen.falloffs.last.ratio
    assert 10 * (500 << 20) == pytest.approx(seen.falloffs.last.burst_bytes)


def test_skipping_less_busy_seconds_makes_no_difference() -> None:
    """Before and after a burst, less busy seconds are omitted."""
    calm = second(20)._replace(busy_ratio=0.2)
    day = [*[calm] * 40, *CLIFF, *[SLOW_SECOND] * 3, calm, *[SLOW_SECOND] * 3, *[calm] * 40, *CLIFF]
    seen, every = activity(), WriteFalloffTracker(RULES, SlowdownEvidence)
    work(seen, *day)
    causes = [every.observe(float(now), disk) for now, disk in enumerate(day, start=1)]
    assert seen.falloffs is not None
    assert (2, every.last) == (every.events, seen.falloffs.last)
    assert every.events == falloff_events(seen)
    assert 8 == causes.count(Verdict.WRITE_CACHE)
    assert not activity_after_rest().burst.is_open


def test_the_bytes_of_a_write_that_did_not_saturate_the_drive_before_count() -> None:
    """They fill the cache too."""
    seen = activity()
    below = FAST_SECOND._replace(busy_ratio=0.85, written_bytes=FAST_SECOND.written_bytes * 8 // 10)
    work(seen, *[below] * 60, *CLIFF, since=100)
    assert seen.falloffs is not None
    assert seen.falloffs.last is not None
    assert pytest.approx((60 * 400 + 10 * 500) << 20) == seen.falloffs.last.burst_bytes


def test_a_light_load_before_a_write_does_not_hide_its_falloff() -> None:
    seen = activity()
    light = FAST_SECOND._replace(busy_ratio=0.2, written_bytes=FAST_SECOND.written_bytes // 10)
    work(seen, *[light] * 60, *CLIFF, since=100)
    assert 1 == falloff_events(seen)


def activity_after_rest() -> WriteFalloffTracker:
    seen = activity()
    work(seen, *CLIFF, *[IDLE] * 31)
    assert seen.falloffs is not None
    return seen.falloffs


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (HOT, Verdict.THERMAL),
        (replace(HOT, temperature_celsius=76), Verdict.DEVICE),
        (replace(HOT, temperature_celsius=60), Verdict.WRITE_CACHE),
        (SlowdownEvidence(None, None, None, 150e6, 600e6), Verdict.LINK),
        (SlowdownEvidence(None, None, None, 600e6, 600e6), Verdict.WRITE_CACHE),
        (SlowdownEvidence(), Verdict.WRITE_CACHE),
    ],
)
def test_the_cause_follows_from_the_evidence(told: SlowdownEvidence, cause: Verdict) -> None:
    seen = activity(told=lambda: told)
    assert cause is seen.verdict.value(work(seen, *CLIFF, *[SLOW_SECOND] * 6))


def test_later_heat_is_detected_within_ten_seconds() -> None:
    """Another thread polls the drive once a minute; its count of seconds grows."""
    told = [SlowdownEvidence(over_temperature_seconds=600)]
    its = WriteFalloffTracker(RULES, lambda: told[0])
    before = [its.observe(float(now), disk) for now, disk in enumerate(CLIFF)]
    assert Verdict.WRITE_CACHE is before[-1]
    told[0] = SlowdownEvidence(over_temperature_seconds=660)
    after = [its.observe(float(now), SLOW_SECOND) for now in range(25, 36)]
    assert (Verdict.WRITE_CACHE, Verdict.THERMAL) == (after[0], after[-1])


def test_no_evidence_is_read_while_the_drive_is_not_slow() -> None:
    asked: list[int] = []

    def told() -> SlowdownEvidence:
        asked.append(1)
        return SlowdownEvidence()

    work(activity(told=told), *[FAST_SECOND] * 100, *[IDLE] * 100)
    assert [] == asked


@pytest.mark.parametrize(
    "drive",
    [
        Drive("x", DriveClass.ROTATIONAL),
        Drive("x", DriveClass.SSD, volume=True),
        Drive("x", DriveClass.SSD, leaf=False),
    ],
)
def test_rotational_drives_volumes_and_stacked_devices_are_not_tracked(drive: Drive) -> None:
    seen = activity(drive)
    work(seen, *CLIFF)
    assert seen.falloffs is None


def test_a_probe_does_not_cause_a_falloff() -> None:
    seen = activity()
    for now, disk in enumerate(CLIFF * 2, start=1):
        seen.record(float(now), disk, ALONE, is_probed=True)
    assert 0 == falloff_events(seen)


def test_a_survey_starts_and_stops_the_tracking() -> None:
    seen = activity()
    work(seen, *CLIFF)
    seen.set_drive(Drive("wwn-1", DriveClass.NVME), seen.baselines)
    assert 1 == falloff_events(seen)
    seen.set_drive(Drive("wwn-1", DriveClass.ROTATIONAL), seen.baselines)
    assert seen.falloffs is None
    seen.set_drive(Drive("wwn-1", DriveClass.SSD), seen.baselines)
    assert 0 == falloff_events(seen)


def test_new_settings_apply_at_once_and_events_stay() -> None:
    seen = activity()
    work(seen, *CLIFF)
    seen.reconfigure(DiskRules(write_falloff=replace(RULES, lasting_seconds=5.0)))
    work(seen, *CLIFF[:15], since=100)
    assert 2 == falloff_events(seen)


def test_unchanged_settings_do_not_end_a_burst() -> None:
    seen = activity()
    work(seen, *CLIFF[:20])
    seen.reconfigure(DiskRules())
    work(seen, *CLIFF[20:], since=20)
    assert 1 == falloff_events(seen)


def test_volumes_are_recognised_by_their_transport(tmp_path: Path) -> None:
    sys = Sys(tmp_path)
    trees.nvme(sys)
    trees.sata(sys, "sda")
    seen = topology.read(sys.root, tmp_path / "proc", tmp_path).value
    found = survey.drives_from_topology(seen, {})
    assert {"nvme0n1": False, "sda": False} == {name: its.volume for name, its in found.items()}
    for transport in ("scsi", "fc", "iscsi", "virtio", "nvme-tcp"):
        device = seen.devices["sda"]
        volume = replace(device, identity=replace(device.identity, transport=transport))
        (its,) = survey.drives_from_topology(replace(seen, devices={"sda": volume}), {}).values()
        assert its.volume, transport
        chosen = {"sda": DeviceSettings(volume=VolumeType.CLOUD)}
        (its,) = survey.drives_from_topology(
            replace(seen, devices={"sda": volume}), chosen
        ).values()
        assert its.volume_type is VolumeType.CLOUD
    chosen = {"sda": DeviceSettings(volume=VolumeType.DRIVE)}
    (its,) = survey.drives_from_topology(replace(seen, devices={"sda": volume}), chosen).values()
    assert not its.volume


def test_the_sampler_reads_the_evidence_of_the_same_device(machine: Machine) -> None:
    asked: list[str] = []

    def told(device: str) -> SlowdownEvidence:
        asked.append(device)
        return HOT

    machine.sampler = machine.watch(evidence=told)
    counted, idle = NEW, NEW._replace(device="sdy", number="8:16")
    machine.disks(counted, idle).tick()
    for disk in (*CLIFF, *[SLOW_SECOND] * 6):
        counted = grown(
            counted,
            writes_completed=disk.writes,
            written_bytes=disk.written_bytes,
            write_time_seconds=disk.write_seconds,
            io_time_seconds=1.0,
        )
        machine.disks(counted, idle).tick()
    assert {"sdx"} == set(asked)
    verdict = machine.sampler.activities["sdx"].verdict
    assert Verdict.THERMAL is verdict.value(machine.clock.monotonic())


def test_unknown_evidence_is_none() -> None:
    assert SlowdownEvidence() == slowdown_evidence(None, None)
    assert SlowdownEvidence() == slowdown_evidence(LinkSpeed(None, None), DriveHealth())


def test_the_kernels_link_speed_has_priority_over_smart() -> None:
    health = DriveHealth(link_bytes_per_second=300e6, link_max_bytes_per_second=600e6)
    of_drive, of_kernel = (
        slowdown_evidence(None, health),
        slowdown_evidence(LinkSpeed(150e6, None), health),
    )
    assert (300e6, 600e6) == (of_drive.link_bytes_per_second, of_drive.link_max_bytes_per_second)
    assert (150e6, 600e6) == (of_kernel.link_bytes_per_second, of_kernel.link_max_bytes_per_second)


def test_the_drive_temperature_is_compared_with_its_first_limit() -> None:
    health = DriveHealth(
        temperatures={"drive": 71, "1": 90},
        temperature_warning_celsius=77,
        temperature_critical_celsius=85,
        over_temperature_warning_seconds=120,
        over_temperature_critical_seconds=60,
    )
    assert SlowdownEvidence(71, 77, 180) == slowdown_evidence(None, health)
    assert (
        85
        == slowdown_evidence(
            None, replace(health, temperature_warning_celsius=None)
        ).warning_celsius
    )


def test_writes_of_no_bytes_are_no_falloff() -> None:
    (one,) = seconds(1, 600)
    empty = one._replace(written_bytes=0)
    burst = WriteFalloffDetector(RULES)
    assert [None] * 60 == list(observed(burst, [*[empty] * 20, *[empty._replace(writes=9)] * 40]))
