"""Tests of running one real program to its end."""

import os
from pathlib import Path

import pytest

from exporter.programs.command import Completed, SystemRunner
from exporter.runtime.errors import CommandError
from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.fakes import SkippingClock
from tests.processes import open_files


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def test_standard_output_is_returned() -> None:
    assert "of use\n" == SystemRunner().run(sh("echo of use; echo of none >&2"), PATIENCE_SECONDS)


def test_run_raises_for_an_exit_status_other_than_0() -> None:
    with pytest.raises(CommandError, match=r"/bin/sh: failed with status 4"):
        SystemRunner().run(sh("exit 4"), PATIENCE_SECONDS)


@pytest.mark.parametrize("status", [0, 1, 4, 64, 255])
def test_complete_returns_the_output_and_the_exit_status(status: int) -> None:
    assert Completed("all\n", status) == SystemRunner().complete(
        sh(f"echo all; exit {status}"), PATIENCE_SECONDS
    )


def test_a_program_ended_by_a_signal_differs_from_a_failed_one() -> None:
    assert Completed("", -9) == SystemRunner().complete(sh("kill -9 $$"), PATIENCE_SECONDS)
    with pytest.raises(CommandError, match="killed by signal 9"):
        SystemRunner().run(sh("kill -9 $$"), PATIENCE_SECONDS)


@pytest.mark.parametrize("argv", [["no-such-program"], ["/proc"], ["/bin/echo", "\0"]])
def test_a_program_that_cannot_be_started_raises_command_error(argv: list[str]) -> None:
    with pytest.raises(CommandError):
        SystemRunner().complete(argv, PATIENCE_SECONDS)


def test_bytes_that_are_not_utf_8_are_escaped() -> None:
    assert "a\\xff\n" == SystemRunner().run(sh(r"printf 'a\377\n'"), PATIENCE_SECONDS)


def test_a_program_has_no_input_and_only_path_and_the_c_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OURS", "secret")
    printed = SystemRunner().run(sh("cat; echo $LC_ALL $OURS"), PATIENCE_SECONDS)
    assert "C\n" == printed


def gone(pid: int) -> bool:
    try:
        return "Z" == Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits longer for killed programs: those of a busy machine end late."""
    monkeypatch.setattr("exporter.programs.command._DEATH_SECONDS", PATIENCE_SECONDS)


@pytest.mark.usefixtures("patient")
def test_a_timeout_kills_a_program_and_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"

    class Clock(SkippingClock):
        """Skips the time limit once both processes run."""

        def monotonic(self) -> float:
            if not self.skipped_seconds and pids.exists() and pids.read_text().endswith("\n"):
                self.skipped_seconds = PATIENCE_SECONDS
            return super().monotonic()

    monkeypatch.setattr("exporter.programs.command.SystemClock", Clock)
    script = f"trap '' TERM; sleep 1000 & echo $$ $! > {pids}; echo started; wait"
    with at_most(10), pytest.raises(CommandError, match=f"end within {PATIENCE_SECONDS:g} s"):
        SystemRunner().complete(sh(script), PATIENCE_SECONDS)
    left = [int(pid) for pid in pids.read_text().split()]
    assert 2 == len(left)
    wait_until(lambda: all(map(gone, left)), "the end of both")


@pytest.mark.usefixtures("patient")
def test_a_program_that_closes_its_output_and_stays_times_out() -> None:
    with pytest.raises(CommandError, match="did not end within"):
        SystemRunner().complete(sh("exec >&-; sleep 60"), 0.3)


@pytest.mark.usefixtures("patient")
def test_a_program_that_exceeds_the_output_limit_is_ended_before_its_timeout() -> None:
    with at_most(30), pytest.raises(CommandError, match="printed more than 1 MiB"):
        SystemRunner().complete(["/usr/bin/yes"], 60.0)


@pytest.mark.usefixtures("patient")
def test_no_descriptor_and_no_child_remain() -> None:
    SystemRunner().run(["/bin/true"], PATIENCE_SECONDS)
    before = open_files()
    for _ in range(5):
        SystemRunner().complete(sh("exit 3"), PATIENCE_SECONDS)
        with pytest.raises(CommandError):
            SystemRunner().complete(["/bin/sleep", "60"], 0.01)
    assert set() == open_files() - before
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [] == [pid for pid in children if gone(int(pid))]
