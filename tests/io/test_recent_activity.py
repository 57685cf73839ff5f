"""The last 300 samples of the host and its drives."""

import sys
from pathlib import Path

from exporter.io.recent_activity import (
    MAX_DRIVES,
    SAMPLES,
    SATURATED,
    STALLED,
    DriveSamples,
    RecentActivity,
    counted,
    verdicts,
)
from exporter.io.verdict import Verdict
from tests.io.machine import ALL_IDLE, CALM, FULL, Machine
from tests.io.records import NEW, as_counted, grown, over

CALM_SECOND = over(NEW, grown(NEW, **CALM))


def machine(tmp_path: Path) -> Machine:
    its = Machine(tmp_path)
    its.disks(NEW)
    its.cpus(ALL_IDLE)
    its.waiting(0.0)
    its.tick()
    return its


def worked(recent: RecentActivity, device: str, flags: int = 0) -> None:
    """Records a calm second of a drive in the current sample."""
    recent.record(device, CALM_SECOND, Verdict.NONE, flags)


def samples_of(recent: RecentActivity, device: str) -> DriveSamples:
    found = recent.drive(device)
    assert found is not None
    return found


def test_each_second_of_a_busy_drive_is_kept(tmp_path: Path) -> None:
    its, disk = machine(tmp_path), NEW
    for second in (CALM, FULL):
        disk = grown(disk, **second)._replace(io_now=32)
        its.disks(disk).tick()
    samples = samples_of(its.sampler.recent, "sdx")
    written = [CALM["written_bytes"], FULL["written_bytes"]]
    assert written == list(samples.column(1, 2))
    assert [0.5, 80.0] == [round(1000 * seconds, 3) for seconds in samples.column(3, 2)]
    assert [Verdict.NONE, Verdict.DEVICE] == list(verdicts(samples.statuses(2)))
    assert written == list(its.sampler.recent.column(4, 2))
    assert 400 == its.sampler.recent.requests


def test_seconds_without_io_are_zero(tmp_path: Path) -> None:
    its = machine(tmp_path)
    its.disks(busy := grown(NEW, **CALM)).tick()
    for _ in range(3):
        its.tick()
    its.disks(grown(busy, **CALM)).tick()
    written = CALM["written_bytes"]
    assert [written, 0, 0, 0, written] == list(samples_of(its.sampler.recent, "sdx").column(1, 5))


def test_a_drive_that_is_idle_at_the_end_has_zeros_there() -> None:
    recent = RecentActivity()
    recent.begin((None, None), None)
    worked(recent, "sda", SATURATED)
    for _ in range(2):
        recent.begin((None, None), None)
    samples = samples_of(recent, "sda")
    assert [0, 0] == list(samples.column(1, 2))
    assert 3 == samples.number
    assert 1 == samples.last_number
    assert 1 == counted(samples.statuses(SAMPLES), SATURATED)
    assert 0 == counted(samples.statuses(2), SATURATED)
    assert 0 == counted(samples.statuses(SAMPLES), STALLED)


def test_the_window_moves_with_the_samples() -> None:
    recent = RecentActivity()
    for number in range(2 * SAMPLES):
        recent.begin((number / 1000, None), None)
    assert SAMPLES == recent.taken
    some = recent.column(0, SAMPLES)
    assert [0.3, 0.599] == [round(some[0], 3), round(some[-1], 3)]


def test_what_the_kernel_does_not_report_is_not_a_number() -> None:
    recent = RecentActivity()
    recent.begin((0.25, None), None)
    assert [0.25] == list(recent.column(0, 1))
    assert recent.hottest is None
    assert all(recent.column(index, 1)[0] != recent.column(index, 1)[0] for index in (1, 2, 3))


def test_samples_that_were_missed_are_marked() -> None:
    recent = RecentActivity()
    recent.begin((0.0, None), None)
    recent.begin((0.0, None), None, missed=2)
    assert b"\x01\x00\x00\x01" == recent.sampled(4)
    recent.begin((0.0, None), None, missed=10**9)
    assert b"\x00" * (SAMPLES - 1) + b"\x01" == recent.sampled(SAMPLES)


def test_a_gap_between_two_samples_is_marked(tmp_path: Path) -> None:
    its = machine(tmp_path)
    its.tick()
    its.tick(10)
    assert b"\x01" + b"\x00" * 10 + b"\x01" == its.sampler.recent.sampled(12)


def test_a_device_that_is_replaced_starts_without_samples(tmp_path: Path) -> None:
    its = machine(tmp_path)
    its.disks(grown(NEW, **CALM)).tick()
    its.disks(NEW._replace(**as_counted(writes_completed=1))).tick()
    assert its.sampler.recent.drive("sdx") is None


def test_the_memory_of_24_and_of_1000_drives_is_bounded() -> None:
    recent = RecentActivity()
    recent.begin((None, None), None)
    for number in range(1000):
        worked(recent, f"sd{number}")
    kept = [name for n in range(1000) if recent.drive(name := f"sd{n}") is not None]
    assert MAX_DRIVES == len(kept)
    one = samples_of(recent, kept[0])
    parts = (one, one.values, one.status, one.last)
    assert 24 * sum(map(sys.getsizeof, parts)) < 200_000


def test_drives_without_io_for_the_whole_window_make_room() -> None:
    recent = RecentActivity()
    recent.begin((None, None), None)
    worked(recent, "sda")
    for _ in range(2 * SAMPLES):
        recent.begin((None, None), None)
    assert recent.drive("sda") is None
