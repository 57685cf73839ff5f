"""What every measurement shares: consent, the host's lock, the file, signals, health."""

import contextlib
import fcntl
import io
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import bench_matrix, slc
from exporter.config import ProbeSettings, Settings, StateSettings
from exporter.errors import ConfigError
from exporter.measurement import admission, figures, guarded_run, session, target
from exporter.measurement.admission import Streams, WritePlan
from exporter.measurement.interruption import InterruptHandler
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_file import FilesystemFull
from exporter.report.progress import Progress
from tests.fakes import FakeClock

GB = 10**9
PLAN = WritePlan("/mnt/probe on sda", 2 * GB, 400.0, rated_bytes=100e12, left_bytes=3 * GB)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def asked(answer: str) -> str:
    says = io.StringIO()
    admission.ask_consent(PLAN, Streams(Terminal(answer), says), yes=False)
    return says.getvalue()


def test_the_question_says_what_is_written_where_and_how_long() -> None:
    assert asked("y\n") == (
        "writes at most 2 GB (0.002 % of its rated endurance) to /mnt/probe on sda, including what"
        " the filesystem adds; takes at most 7 min\ncontinue? [y/N] "
    )


def test_more_than_the_day_has_left_is_said() -> None:
    plan = WritePlan("/mnt/probe on sda", 2 * GB, 8.0, left_bytes=GB)
    assert "(scheduled probes may write 1 GB more today); takes at most 8 s" in plan.words()
    assert "rated endurance" not in plan.words(), "not known is not none"


def test_who_only_reads_is_told_so() -> None:
    assert "writes nothing" in WritePlan("/mnt/probe on sda", 0, 8.0).words()


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yep\n", "\0\n"])
def test_anything_but_yes_is_no(answer: str) -> None:
    with pytest.raises(ConfigError, match="nothing was written"):
        asked(answer)


@pytest.mark.parametrize("answer", ["y\n", "Y\n", " yes \n"])
def test_yes_is_yes(answer: str) -> None:
    assert asked(answer)


def test_yes_beforehand_is_not_asked_again_and_still_told() -> None:
    says = io.StringIO()
    admission.ask_consent(PLAN, Streams(io.StringIO(), says), yes=True)
    assert "writes at most 2 GB" in says.getvalue()
    assert "continue?" not in says.getvalue()


def test_nobody_there_is_no() -> None:
    with pytest.raises(ConfigError, match=r"this writes at most 2 GB .*; give --yes to consent"):
        admission.ask_consent(PLAN, Streams(io.StringIO("y\n"), io.StringIO()), yes=False)


def test_a_directory_s_name_steers_no_terminal() -> None:
    says = io.StringIO()
    plan = WritePlan("/mnt/\x1b[2J on sda", 1, 1.0)
    admission.ask_consent(plan, Streams(Terminal("y\n"), says), yes=False)
    assert "\x1b" not in says.getvalue()


def test_the_lock_of_another_is_waited_for_and_then_said(tmp_path: Path) -> None:
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


def test_a_lock_that_can_be_made_nowhere_is_said_at_once(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_noted_once_and_the_handlers_are_as_before(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with InterruptHandler() as interruption:
        assert not interruption.is_set
        os.kill(os.getpid(), number)
        assert interruption.is_set
        assert number is interruption.by
    assert before == signal.getsignal(number)


def test_a_second_ctrl_c_leaves_at_once() -> None:
    with InterruptHandler() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert "Ctrl-C" == interruption.words


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with InterruptHandler() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interruption.is_set
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_in_the_directory_besides_stays(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir(0o700)
    (place / "others").touch()
    with guarded_run.remove_afterwards(place, "file"):
        guarded_run.prepare_length(place, "file", 4096)
    assert ["others"] == [each.name for each in place.iterdir()]


def test_a_directory_that_may_not_be_used_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    with pytest.raises(
        ConfigError, match=r"open to other users.*; name a directory that does not exist"
    ):
        guarded_run.prepare_length(tmp_path / "open", "file", 4096)


def settings(*directories: Path, state: Path | None = None) -> Settings:
    return Settings(probe=ProbeSettings(directory=directories), state=StateSettings(state))


def test_the_directory_is_what_was_asked_for_else_the_configured_one() -> None:
    here, there = Path("/mnt/here"), Path("/mnt/there")
    assert here == target.select_directory(here, settings(there))
    assert there == target.select_directory(None, settings(there))
    assert Path.cwd() / "new" == target.select_directory(Path("new"), settings())
    with pytest.raises(ConfigError, match="name one of them"):
        target.select_directory(None, settings(here, there))
    with pytest.raises(ConfigError, match="no directory given"):
        target.select_directory(None, settings())


@pytest.mark.parametrize("name", ["/mnt/a\nb", "/mnt/a\\b", "/mnt/\x1b[2J"])
def test_a_name_that_fio_cannot_be_told_is_a_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match="fio accepts no backslash"):
        target.select_directory(Path(name), settings())


def test_the_daemon_s_state_is_used_and_a_new_one_made_where_there_is_none(tmp_path: Path) -> None:
    assert tmp_path == target.state_directory(settings(state=tmp_path), {})
    environment = {"HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path / "new")}
    assert tmp_path / "new" == target.state_directory(settings(), environment)


def test_what_cannot_be_measured_is_one_line_and_status_3() -> None:
    def run() -> int:
        raise FilesystemFull("/mnt/\x1b[2J: full")

    said = io.StringIO()
    assert 3 == session.status(run, said)
    assert "ssd-exporter: /mnt/\\x1b[2J: full\n" == said.getvalue()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (5400, "1 h 30 min"), (7200, "2 h")],
)
def test_times_are_said_as_people_plan(seconds: float, expected: str) -> None:
    assert expected == figures.span(seconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1GB", 10**9), ("1GiB", 1 << 30), ("1G", 1 << 30), ("1000", 1000), ("16kb", 16_000)],
)
def test_a_size_is_the_same_for_every_command(text: str, expected: int) -> None:
    assert expected == figures.size_bytes("--size", text, "1G")
    if expected >= 1 << 26:
        assert expected == slc.size_bytes(text)
        assert expected == bench_matrix.matrix(size_text=text).size_bytes


@given(st.text(max_size=12) | st.from_regex(r"\A\d*\.?\d*\s?[kmgtKMGT]?i?[bB]?\Z"))
def test_any_text_is_a_size_or_a_mistake(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert figures.size_bytes("--size", text, "1G") >= 0


@pytest.mark.parametrize(
    ("count", "expected"),
    [(512, "512 B"), (16_384, "16 KiB"), (1 << 20, "1 MiB"), (1000, "1000 B")],
)
def test_block_sizes_are_said_as_fio_has_them(count: int, expected: str) -> None:
    assert expected == figures.blocks(count)
