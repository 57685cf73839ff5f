"""Tests the scheduler with a stand-in for fio that fails, hangs or prints invalid reports.

The stand-in is a real process, which is started, guarded and ended like fio. Only the host is
simulated.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.config.profiles import MIB
from exporter.probe import fio_report
from exporter.probe.fio import SystemFio
from exporter.probe.fio_report import Op
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock
from exporter.programs.children import SystemChildren
from exporter.programs.command import SystemRunner
from exporter.runtime.clock import SystemClock
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.programs import need
from tests.probe import fio_reports
from tests.probe.probing import Rig, good
from tests.required import lacking

pytestmark = pytest.mark.real

SLOT = 300.0
ALL = ("fsync", "page_read", "page_write")
DRIVE = "serial of nvme0n1"

RUN_BYTES = 2 * (200 * 4096 + 100 * 16_384)
FILLING_BYTES = 2 * 2 * MIB

#: A program that sets its process name to fio, prints a line and sleeps.
NAMED_FIO = """
import time
open("/proc/self/comm", "w").write("fio")
print(flush=True)
time.sleep(1000)
"""


class HastyClock(SystemClock):
    """Runs `speed` times as fast as the system's clock, to reach timeouts quickly."""

    def __init__(self) -> None:
        self._at, self._since, self._speed = 0.0, time.monotonic(), 1.0

    def go(self, speed: float) -> None:
        self._at, self._since, self._speed = self.monotonic(), time.monotonic(), speed

    def monotonic(self) -> float:
        return self._at + (time.monotonic() - self._since) * self._speed


class StandIn:
    """The stand-in for fio. `does` sets the shell commands of a run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.path = place / "fio"
        self.does("cat whole")

    def does(self, words: str, version: str = "fio-3.33") -> None:
        self.path.write_text(
            f"""#!/bin/sh
            cd '{self.place}'
            case "$1" in
            --version) echo '{version}' ;;
            --enghelp) printf 'Available IO engines:\\n\\tpsync\\n\\tlibaio\\n' ;;
            *) {words} ;;
            esac
            """
        )
        self.path.chmod(0o755)

    def processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and os.readlink(entry / "cwd") == str(self.place):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


@pytest.fixture
def fio(tmp_path: Path) -> StandIn:
    need("setpriv")
    (tmp_path / "programs").mkdir()
    return StandIn(tmp_path / "programs")


@pytest.fixture
def clock() -> HastyClock:
    """The clock of the stand-in's timeouts."""
    return HastyClock()


@pytest.fixture
def rig(tmp_path: Path, fio: StandIn, clock: HastyClock) -> Iterator[Rig]:
    """A simulated host whose fio is the stand-in, with reports to print in files beside it."""
    rig = Rig(tmp_path)
    whole = good(rig.profiles).output
    (fio.place / "whole").write_bytes(whole)
    half = [replace(each, number_ios=10) for each in rig.profiles]
    (fio.place / "less").write_bytes(good(half).output)
    (fio.place / "cut").write_bytes(whole[: len(whole) // 2])
    jobs = [fio_reports.job("fsync", error=28), fio_reports.PAGE_READ]
    (fio.place / "full").write_bytes(fio_reports.printed(*jobs))
    # A killed process of a busy machine ends late, and `clock` is up to 50 times too fast.
    children = SystemChildren(
        clock, abandon_seconds=50 * PATIENCE_SECONDS, max_output_bytes=fio_report.MAX_REPORT_BYTES
    )
    rig.program = SystemFio(str(fio.path), SystemRunner(), clock, children)
    rig.begin()
    yield rig
    rig.program.close()
    wait_until(lambda: not fio.processes(), "the end of all processes of fio")


def error(rig: Rig) -> str:
    """Returns "failed" if the last run of the collector failed, else an empty string."""
    outcome = dict(rig.collector_status.results())["probe"]
    return "" if outcome.success else "failed"


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("cat whole", ProfileResult.SUCCESS),
        ("echo 'fio: verification read phase will never start'; cat whole", ProfileResult.SUCCESS),
        ("echo 'note: both iodepth >= 1' >&2; cat whole", ProfileResult.SUCCESS),
        ("cat less whole", ProfileResult.SUCCESS),
        ("cat whole cut", ProfileResult.SUCCESS),
        ("exit 0", ProfileResult.FAILED),
        ("cat cut", ProfileResult.FAILED),
        ("echo 'fio: engine psync not loadable'; exit 1", ProfileResult.FAILED),
        ("cat full; exit 1", ProfileResult.FAILED),
        ("yes '{'", ProfileResult.FAILED),
        ("head -c 100000 /dev/urandom", ProfileResult.FAILED),
        ("kill -9 $$", ProfileResult.ABORTED),
        ("kill -TERM $$", ProfileResult.ABORTED),
        ("exit 128", ProfileResult.ABORTED),
        ("cat whole; exit 128", ProfileResult.ABORTED),
        ("exec sleep 1000", ProfileResult.TIMEOUT),
        ("trap '' TERM; while :; do sleep 0.1; done", ProfileResult.TIMEOUT),
        ("sleep 1000 & cat whole", ProfileResult.SUCCESS),
    ],
)
def test_any_behaviour_of_fio_is_counted_charged_and_followed_by_a_success(
    rig: Rig, fio: StandIn, clock: HastyClock, words: str, result: ProfileResult
) -> None:
    """Charged are the reported bytes; without a report, all reserved bytes."""
    fio.does(words)
    clock.go(50.0 if result is ProfileResult.TIMEOUT else 1.0)
    rig.run()
    clock.go(1.0)
    assert {result: 1} == rig.runs()
    wait_until(lambda: not fio.processes(), "the end of all processes of fio")
    written = 0 if "full" in words else RUN_BYTES
    assert written + FILLING_BYTES == rig.spent()[DRIVE]
    assert (rig.of("fsync").last_success_at is not None) is (result is ProfileResult.SUCCESS)
    assert bool(error(rig)) is (result in (ProfileResult.FAILED, ProfileResult.TIMEOUT))
    assert 0 == rig.probe.stuck
    before = rig.of("fsync").runs[ProfileResult.SUCCESS]
    fio.does("cat whole")
    rig.run(SLOT)
    assert before + 1 == rig.of("fsync").runs[ProfileResult.SUCCESS]
    assert not error(rig)


