"""A drive's falloffs as the sampler takes them in: which devices, why, and how long."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.drives.health import DriveHealth
from exporter.io import survey
from exporter.io.activity import DiskActivity, DiskContext, DiskRules
from exporter.io.baseline import Baseline, BaselineRules, DriveBaselines
from exporter.io.drive_class import Drive, DriveClass, drive_from_name
from exporter.io.interval import DiskInterval
from exporter.io.slowdown import SlowdownEvidence, slowdown_evidence
from exporter.io.verdict import Verdict
from exporter.io.write_falloff import WriteFalloffRules, WriteFalloffTracker
from exporter.linux import topology
from exporter.linux.links import LinkSpeed
from tests.io.machine import Machine
from tests.io.records import NEW, grown, over
from tests.linux import trees
from tests.linux.trees import Sys

RULES = WriteFalloffRules()
ALONE = DiskContext(is_cpu_bound=False, pressure_ratio=None)
IDLE = over(NEW, NEW)
HOT = SlowdownEvidence(temperature_celsius=80, warning_celsius=77)


def second(megabytes: int) -> DiskInterval:
    """A second that wrote so much, 8 in flight."""
    work = {
        "writes_completed": megabytes,
        "written_bytes": megabytes << 20,
        "write_time_seconds": 8,
        "io_time_seconds": 1.0,
    }
    return over(NEW, grown(NEW, **work))


FAST, SLOW = second(500), second(100)

#: Ten seconds at 500 MiB/s, and what it takes at 100 until that is a falloff.
CLIFF = (*[FAST] * 10, *[SLOW] * 15)


def activity(
    drive: Drive | None = None, told: Callable[[], SlowdownEvidence] = SlowdownEvidence
) -> DiskActivity:
    baselines = DriveBaselines(Baseline(BaselineRules()), Baseline(BaselineRules()))
    return DiskActivity(drive or drive_from_name("sdx"), DiskRules(), baselines, 0.0, told)


def work(seen: DiskActivity, *seconds: DiskInterval, since: int = 0) -> float:
    """Let a device work; the instant of the last second."""
    now = float(since)
    for now, disk in enumerate(seconds, start=since + 1):
        seen.record(now, disk, ALONE)
    return now


def falloff_events(seen: DiskActivity) -> int:
    assert seen.falloffs is not None
    return seen.falloffs.events


def test_a_falloff_is_the_verdict_once_it_is_certain_and_until_the_device_has_room() -> None:
    seen = activity()
    assert Verdict.DEVICE is seen.verdict.value(work(seen, *CLIFF))
    assert Verdict.WRITE_CACHE is seen.verdict.value(work(seen, *[SLOW] * 6, since=25))
    assert 1 == falloff_events(seen)
    assert Verdict.DEVICE is seen.verdict.value(work(seen, *[FAST] * 6, since=31))
    assert Verdict.NONE is seen.verdict.value(work(seen, *[IDLE] * 12, since=37))
    assert 1 == falloff_events(seen)


def test_the_speed_and_the_bytes_of_the_last_falloff_are_kept() -> None:
    seen = activity()
    work(seen, *CLIFF)
    assert seen.falloffs is not None
    assert seen.falloffs.last is not None
    assert pytest.approx(0.2) == seen.falloffs.last.ratio
    assert 10 * (500 << 20) == pytest.approx(seen.falloffs.last.burst_bytes)


def test_seconds_that_are_not_observed_make_no_difference() -> None:
    """Before a burst, and after one is over, calm seconds are left out."""
    calm = second(20)._replace(busy_ratio=0.2)
    day = [*[calm] * 40, *CLIFF, *[SLOW] * 3, calm, *[SLOW] * 3, *[calm] * 40, *CLIFF]
    seen, every = activity(), WriteFalloffTracker(RULES, SlowdownEvidence)
    work(seen, *day)
    causes = [every.observe(float(now), disk) for now, disk in enumerate(day, start=1)]
    assert seen.falloffs is not None
    assert (2, every.last) == (every.events, seen.falloffs.last)
    assert every.events == falloff_events(seen)
    assert 8 == causes.count(Verdict.WRITE_CACHE)
    assert not activity_after_rest().burst.is_open


def activity_after_rest() -> WriteFalloffTracker:
    seen = activity()
    work(seen, *CLIFF, *[IDLE] * 31)
    assert seen.falloffs is not None
    return seen.falloffs


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (HOT, Verdict.THERMAL),
        (replace(HOT, temperature_celsius=76), Verdict.WRITE_CACHE),
        (SlowdownEvidence(None, None, None, 150e6, 600e6), Verdict.LINK),
        (SlowdownEvidence(None, None, None, 600e6, 600e6), Verdict.WRITE_CACHE),
        (SlowdownEvidence(), Verdict.WRITE_CACHE),
    ],
)
def test_the_cause_is_what_is_known_of_the_drive(told: SlowdownEvidence, cause: Verdict) -> None:
    seen = activity(told=lambda: told)
    assert cause is seen.verdict.value(work(seen, *CLIFF, *[SLOW] * 6))


def test_heat_that_shows_later_is_seen_within_ten_seconds() -> None:
    """The drive is asked by somebody else, once a minute; its count of seconds grows."""
    told = [SlowdownEvidence(over_temperature_seconds=600)]
    its = WriteFalloffTracker(RULES, lambda: told[0])
    before = [its.observe(float(now), disk) for now, disk in enumerate(CLIFF)]
    assert Verdict.WRITE_CACHE is before[-1]
    told[0] = SlowdownEvidence(over_temperature_seconds=660)
    after = [its.observe(float(now), SLOW) for now in range(25, 36)]
    assert (Verdict.WRITE_CACHE, Verdict.THERMAL) == (after[0], after[-1])


def test_a_drive_that_is_not_slow_is_not_asked() -> None:
    asked: list[int] = []

    def told() -> SlowdownEvidence:
        asked.append(1)
        return SlowdownEvidence()

    work(activity(told=told), *[FAST] * 100, *[IDLE] * 100)
    assert [] == asked


@pytest.mark.parametrize(
    "drive",
    [
        Drive("x", DriveClass.ROTATIONAL),
        Drive("x", DriveClass.SSD, volume=True),
        Drive("x", DriveClass.SSD, leaf=False),
    ],
)
def test_tracks_volumes_and_stacks_are_not_watched(drive: Drive) -> None:
    seen = activity(drive)
    work(seen, *CLIFF)
    assert seen.falloffs is None


def test_what_a_probe_of_ours_does_to_the_cache_is_no_falloff() -> None:
    seen = activity()
    for now, disk in enumerate(CLIFF * 2, start=1):
        seen.record(float(now), disk, ALONE, is_probed=True)
    assert 0 == falloff_events(seen)


def test_what_the_survey_finds_out_ends_or_begins_the_watch() -> None:
    seen = activity()
    work(seen, *CLIFF)
    seen.set_drive(Drive("wwn-1", DriveClass.NVME), seen.baselines)
    assert 1 == falloff_events(seen)
    seen.set_drive(Drive("wwn-1", DriveClass.ROTATIONAL), seen.baselines)
    assert seen.falloffs is None
    seen.set_drive(Drive("wwn-1", DriveClass.SSD), seen.baselines)
    assert 0 == falloff_events(seen)


def test_settings_read_again_count_from_now_on_and_events_stay() -> None:
    seen = activity()
    work(seen, *CLIFF)
    seen.reconfigure(DiskRules(write_falloff=replace(RULES, lasting_seconds=5.0)))
    work(seen, *CLIFF[:15], since=100)
    assert 2 == falloff_events(seen)


def test_settings_that_say_the_same_do_not_cut_a_burst() -> None:
    seen = activity()
    work(seen, *CLIFF[:20])
    seen.reconfigure(DiskRules())
    work(seen, *CLIFF[20:], since=20)
    assert 1 == falloff_events(seen)


def test_a_volume_is_told_from_a_drive_by_how_it_is_attached(tmp_path: Path) -> None:
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


def test_the_sampler_asks_for_the_condition_of_the_very_device(machine: Machine) -> None:
    asked: list[str] = []

    def told(device: str) -> SlowdownEvidence:
        asked.append(device)
        return HOT

    machine.sampler = machine.watch(evidence=told)
    counted, idle = NEW, NEW._replace(device="sdy", number="8:16")
    machine.disks(counted, idle)
    machine.tick()
    for disk in (*CLIFF, *[SLOW] * 6):
        counted = grown(
            counted,
            writes_completed=disk.writes,
            written_bytes=disk.written_bytes,
            write_time_seconds=disk.write_seconds,
            io_time_seconds=1.0,
        )
        machine.disks(counted, idle)
        machine.tick()
    assert {"sdx"} == set(asked)
    verdict = machine.sampler.activities["sdx"].verdict
    assert Verdict.THERMAL is verdict.value(machine.clock.monotonic())


def test_what_is_not_known_of_a_drive_is_none() -> None:
    assert SlowdownEvidence() == slowdown_evidence(None, None)
    assert SlowdownEvidence() == slowdown_evidence(LinkSpeed(None, None), DriveHealth())


def test_the_kernels_word_on_the_link_counts_before_the_drives() -> None:
    health = DriveHealth(link_bytes_per_second=300e6, link_max_bytes_per_second=600e6)
    of_drive, of_kernel = (
        slowdown_evidence(None, health),
        slowdown_evidence(LinkSpeed(150e6, None), health),
    )
    assert (300e6, 600e6) == (of_drive.link_bytes_per_second, of_drive.link_max_bytes_per_second)
    assert (150e6, 600e6) == (of_kernel.link_bytes_per_second, of_kernel.link_max_bytes_per_second)


def test_heat_is_that_of_the_whole_drive_against_its_first_limit() -> None:
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
