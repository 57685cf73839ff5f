"""Tests the watched write of a write-cache probe, by the command and by the daemon."""

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.profiles import MIB, PROFILES, Profile
from exporter.linux.diskstats import SECTOR_BYTES, DiskStats
from exporter.probe import slc_results, slc_watch
from exporter.probe.cache_cliff import TraceSample
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.slc_watch import ScheduledSlc, WatchedFio, WatchedWrite, judge_write
from exporter.probe.write_counters import WriteCounters, written_bytes
from exporter.programs.child import End, Finished
from exporter.runtime.errors import ParseError
from tests.fakes import FakeClock
from tests.io.records import NEW
from tests.probe.probing import Rig

SLC = replace(PROFILES["slc"], size_bytes=1024 * MIB)
FILE = Path("/data/probe/file")
PID = 4711
IO = """rchar: 323934931
wchar: 323929600
syscr: 632687
syscw: 632675
read_bytes: 0
write_bytes: {}
cancelled_write_bytes: 0
"""


class WritingFio:
    """A fake fio that writes at `speed` (a function of the written bytes) and counts them."""

    def __init__(self, place: Path, clock: FakeClock, speed: Callable[[float], float]) -> None:
        self.clock = clock
        self.counter = place / str(PID) / "io"
        self.counter.parent.mkdir(parents=True)
        self.speed = speed
        self.written = 0.0
        self.most = float("inf")
        self.is_hidden = False
        self.ended = 0
        self.is_stuck = False
        self.problem = ""
        self.ends_with = Finished("fio", End.TIMED_OUT, 128, b"report", message="was ended")

    def engines(self) -> frozenset[str]:
        return frozenset({"libaio"})

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        self.most = sum(profile.written_bytes_at_most for profile in profiles)
        self._show()
        return PID

    def wait(self, seconds: float) -> Finished | None:
        if self.ended:
            return self.ends_with
        self.clock.advance(seconds)
        self.written = min(self.written + self.speed(self.written) * seconds, self.most)
        self._show()
        return Finished("fio", End.EXITED, 0, b"report") if self.written >= self.most else None

    def _show(self) -> None:
        if not self.is_hidden:
            self.counter.write_text(IO.format(int(self.written)))

    def end(self) -> None:
        self.ended += 1

    def close(self) -> None:
        self.end()


def disk(written_bytes: int, read_bytes: int = 0) -> DiskStats:
    """The counters of a device, which count sectors."""
    written, read = written_bytes // SECTOR_BYTES, read_bytes // SECTOR_BYTES
    return NEW._replace(written_sectors=written, read_sectors=read)


class Watching:
    """A watched fake fio, and the writes that were reported."""

    def __init__(self, place: Path, speed: Callable[[float], float] = lambda _: 200e6) -> None:
        self.clock = FakeClock()
        self.inner = WritingFio(place, self.clock, speed)
        self.over: list[WatchedWrite] = []
        #: What the device had written before; None where it does not say.
        self.before: int | None = None
        self.seen: list[TraceSample] = []
        self.may_stop: Callable[[TraceSample], bool] = lambda _: False
        self.fio = WatchedFio(
            self.inner,
            self.clock,
            stop_condition=lambda _profile, _file: self._observe,
            on_end=self.over.append,
            device=self._device,
            proc=place,
        )

    def _device(self, _file: Path) -> DiskStats | None:
        return None if self.before is None else disk(self.before + int(self.inner.written))

    def _observe(self, sample: TraceSample) -> bool:
        self.seen.append(sample)
        return self.may_stop(sample)

    def run(self, *profiles: Profile, meanwhile: Callable[[], None] = lambda: None) -> Finished:
        assert PID == self.fio.start(profiles or (SLC,), FILE, 1000.0)
        for _ in range(10_000):
            meanwhile()
            if finished := self.fio.wait(0.25):
                return finished
        raise AssertionError("it never ends")


def void(_result: object) -> None:
    """Does nothing; for lambdas that must return None."""


