"""Tests the scheduler on a simulated host with a fake fio: due times, results and charges."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import MIB, PROFILES
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.probe.fio_report import Op
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock
from exporter.probe.probe_directory import DriveCondition
from exporter.probe.steady_state import SteadyPhase
from tests.fakes import FakeClock
from tests.probe.probing import FIRST, Rig, good

ALL = ("fsync", "page_read", "page_write")
SLOT = 300.0

#: Twice what the profiles write, and the file, which is filled once.
RUN_BYTES = 2 * (200 * 4096 + 100 * 16_384)
FILLING_BYTES = 2 * 2 * MIB


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_no_probe_runs_before_the_first_delay(rig: Rig) -> None:
    rig.run(FIRST - 1)
    assert [] == rig.fio.ran
    assert not rig.path.exists()


def test_the_first_slot_waits_until_the_load_is_known(rig: Rig) -> None:
    rig.clock.advance(FIRST)
    rig.probe.run_due()
    assert ([], {}) == (rig.fio.ran, rig.skipped()), "one look tells no load"
    rig.clock.advance(5.0)
    rig.probe.run_due()
    assert [ALL] == rig.fio.ran
    rig.run(SLOT - 5.0)
    assert 2 == len(rig.fio.ran), "the next is where it was"


def test_the_first_slot_waits_for_the_load_for_a_minute_at_most(rig: Rig) -> None:
    rig.busy_seconds = None
    rig.clock.advance(FIRST - 5.0)
    for _ in range(12):
        rig.clock.advance(5.0)
        rig.probe.run_due()
        assert {} == rig.skipped()
    rig.clock.advance(5.0)
    rig.probe.run_due()
    assert {Reason.UNOBSERVED: 1} == rig.skipped()
    assert [] == rig.fio.ran


def test_the_profiles_of_a_slot_run_in_one_fio(rig: Rig) -> None:
    rig.run()
    rig.run(SLOT)
    rig.run(SLOT)
    rig.run(SLOT)
    assert [ALL, ("fsync", "page_read"), ("fsync", "page_read"), ALL] == rig.fio.ran
    assert {rig.path / "ssd-exporter-probe-nvme0n1"} == set(rig.fio.files)


def test_each_run_is_charged_and_the_filling_once(rig: Rig) -> None:
    rig.run()
    assert {"serial of nvme0n1": RUN_BYTES + FILLING_BYTES} == rig.spent()
    assert RUN_BYTES + FILLING_BYTES == rig.directories[0].results.written_bytes
    rig.run(SLOT)
    assert {"serial of nvme0n1": RUN_BYTES + FILLING_BYTES + 2 * 200 * 4096} == rig.spent()


def test_a_successful_run_records_latencies_and_times(rig: Rig) -> None:
    rig.run()
    found = rig.of("page_read")
    assert {ProfileResult.SUCCESS: 1} == rig.runs("page_read")
    assert rig.clock.wall() == found.last_run_at == found.last_success_at
    assert 1e-4 == found.last_operations[Op.READ].mean_seconds
    assert 512 == sum(found.latency[Op.READ].buckets().weights)
    assert ("psync", "3.33") == (found.engine, found.fio_version)


def test_five_equal_runs_are_steady_and_slower_ones_are_not(rig: Rig) -> None:
    for _ in range(4):
        rig.run()
    assert _phase(rig) is SteadyPhase.TOO_FEW
    rig.run()
    assert _phase(rig) is SteadyPhase.STEADY
    rig.fio.answer = lambda profiles: good(profiles, 200_000)
    rig.run()
    steady = rig.of("page_read").steady_state
    assert steady is not None
    assert steady.phase is SteadyPhase.UNSTEADY
    assert steady.deviation is not None
    assert 1.0 == pytest.approx(steady.deviation.ratio)


def _phase(rig: Rig) -> SteadyPhase | None:
    steady = rig.of("page_read").steady_state
    return None if steady is None else steady.phase


def test_the_rounds_survive_a_restart(rig: Rig) -> None:
    for _ in range(5):
        rig.run()
    rig.kept = json.loads(json.dumps(rig.rounds.to_state()))
    rig.begin()
    rig.directories[0].locate()
    assert _phase(rig) is SteadyPhase.STEADY


def keep_busy(rig: Rig, number: int) -> None:
    """Advance the clock to the next probe. The device is busy in the ten seconds before it."""
    rig.busy_seconds = 1000.0 * number
    rig.clock.advance(FIRST)
    rig.directories[0].locate()
    rig.directories[0].record_load()
    rig.busy_seconds += 10.0
    rig.clock.advance(10.0)


def test_a_busy_device_is_skipped_until_a_minimal_run(rig: Rig) -> None:
    rig.rules = replace(rig.rules, forced_after_skips=2)
    rig.begin()
    for number in range(3):
        keep_busy(rig, number)
        rig.probe.run_due()
    assert {Reason.BUSY: 2} == rig.skipped()
    assert [ALL] == rig.fio.ran
    assert 32 == (rig.of("page_read").last_run_profile or PROFILES["slc"]).number_ios


def test_a_minimal_run_that_the_guard_ends_is_followed_by_another_one(rig: Rig) -> None:
    """Otherwise a host that is always busy would wait for twelve skips again, and get no result."""
    rig.rules = replace(rig.rules, forced_after_skips=1)
    rig.begin()
    for number in range(3):
        rig.fio.seconds = 10.0 if number == 1 else 0.0
        rig.drive_condition = DriveCondition()
        keep_busy(rig, number)
        crowd = "259 0 nvme0n1 0 0 0 0 0 0 0 0 30 0 0 0 0 0 0 0 0\n"
        rig.fio.meanwhile = lambda row=crowd: rig.host.write("diskstats", row)  # type: ignore[misc]
        rig.fio.ended = 0
        rig.probe.run_due()
        rig.host.diskstats(["nvme0n1"])
    assert {Reason.BUSY: 2} == rig.skipped(), "one skip, then one aborted run"
    assert {ProfileResult.ABORTED: 1, ProfileResult.SUCCESS: 1} == rig.runs()
    assert 0 == rig.of("page_read").skips


@pytest.mark.parametrize("name", ["burst", "slc"])
def test_a_probe_without_a_rate_limit_refuses_where_the_guard_could_not_notice_a_waiting_server(
    rig: Rig, name: str
) -> None:
    (rig.host.proc / "2/comm").unlink()
    heavy = replace(PROFILES[name], size_bytes=2 * MIB, interval_seconds=FIRST)
    rig.profiles = [*rig.profiles, heavy]
    rig.begin().run()
    assert [ALL] == rig.fio.ran, "the others limit their rate"
    assert {Reason.UNOBSERVED: 1} == rig.skipped(name)


@pytest.mark.parametrize("name", ["burst", "slc"])
def test_a_profile_that_writes_the_whole_file_gets_no_minimal_run(rig: Rig, name: str) -> None:
    """A minimal run needs the whole file, up to 16 GiB on a host that is always busy."""
    rig.rules = replace(rig.rules, forced_after_skips=2)
    rig.profiles = [replace(PROFILES[name], size_bytes=2 * MIB, interval_seconds=FIRST)]
    rig.begin()
    for number in range(4):
        keep_busy(rig, number)
        rig.probe.run_due()
    assert {Reason.BUSY: 4} == rig.skipped(name)
    assert [] == rig.fio.ran
    assert not rig.path.exists()


#: A control group whose pressure stays at zero: one thread waits while others compute.
GROUP = "/system.slice/mysql.service"


def waiting_server(rig: Rig, group: str = "/") -> None:
    """A server without pressure, or without pressure information, which waits all the time."""
    rig.servers = (MysqlServer(80, group, (), ()),)
    if group == GROUP:
        file = rig.host.sys.root / f"fs/cgroup{GROUP}/io.pressure"
        file.parent.mkdir(parents=True)
        averages = "avg10=0.00 avg60=0.00 avg300=0.00 total=0"
        file.write_text(f"some {averages}\nfull {averages}\n")
    rig.host.write("80/task/80/stat", "80 (mysqld) D 1 77 77 0 -1 4194560 0 0 0\n")


@pytest.mark.parametrize("group", ["/", GROUP])
def test_the_guard_ends_a_probe_with_a_rate_limit_if_a_thread_of_a_server_waits(
    rig: Rig, group: str
) -> None:
    """At 600 writes per second, the 100 commits per second of `fsync` halved the throughput."""
    waiting_server(rig, group)
    rig.fio.seconds = 10.0
    rig.begin()
    before = rig.clock.monotonic()
    rig.run()
    assert {ProfileResult.ABORTED: 1} == rig.runs()
    assert {Reason.CGROUP_PRESSURE: 1} == rig.skipped()
    assert rig.clock.monotonic() - before - FIRST < 1.1


def test_a_server_that_always_waits_gets_minimal_runs(rig: Rig) -> None:
    """The gate does not notice its waits, so the guard would end each run, without any result."""
    waiting_server(rig)
    rig.rules = replace(rig.rules, forced_after_skips=2)
    rig.begin()
    results = []
    for seconds in (10.0, 10.0, 0.0, 10.0):
        rig.fio.seconds, rig.fio.ended = seconds, 0
        rig.run(86_400.0)
        results.append((rig.of("page_read").last_run_profile or PROFILES["slc"]).number_ios)
    assert {ProfileResult.ABORTED: 3, ProfileResult.SUCCESS: 1} == rig.runs()
    assert [512, 512, 32, 512] == [128 if ios is None else ios for ios in results]


WEEK = 7 * 86_400.0


def test_a_scheduled_slc_is_charged_to_the_life_of_a_rated_drive_and_not_to_its_day(
    rig: Rig,
) -> None:
    """The daily budget of this drive is 2.7 MB, which is less than one run writes."""
    rig.rated = {"nvme0n1": 2_000_000_000_000}
    slc = replace(PROFILES["slc"], size_bytes=2 * MIB, interval_seconds=WEEK)
    rig.profiles = [slc]
    rig.begin().run()
    assert ({}, {ProfileResult.SUCCESS: 1}) == (rig.skipped("slc"), rig.runs("slc"))
    assert {"serial of nvme0n1": 0} == rig.spent()
    assert 4 * MIB == rig.directories[0].results.written_bytes
    limits = rig.budget.limits("serial of nvme0n1")
    assert limits.day_bytes < 4 * MIB
    left = rig.budget.remaining("serial of nvme0n1")
    assert 4 * MIB == limits.life_bytes - left.life_bytes


def test_a_scheduled_slc_is_skipped_if_the_life_budget_is_too_small(rig: Rig) -> None:
    rig.rated = {"nvme0n1": 100_000_000}
    rig.profiles = [replace(PROFILES["slc"], size_bytes=2 * MIB, interval_seconds=WEEK)]
    rig.begin().run()
    assert {Reason.BUDGET: 1} == rig.skipped("slc")
    assert [] == rig.fio.ran


@pytest.mark.parametrize(
    ("drive_condition", "reason"),
    [
        (DriveCondition(temperature_celsius=70.0), Reason.HOT),
        (DriveCondition(temperature_celsius=66.0, warning_celsius=70.0), Reason.HOT),
    ],
)
def test_a_hot_drive_is_not_probed(
    rig: Rig, drive_condition: DriveCondition, reason: Reason
) -> None:
    rig.drive_condition = drive_condition
    rig.run()
    assert {reason: 1} == rig.skipped("page_read")


def test_a_worn_drive_is_only_read(rig: Rig) -> None:
    rig.drive_condition = DriveCondition(endurance_used_ratio=0.9)
    rig.run()
    assert [("page_read",)] == rig.fio.ran
    assert {Reason.WORN: 1} == rig.skipped("page_write")


@pytest.mark.parametrize(
    ("fstype", "options", "source"),
    [
        ("tmpfs", "rw", "0:99"),
        ("overlay", "rw", "0:99"),
        ("nfs4", "rw", "0:99"),
        ("btrfs", "rw", "259:0"),
        ("ext4", "ro", "259:0"),
    ],
)
def test_an_unsuitable_filesystem_is_not_probed(
    rig: Rig, fstype: str, options: str, source: str
) -> None:
    rig.mount(fstype, options, source)
    rig.run_unfit()
    assert {Reason.FILESYSTEM: 1} == rig.skipped()
    assert [] == rig.fio.ran
    assert not rig.path.exists()


def test_a_full_disk_is_not_probed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, GateRules(free_bytes=1 << 60))
    rig.run()
    assert {Reason.NO_SPACE: 1} == rig.skipped()


def test_without_budget_only_reads_run_and_the_file_is_not_filled(rig: Rig) -> None:
    rig.day_bytes = 3 * MIB
    rig.begin().run()
    assert {Reason.BUDGET: 1} == rig.skipped("fsync")
    assert [] == rig.fio.ran


def test_only_one_probe_runs_on_a_host(rig: Rig) -> None:
    other = HostLock((rig.state,))
    assert other.acquire()
    rig.run()
    assert {Reason.LOCKED: 1} == rig.skipped()
    other.release()
    rig.run(SLOT)
    assert 1 == len(rig.fio.ran)


def test_a_removed_directory_is_created_again(rig: Rig) -> None:
    rig.run()
    (rig.path / "ssd-exporter-probe-nvme0n1").unlink()
    rig.path.rmdir()
    rig.run(SLOT)
    assert {ProfileResult.SUCCESS: 2} == rig.runs()


def test_the_guard_ends_a_run_if_production_needs_the_device(rig: Rig) -> None:
    rig.fio.seconds = 10.0

    def crowded() -> None:
        row = "259 0 nvme0n1 0 0 0 0 0 0 0 0 30 0 0 0 0 0 0 0 0\n"
        rig.host.write("diskstats", row)

    rig.fio.meanwhile = crowded
    before = rig.clock.monotonic()
    rig.run()
    assert 1 == rig.fio.ended
    assert {ProfileResult.ABORTED: 1} == rig.runs()
    assert {Reason.BUSY: 1} == rig.skipped()
    assert rig.clock.monotonic() - before - FIRST < 1.1
    # fio did not report its written bytes, so all reserved bytes are charged.
    assert {"serial of nvme0n1": RUN_BYTES + FILLING_BYTES} == rig.spent()
    assert rig.of("fsync").last_success_at is None


def test_the_guard_ends_a_run_if_the_drive_becomes_hot(rig: Rig) -> None:
    rig.fio.seconds = 60.0

    def heating() -> None:
        rig.drive_condition = DriveCondition(temperature_celsius=70.0)

    rig.fio.meanwhile = heating
    before = rig.clock.monotonic()
    rig.run()
    assert {ProfileResult.ABORTED: 1} == rig.runs()
    assert {Reason.HOT: 1} == rig.skipped()
    assert rig.clock.monotonic() - before - FIRST < 7.0


def test_the_guard_stops_filling_if_production_needs_the_device(rig: Rig) -> None:
    """Filling 1 GB takes 16 s. Three samples, one each 0.25 s, stop it."""
    rig.profiles = [replace(PROFILES["page_read"], size_bytes=1024 * MIB)]
    rig.day_bytes = 4096 * MIB
    rig.begin()
    row = "259 0 nvme0n1 0 0 0 0 0 0 0 0 30 0 0 0 0 0 0 0 0\n"
    rig.host.write("diskstats", row)
    before = rig.clock.monotonic()
    rig.run()
    assert {Reason.BUSY: 1} == rig.skipped("page_read")
    assert [] == rig.fio.ran
    assert rig.clock.monotonic() - before - FIRST < 1.0
    assert not (rig.path / "ssd-exporter-probe-nvme0n1").exists()
    assert rig.spent()["serial of nvme0n1"] < 256 * MIB, "what was written"


class StallingClock(FakeClock):
    """The thirtieth sleep takes 10 s longer than requested."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if len(self.slept) == 30:
            self.advance(10.0)


