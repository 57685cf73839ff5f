"""Tests a whole measurement on a real directory, with a fake fio."""

import contextlib
import fcntl
import io
import json
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from exporter import cli
from exporter.commands import bench, probe_command, steady_state_command
from exporter.commands.bench_matrix import Matrix
from exporter.config.profiles import MIB, PROFILES, Profile, Rw
from exporter.config.settings import Settings
from exporter.measurement import session
from exporter.measurement.admission import Streams
from exporter.measurement.session import Measurement, MeasurementOptions, MeasurementTools
from exporter.probe.host_lock import HostLock
from exporter.probe.probe_file import FilesystemFull
from exporter.programs.child import Finished
from exporter.runtime.errors import ConfigError, ReadError, SourceError
from tests.commands.measured import GATE, SMALL, Place
from tests.fakes import FakeClock
from tests.probe.probing import FakeFio, good

# The directory of a measurement must be on a drive.
pytestmark = pytest.mark.real

PROFILE = replace(PROFILES["page_read"], size_bytes=4 * MIB)


class ClosedFio(FakeFio):
    def close(self) -> None:
        # Like SystemFio, which is not stuck any more after `close`.
        self.is_stuck = False


class Person(io.StringIO):
    """A terminal whose user answers yes after calling `thinks`."""

    def __init__(self, thinks: Callable[[], None] = lambda: None) -> None:
        super().__init__("y\n")
        self._thinks = thinks

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # bytes in the stubs
        self._thinks()
        return super().readline(size)