def test_a_write_is_sampled_while_it_runs(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    finished = watching.run()
    assert (End.EXITED, 0) == (finished.end, finished.status)
    (written,) = watching.over
    assert tuple(watching.seen) == written.samples
    assert not written.was_interrupted
    assert pytest.approx(SLC.size_bytes, rel=0.03) == sum(s.written_bytes for s in written.samples)
    assert all(pytest.approx(200e6) == s.written_bytes / s.seconds for s in written.samples)


def test_the_samples_exclude_the_time_before_the_first_byte(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.inner.speed = lambda _: 200e6 if watching.clock.monotonic() > 1003.0 else 0.0
    watching.run()
    (written,) = watching.over
    assert sum(sample.seconds for sample in written.samples) < 5.5


def test_when_the_stop_condition_is_met_fio_is_ended_as_a_success(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.may_stop = lambda _: sum(s.written_bytes for s in watching.seen) > 300e6
    finished = watching.run()
    assert 1 == watching.inner.ended
    assert Finished("fio", End.EXITED, 0, b"report") == finished
    assert not watching.over[0].was_interrupted


def test_a_write_that_the_guard_ends_was_interrupted(tmp_path: Path) -> None:
    watching = Watching(tmp_path)

    def end() -> None:
        if len(watching.seen) > 5:
            watching.fio.end()

    finished = watching.run(meanwhile=end)
    assert End.TIMED_OUT is finished.end
    assert watching.over[0].was_interrupted
    assert watching.over[0].samples


def test_a_fio_that_had_to_be_killed_is_not_a_success(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.may_stop = lambda _: True
    watching.inner.ends_with = Finished("fio", End.TIMED_OUT, -9, message="was killed")
    assert Finished("fio", End.EXITED, -9) == watching.run()
    assert not watching.over[0].was_interrupted, "what was seen counts all the same"


def test_a_fio_that_cannot_be_ended_is_stuck(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.may_stop = lambda _: True
    watching.inner.ends_with = Finished("fio", End.STUCK, message="hangs")
    assert watching.inner.ends_with == watching.run()


def test_the_bytes_of_earlier_profiles_are_not_counted(tmp_path: Path) -> None:
    before = replace(PROFILES["burst"], size_bytes=256 * MIB)
    watching = Watching(tmp_path, lambda done: 20e6 if done < before.size_bytes else 200e6)
    watching.run(before, SLC)
    (written,) = watching.over
    assert pytest.approx(SLC.size_bytes, rel=0.03) == sum(s.written_bytes for s in written.samples)
    assert all(s.written_bytes / s.seconds > 100e6 for s in written.samples[1:])


@pytest.mark.parametrize(
    "profiles",
    [(PROFILES["fsync"],), (SLC, PROFILES["burst"]), (SLC.minimal(),)],
    ids=["another", "not the last", "the smallest run of a busy host"],
)
def test_other_runs_are_not_watched(tmp_path: Path, profiles: Sequence[Profile]) -> None:
    watching = Watching(tmp_path)
    watching.run(*profiles)
    assert [] == watching.over
    assert [] == watching.seen


def test_the_device_is_counted_if_the_process_cannot_be_read(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.inner.is_hidden = True
    watching.before = 10**12
    watching.run()
    (written,) = watching.over
    assert written.is_device_total
    assert pytest.approx(SLC.size_bytes, rel=0.03) == sum(s.written_bytes for s in written.samples)


def test_without_samples_the_problem_is_described(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.inner.is_hidden = True
    watching.run(meanwhile=lambda: void(watching.inner.counter.write_text("rchar: 1\n")))
    (written,) = watching.over
    assert () == written.samples
    assert "has no write_bytes" in written.problem


def test_wait_reports_a_fio_that_did_not_start(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.inner.start = lambda *_: None  # type: ignore[method-assign]
    watching.inner.ended = 1
    assert watching.fio.start([SLC], FILE, 1.0) is None
    assert watching.inner.ends_with == watching.fio.wait(1.0)
    assert [] == watching.over


def test_the_end_of_a_cache_is_found_and_the_write_ends_there(tmp_path: Path) -> None:
    watching = Watching(tmp_path, lambda done: 300e6 if done < 500e6 else 60e6)
    watch = slc_watch.new_detector(SLC)
    watching.may_stop = lambda sample: watch.observe(sample) is not None
    watching.run()
    (written,) = watching.over
    cliff = slc_watch.judge_write(written, 10**12)
    assert CliffResult.CLIFF is cliff.result
    assert pytest.approx(500e6, rel=0.1) == cliff.cache_bytes
    assert pytest.approx(0.2, rel=0.1) == cliff.falloff_ratio
    assert cliff.written_bytes < 0.8 * SLC.size_bytes


def test_write_bytes_are_parsed() -> None:
    assert 323_932_160 == written_bytes(IO.format(323_932_160))


@given(st.text())
def test_any_text_is_a_count_or_a_parse_error(text: str) -> None:
    for each in (text, f"write_bytes: {text}"):
        with contextlib.suppress(ParseError):
            assert written_bytes(each) >= 0


SCHEDULED_SLC = replace(PROFILES["slc"], size_bytes=8192 * MIB)


def falling(done: float) -> float:
    """The speed of a drive with a cache of 2 GB."""
    return 500e6 if done < 2e9 else 100e6


class Scheduled(Rig):
    """A simulated host whose profiles include `slc`. Only the device counts what fio writes."""

    def __init__(self, place: Path, state: str = "state") -> None:
        super().__init__(place)
        self.directories[0].locate()
        self.slc = ScheduledSlc(
            place / state,
            self.directories,
            self.clock,
            self.context,
        )
        self.file = self.path / "file"

    def write(
        self, file: Path | None = None, end_after: float = float("inf"), *, is_counted: bool = True
    ) -> None:
        """Runs the profile; the guard ends it after these seconds."""
        fio = WritingFio(Path(tempfile.mkdtemp(dir=self.state)), self.clock, falling)
        fio.is_hidden = True
        watched = self.slc.watched(fio)
        watched.start([SCHEDULED_SLC], file or self.file, 1000.0)
        while watched.wait(0.25) is None:
            sectors = int(fio.written) // 512
            counters = f"259 0 nvme0n1 0 0 0 0 9 0 {sectors} 9 0 9 9\n"
            self.host.write("diskstats", counters if is_counted else "")
            end_after -= 0.25
            if end_after < 0:
                watched.end()


def test_a_cliff_is_saved_under_the_drive_s_identity(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    rig.write()
    (kept,) = slc_results.read_all(rig.state).value
    assert (("serial of nvme0n1",), "nvme0n1") == (kept.drives, kept.device)
    assert rig.clock.wall() == kept.at
    assert CliffResult.CLIFF is kept.cliff.result
    assert pytest.approx(2e9, rel=0.05) == kept.cliff.cache_bytes


def test_an_aborted_scheduled_run_keeps_the_earlier_result(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    rig.write()
    rig.write(end_after=2.0)
    (kept,) = slc_results.read_all(rig.state).value
    assert CliffResult.CLIFF is kept.cliff.result


def test_a_write_without_samples_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Scheduled(tmp_path)
    rig.write(is_counted=False)
    assert [] == slc_results.read_all(rig.state).value
    assert "no result for the write cache of nvme0n1: " in caplog.text


def test_without_a_state_directory_only_the_result_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Scheduled(tmp_path, "none").write()
    assert "cannot be saved" in caplog.text


def test_a_file_in_an_unknown_directory_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Scheduled(tmp_path)
    rig.write(tmp_path / "elsewhere/file")
    assert [] == slc_results.read_all(rig.state).value
    assert "" == caplog.text


def test_other_runs_of_the_daemon_are_not_changed(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    watched = rig.slc.watched(rig.fio)
    assert rig.fio.engines() == watched.engines()
    assert rig.fio.problem == watched.problem
    assert not watched.is_stuck
    watched.start([PROFILES["fsync"]], rig.file, 10.0)
    assert watched.wait(0.25) is not None
    watched.close()
    assert 1 == rig.fio.ended


def test_the_bytes_of_other_processes_are_those_of_the_device_without_those_of_fio(
    tmp_path: Path,
) -> None:
    written, read = [10240], [5120]
    counters = WriteCounters(tmp_path / "io", lambda: disk(written[0], read[0]))
    (tmp_path / "io").write_text("write_bytes: 0\n")
    assert (0, 0.0) == (counters.count(), counters.others_bytes())
    (tmp_path / "io").write_text("write_bytes: 4096\n")
    written[0] += 4096 + 1024
    read[0] += 512
    assert (4096, 1536.0) == (counters.count(), counters.others_bytes())
    assert (4096, 0.0) == (counters.count(), counters.others_bytes())


def test_the_bytes_of_other_processes_are_unknown_if_only_the_device_is_counted(
    tmp_path: Path,
) -> None:
    written = [1024]
    counters = WriteCounters(tmp_path / "io", lambda: disk(written[0]))
    for _ in range(3):
        counters.count()
        assert counters.others_bytes() == 0.0
        written[0] += 9216
    assert counters.is_device_total


def test_a_fall_at_which_other_processes_began_to_use_the_device_is_no_cliff(
    tmp_path: Path,
) -> None:
    def judged(others: float) -> CacheCliff:
        samples = [TraceSample(0.1, 100e6)] * 60 + [TraceSample(0.1, 30e6, others)] * 200
        write = WatchedWrite(SCHEDULED_SLC, tmp_path, tuple(samples), was_interrupted=False)
        return judge_write(write, None)

    assert CliffResult.CLIFF is judged(others=1e6).result
    disturbed = judged(others=40e6)
    assert (CliffResult.DISTURBED, None) == (disturbed.result, disturbed.cache_bytes)
    assert pytest.approx(6e9, rel=0.05) == disturbed.cache_min_bytes