def test_after_a_stall_the_filling_does_not_catch_up(rig: Rig) -> None:
    rig.profiles = [replace(PROFILES["page_read"], size_bytes=100 * MIB)]
    rig.clock = StallingClock(monotonic=rig.clock.monotonic())
    rig.begin().run()
    assert {ProfileResult.SUCCESS: 1} == rig.runs("page_read")
    assert len(rig.clock.slept) >= 98, "a pause after each piece but the one that was late"


@pytest.mark.parametrize("name", ["burst", "slc"])
def test_after_a_whole_write_the_file_is_shortened_to_what_the_others_read(
    rig: Rig, name: str
) -> None:
    rig.profiles = [
        replace(PROFILES["page_read"], size_bytes=2 * MIB),
        replace(PROFILES[name], size_bytes=16 * MIB, interval_seconds=WEEK),
    ]
    rig.begin()
    sizes: list[int] = []
    rig.fio.meanwhile = lambda: sizes.append(rig.fio.files[-1].stat().st_size)
    rig.run()
    assert [("page_read", name)] == rig.fio.ran
    assert [16 * MIB] == sizes
    assert 2 * MIB == rig.fio.files[0].stat().st_size


def test_after_a_whole_write_the_file_is_empty_if_no_other_profile_reads_it(rig: Rig) -> None:
    rig.profiles = [replace(PROFILES["burst"], size_bytes=16 * MIB)]
    rig.begin().run()
    assert {ProfileResult.SUCCESS: 1} == rig.runs("burst")
    assert 0 == rig.fio.files[0].stat().st_size


