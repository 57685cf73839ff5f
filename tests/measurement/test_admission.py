"""Tests the consent of the user and the wait for the host lock."""

import fcntl
import io
from pathlib import Path

import pytest

from exporter.measurement import admission
from exporter.measurement.admission import Streams, WritePlan
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.report.progress import Progress
from exporter.runtime.errors import ConfigError
from tests.fakes import FakeClock, Terminal

GB = 10**9
PLAN = WritePlan("/mnt/probe on sda", 2 * GB, 400.0, rated_bytes=100e12, left_bytes=3 * GB)


def asked(answer: str) -> str:
    says = io.StringIO()
    admission.ask_consent(PLAN, Streams(Terminal(answer), says), yes=False)
    return says.getvalue()


def test_the_question_names_the_bytes_the_place_and_the_duration() -> None:
    assert asked("y\n") == (
        "writes at most 2 GB (0.002 % of its rated endurance) to /mnt/probe on sda, including what"
        " the filesystem adds; takes about 7 min\ncontinue? [y/N] "
    )


def test_a_plan_above_the_daily_budget_names_what_is_left_of_it() -> None:
    plan = WritePlan("/mnt/probe on sda", 2 * GB, 8.0, left_bytes=GB)
    assert "(scheduled probes may write 1 GB more today); takes about 8 s" in plan.words()
    assert "rated endurance" not in plan.words(), "not known is not none"


def test_a_plan_that_only_reads_says_that_nothing_is_written() -> None:
    assert "writes nothing" in WritePlan("/mnt/probe on sda", 0, 8.0).words()


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yep\n", "\0\n"])
def test_anything_but_yes_is_no(answer: str) -> None:
    with pytest.raises(ConfigError, match="nothing was written"):
        asked(answer)


@pytest.mark.parametrize("answer", ["y\n", "Y\n", " yes \n"])
def test_yes_is_yes(answer: str) -> None:
    assert asked(answer)


def test_with_yes_the_plan_is_printed_without_a_question() -> None:
    says = io.StringIO()
    admission.ask_consent(PLAN, Streams(io.StringIO(), says), yes=True)
    assert "writes at most 2 GB" in says.getvalue()
    assert "continue?" not in says.getvalue()


def test_without_a_terminal_consent_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"this writes at most 2 GB .*; give --yes to consent"):
        admission.ask_consent(PLAN, Streams(io.StringIO("y\n"), io.StringIO()), yes=False)


def test_control_characters_in_a_directory_name_are_escaped() -> None:
    says = io.StringIO()
    plan = WritePlan("/mnt/\x1b[2J on sda", 1, 1.0)
    admission.ask_consent(plan, Streams(Terminal("y\n"), says), yes=False)
    assert "\x1b" not in says.getvalue()


def test_a_held_lock_is_an_error_after_a_timeout(tmp_path: Path) -> None:
    clock, said = FakeClock(), io.StringIO()
    with (tmp_path / "ssd-exporter-probe.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match=r"\(process \d+\) is probing on this host"):
            admission.wait_for_lock(
                HostLock((tmp_path,)),
                ProbePidFile(tmp_path),
                clock=clock,
                progress=Progress(said),
            )
    assert sum(clock.slept) == pytest.approx(60.0)
    assert 1 == said.getvalue().count("waiting for")


def test_a_lock_that_cannot_be_created_is_an_error_at_once(tmp_path: Path) -> None:
    none = tmp_path / "none"
    clock = FakeClock()
    with pytest.raises(ConfigError, match=r"cannot be created in .*none; run this as root"):
        admission.wait_for_lock(
            HostLock((none,)),
            ProbePidFile(none),
            clock=clock,
            progress=Progress(io.StringIO()),
        )
    assert [] == clock.slept
