"""fio as a process: found, too old, ended, and dead when we are."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.clock import SystemClock
from exporter.probe.fio import SystemFio
from exporter.probe.profiles import MIB, PROFILES
from exporter.programs.child import End
from exporter.programs.command import SystemRunner
from tests.end_to_end.programs import need
from tests.fakes import FakeClock, FakeRunner

READ = replace(PROFILES["page_read"], size_bytes=8 * MIB)


def test_its_engines_are_asked_for_once_an_hour() -> None:
    runner = FakeRunner(
        {
            ("fio", "--version"): "fio-3.33\n",
            ("fio", "--enghelp"): "Available IO engines:\n\tpsync\n\tlibaio\n",
        }
    )
    clock = FakeClock()
    fio = SystemFio("fio", runner, clock)
    assert frozenset({"psync", "libaio"}) == fio.engines() == fio.engines()
    assert 2 == len(runner.ran)
    clock.advance(3600)
    fio.engines()
    assert 4 == len(runner.ran)


@pytest.mark.parametrize(
    ("said", "words"),
    [("fio-3.1\n", "older than 3.16"), ("hello", "older than"), (None, "not found")],
)
def test_one_that_cannot_be_used_is_said(said: str | None, words: str) -> None:
    runner = FakeRunner({} if said is None else {("fio", "--version"): said})
    fio = SystemFio("fio", runner, FakeClock())
    assert fio.engines() is None
    assert words in fio.problem


@pytest.fixture
def fio() -> SystemFio:
    need("fio", "setpriv")
    return SystemFio("fio", SystemRunner(), SystemClock())


@pytest.mark.real
def test_a_run_can_be_ended_at_once(fio: SystemFio, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1" * 8 * MIB)
    pid = fio.start([replace(READ, rate_iops=10)], file, 30.0)
    assert pid is not None
    assert fio.wait(0.5) is None
    begun = time.monotonic()
    fio.end()
    finished = fio.wait(10.0)
    assert finished is not None
    assert (End.TIMED_OUT, 128) == (finished.end, finished.status)
    assert time.monotonic() - begun < 2.0
    assert not Path(f"/proc/{pid}").exists()
    assert not fio.is_stuck


@pytest.mark.real
def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    fio = SystemFio(str(tmp_path / "fio"), SystemRunner(), SystemClock())
    fio._prefix = ()
    assert fio.start([READ], tmp_path / "file", 30.0) is None
    finished = fio.wait(5.0)
    assert finished is not None
    assert End.NOT_STARTED is finished.end