def test_a_full_disk_for_one_profile_keeps_the_results_of_the_others(
    rig: Rig, fio: StandIn
) -> None:
    fio.does("cat full; exit 1")
    rig.run()
    assert {ProfileResult.FAILED: 1} == rig.runs("fsync")
    assert {ProfileResult.SUCCESS: 1} == rig.runs("page_read")
    assert rig.of("page_read").last_operations


def test_the_histogram_is_of_the_last_of_two_reports(rig: Rig, fio: StandIn) -> None:
    fio.does("cat less whole")
    rig.run()
    assert 512 == sum(rig.of("page_read").latency[Op.READ].buckets().weights)


@pytest.mark.parametrize("why", ["missing", "too old", "no version", "not executable"])
def test_without_a_usable_fio_no_probe_runs_and_nothing_is_written(
    rig: Rig, fio: StandIn, why: str
) -> None:
    if why == "missing":
        fio.path.unlink()
    elif why == "not executable":
        fio.path.chmod(0o600)
    else:
        fio.does("exit 1", "fio-3.15" if why == "too old" else "hello")
    rig.begin().run()
    assert ({}, {}, {}) == tuple(rig.runs(name) for name in ALL)
    assert not (rig.state / "probe-budget.json").exists(), "nothing was reserved"
    assert error(rig)


def test_a_fio_that_is_removed_between_two_runs_fails_the_next_run(rig: Rig, fio: StandIn) -> None:
    rig.run()
    fio.path.unlink()
    rig.run(SLOT)
    assert {ProfileResult.SUCCESS: 1, ProfileResult.FAILED: 1} == rig.runs()
    assert error(rig)


def test_a_fio_that_ignores_all_signals_is_stuck_until_it_ends(
    rig: Rig, fio: StandIn, clock: HastyClock
) -> None:
    """A process in uninterruptible sleep behaves so. It keeps the host lock."""
    children = SystemChildren(clock, send=lambda _pid, _number: None)
    program = rig.program = SystemFio(str(fio.path), SystemRunner(), clock, children)
    rig.begin()
    fio.does("while [ ! -e gone ]; do sleep 0.05; done")
    clock.go(50.0)
    rig.run()
    clock.go(1.0)
    assert {ProfileResult.STUCK: 1} == rig.runs()
    assert 1 == rig.probe.stuck
    assert not HostLock((rig.state,)).acquire()
    assert RUN_BYTES + FILLING_BYTES == rig.spent()[DRIVE]
    rig.run(SLOT)
    assert 1 == rig.of("fsync").skipped[Reason.STUCK]
    assert 1 == rig.probe.stuck

    fio.does("cat whole")
    (fio.place / "gone").touch()
    wait_until(lambda: not program.is_stuck, "the end of fio")
    rig.run(SLOT)
    assert 0 == rig.probe.stuck
    assert {ProfileResult.STUCK: 1, ProfileResult.SUCCESS: 1} == rig.runs()


def test_an_unkillable_fio_of_an_earlier_daemon_is_stuck(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """A frozen process (cgroup v1) receives no signal, not even SIGKILL."""
    group = Path("/sys/fs/cgroup/freezer", f"ssd-exporter-probe-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as e:
        lacking(f"no freezer on this machine: {e}")
    state = group / "freezer.state"
    left = subprocess.Popen([sys.executable, "-c", NAMED_FIO], stdout=subprocess.PIPE)
    try:
        assert left.stdout is not None
        left.stdout.readline()
        (group / "cgroup.procs").write_text(str(left.pid))
        state.write_text("FROZEN")
        with subprocess.Popen([sys.executable, "-c", "pass"]) as owner:
            noted = {"child": [left.pid, ticks(left.pid)], "owner": [owner.pid, ticks(owner.pid)]}
        (rig.state / "probe-process.json").write_text(json.dumps(noted))
        rig.run()
        assert 1 == rig.probe.stuck
        rig.run(SLOT)
        assert 2 == rig.of("fsync").skipped[Reason.STUCK]
        assert 1 == caplog.text.count("is still running"), "logged once"
        state.write_text("THAWED")
        left.wait(PATIENCE_SECONDS)
        rig.run(SLOT)
        assert 0 == rig.probe.stuck
        assert {ProfileResult.SUCCESS: 1} == rig.runs()
    finally:
        state.write_text("THAWED")
        left.kill()
        left.wait(PATIENCE_SECONDS)
        if left.stdout:
            left.stdout.close()
        group.rmdir()


def ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