def test_stopping_the_daemon_aborts_a_run_and_starts_none(rig: Rig) -> None:
    rig.fio.seconds = 10.0
    rig.fio.meanwhile = rig.probe.stop
    rig.run()
    assert {ProfileResult.ABORTED: 1} == rig.runs()
    assert {} == rig.skipped()
    rig.run(SLOT)
    assert 1 == len(rig.fio.ran)


def test_without_fio_no_probe_runs_and_the_collector_fails(rig: Rig) -> None:
    rig.fio.available = None
    rig.begin().run()
    assert [] == rig.fio.ran
    for name in ("fsync", "page_read", "page_write"):
        assert {} == rig.runs(name)
        assert {} == rig.skipped(name)
    outcomes = dict(rig.collector_status.results())
    assert not outcomes["probe"].success
    rig.fio.available = frozenset({"psync"})
    rig.run(SLOT)
    assert {ProfileResult.SUCCESS: 1} == rig.runs("fsync"), "fio was installed meanwhile"


def test_after_a_reboot_during_a_probe_no_probe_runs(rig: Rig) -> None:
    rig.run()
    assert rig.budget.reserve("serial of nvme0n1", "fsync", 4096) is not None
    rig.boot_id = "another boot"
    rig.begin().run()
    assert {Reason.UNACKNOWLEDGED: 1} == rig.skipped()