class Host:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.clock = FakeClock()
        self.fio = ClosedFio(self.clock)

    @property
    def settings(self) -> Settings:
        argv = self.place.argv("probe")[4:]
        return cli.settings(cli.command_parser("probe").parse_args(argv))

    def edges(self, person: io.StringIO | None = None) -> MeasurementTools:
        return MeasurementTools(
            self.clock, lambda: self.fio, {}, Streams(person or io.StringIO(), io.StringIO())
        )

    def measuring(
        self, person: io.StringIO | None = None, *, anyway: bool = False
    ) -> contextlib.AbstractContextManager[Measurement]:
        options = MeasurementOptions(self.place.directory, yes=person is None, anyway=anyway)
        return session.measuring(self.settings, options, [PROFILE], self.edges(person))

    @property
    def is_locked(self) -> bool:
        with (self.place.lock / "ssd-exporter-probe.lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(Place(tmp_path, SMALL + GATE))


def test_a_stuck_fio_keeps_the_lock_and_the_file(host: Host) -> None:
    """Releasing our descriptor would release the lock that fio inherited."""
    lender = None
    with host.measuring() as measurement:
        file = measurement.prepare_file("file", 4 * MIB, fill=False)
        with measurement._lock.inheritable():  # as in `run_fio`
            lender = subprocess.Popen(["sleep", "60"], close_fds=False)
        host.fio.is_stuck = True
    try:
        assert host.is_locked
        assert file.exists()
    finally:
        lender.kill()
        lender.wait()


def test_at_the_end_the_lock_is_released_and_the_file_removed(host: Host) -> None:
    with host.measuring() as measurement:
        measurement.prepare_file("file", 4 * MIB, fill=True)
        assert host.is_locked
    assert not host.is_locked
    assert not host.place.directory.exists()


def test_the_lock_is_released_while_the_user_answers(host: Host) -> None:
    seen: list[bool] = []
    with host.measuring(Person(lambda: seen.append(host.is_locked))) as measurement:
        measurement.consent(4 * MIB, 1.0)
        assert host.is_locked
    assert [False] == seen


def test_a_lock_taken_while_the_user_answers_is_an_error(host: Host) -> None:
    other = HostLock((host.place.lock,))
    with (
        pytest.raises(ConfigError, match="is probing on this host"),
        host.measuring(Person(lambda: assert_acquired(other))) as measurement,
    ):
        measurement.consent(4 * MIB, 1.0)
    other.release()


def assert_acquired(lock: HostLock) -> None:
    assert lock.acquire()


@pytest.mark.parametrize(("thinks", "looks"), [(5.0, 1), (60.0, 2)])
def test_after_a_late_answer_the_gate_is_queried_again(
    host: Host, thinks: float, looks: int
) -> None:
    with host.measuring(Person(lambda: host.clock.advance(thinks))) as measurement:
        measurement.admit(PROFILE, 4 * MIB, 4 * MIB)
        measurement.consent(4 * MIB, 1.0)
    assert [2.0] * looks == host.clock.slept


@pytest.mark.parametrize(
    ("number", "left_by"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_at_the_question_exits_and_releases_the_lock(
    host: Host, number: signal.Signals, left_by: type[BaseException]
) -> None:
    before = signal.getsignal(number)
    person = Person(lambda: os.kill(os.getpid(), number))
    with pytest.raises(left_by), host.measuring(person) as measurement:
        measurement.consent(4 * MIB, 1.0)
    assert not host.is_locked
    assert before == signal.getsignal(number)


def test_filling_stops_on_a_nearly_full_filesystem_and_is_charged(
    host: Host,
) -> None:
    # The guard ends at half of the free bytes that the gate requires.
    host.place.config.write_text(SMALL + GATE.replace("free_bytes = 0", f"free_bytes = {10**17}"))
    with host.measuring() as measurement:
        with pytest.raises(ReadError, match=r"not filled; the filesystem is nearly full"):
            measurement.prepare_file("file", 256 * MIB, fill=True)
        # 0.25 s at 64 MiB/s, times two for the filesystem.
        assert 0 < measurement.charged_bytes <= 2 * 20 * MIB
    assert not host.place.directory.exists()


def test_nothing_is_charged_for_a_refused_directory(host: Host) -> None:
    host.place.directory.mkdir(0o755)
    with host.measuring() as measurement:
        with pytest.raises(ConfigError, match=r"open to other users.*; name a directory that"):
            measurement.prepare_file("file", 4 * MIB, fill=True)
        assert 0 == measurement.charged_bytes


def breaking_state(host: Host, after: int) -> Callable[[Sequence[Profile]], Finished]:
    """Returns an answer that makes the budget's file unwritable at the run number `after`."""
    runs = 0

    def answer(profiles: Sequence[Profile]) -> Finished:
        nonlocal runs
        runs += 1
        if runs == after:
            path = host.place.state / "probe-budget.json"
            path.unlink()
            path.mkdir()
        return good(profiles)

    return answer


def test_bench_reports_results_from_before_the_budget_became_unwritable(
    host: Host,
) -> None:
    host.fio.answer = breaking_state(host, after=2)
    matrix = Matrix((16384,), (1, 2, 4), (Rw.RANDREAD,), 4 * MIB, 1.0)
    out = io.StringIO()
    options = MeasurementOptions(host.place.directory, yes=True, as_json=True)
    assert 3 == bench.run(host.settings, options, matrix, host.edges(), out)
    data = json.loads(out.getvalue())["data"]
    assert "probe-budget.json" in data["problem"]


def test_steady_state_reports_rounds_from_before_the_budget_became_unwritable(host: Host) -> None:
    host.fio.answer = breaking_state(host, after=3)
    out = io.StringIO()
    wanted = steady_state_command.SteadyStateRequest(
        MeasurementOptions(host.place.directory, yes=True, as_json=True), "page_read", 6
    )
    assert 3 == steady_state_command.run(host.settings, wanted, host.edges(), out)
    (found,) = json.loads(out.getvalue())["data"]["series"]
    assert 2 == len(found["rounds"])


#: Twice as long as what the scheduled ones of `SMALL` read.
BURST = "[probe.profile.burst]\nsize_bytes = 16777216\n"


def burst(host: Host) -> int:
    host.place.config.write_text(BURST + SMALL + GATE)
    options = MeasurementOptions(host.place.directory, yes=True, as_json=True)
    return probe_command.run(host.settings, options, "burst", host.edges(), io.StringIO())


def test_after_an_interrupted_burst_the_file_is_shortened_too(host: Host) -> None:
    host.fio.seconds = 10.0
    host.fio.meanwhile = lambda: os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(SourceError, match="ended by SIGTERM"):
        burst(host)
    assert 8 * MIB == host.fio.files[0].stat().st_size


def test_a_file_in_use_by_a_stuck_fio_is_not_shortened(host: Host) -> None:
    def hang() -> None:
        host.fio.is_stuck = True

    host.fio.meanwhile = hang
    burst(host)
    assert 16 * MIB == host.fio.files[0].stat().st_size


def test_a_link_that_replaced_the_file_is_not_followed(host: Host) -> None:
    precious = host.place.path / "precious"
    precious.write_bytes(b"x" * (16 * MIB))

    def replace_it() -> None:
        host.fio.files[0].unlink()
        host.fio.files[0].symlink_to(precious)

    host.fio.meanwhile = replace_it
    assert 0 == burst(host)
    assert 16 * MIB == precious.stat().st_size


def test_after_rounds_of_a_burst_the_daemon_s_file_is_shortened_too(host: Host) -> None:
    host.place.config.write_text(
        f'[probe]\ndirectory = "{host.place.directory}"\n{BURST}{SMALL}{GATE}'
    )
    wanted = steady_state_command.SteadyStateRequest(
        MeasurementOptions(yes=True, as_json=True), "burst", 5
    )
    assert 0 == steady_state_command.run(host.settings, wanted, host.edges(), io.StringIO())
    assert 8 * MIB == host.fio.files[0].stat().st_size


def test_a_profile_that_does_not_extend_the_file_does_not_shorten_it(host: Host) -> None:
    host.place.config.write_text(SMALL.replace("8388608", "16777216", 1) + GATE)
    for name in ("fsync", "page_read"):
        options = MeasurementOptions(host.place.directory, yes=True, as_json=True)
        assert 0 == probe_command.run(host.settings, options, name, host.edges(), io.StringIO())
    assert 16 * MIB == host.fio.files[-1].stat().st_size


def test_a_failed_measurement_prints_one_line_and_returns_status_3() -> None:
    def run() -> int:
        raise FilesystemFull("/mnt/\x1b[2J: full")

    said = io.StringIO()
    assert 3 == session.status(run, said)
    assert "ssd-exporter: /mnt/\\x1b[2J: full\n" == said.getvalue()