def test_the_reservation_of_a_killed_run_is_charged_at_the_next_start(rig: Rig) -> None:
    rig.run()
    before = rig.spent()["serial of nvme0n1"]
    assert 8192 == rig.budget.reserve("serial of nvme0n1", "fsync", 4096)
    rig.begin().run(20.0)
    assert {"serial of nvme0n1": before + 8192} == rig.spent()


def test_a_second_directory_of_a_drive_is_not_probed(rig: Rig, tmp_path: Path) -> None:
    rig.begin(rig.path, tmp_path / "again").run()
    assert 1 == len(rig.fio.ran)
    second = rig.directories[1].results.profiles["fsync"]
    assert 1 == second.skipped[Reason.FILESYSTEM]


def test_the_windows_record_when_a_probe_runs(rig: Rig) -> None:
    seen = []
    rig.fio.meanwhile = lambda: seen.append(rig.windows.is_running("nvme0n1"))
    begun = rig.clock.monotonic()
    rig.run()
    assert [True] == seen
    assert not rig.windows.is_running("nvme0n1")
    assert not rig.windows.covers("nvme0n1", begun, begun + 1)
    assert not rig.windows.covers("sda", begun, begun + 10_000)


def test_no_probe_runs_if_the_budget_cannot_be_written(rig: Rig) -> None:
    rig.run()
    (rig.state / "probe-budget.json").unlink()
    (rig.state / "probe-budget.json").mkdir()
    rig.run(SLOT)
    assert 1 == len(rig.fio.ran)
    assert {Reason.BUDGET: 1} == rig.skipped()
