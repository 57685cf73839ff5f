"""A long write as it goes: fio under watch, ended as soon as the end of a write cache is certain.

What fio has written is asked of the kernel ten times a second; fio's own log tells it only when fio
has ended. Where the kernel does not say it of a process, or not to us, the device's own counter
does, which holds what others write too.

The probe of a write cache: what is judged of a long write, and what is kept of it.

The profile `slc` among the daemon's own: watched, judged and kept as the command's.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ParseError, SourceError
from exporter.linux import diskstats, files
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.linux.topology import Topology
from exporter.probe import slc_results
from exporter.probe.cache_cliff import CacheCliff, CliffRules, TraceSample, cache_cliff
from exporter.probe.cliff_detector import CliffDetector, CliffDetectorRules
from exporter.probe.fio import Fio
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.profiles import Profile
from exporter.probe.slc_results import SlcResult
from exporter.programs.child import End, Finished

#: The profile whose writes are watched.
SLC_PROFILE = "slc"

_LOOK_SECONDS = 0.1

#: fio's exit status after a signal that it has caught: it has said what it did till then.
_TERMINATED_STATUS = 128


@dataclass(frozen=True, slots=True)
class WatchedWrite:
    """A write that is over.

    samples: without the time before the first byte. file: that was written.
    was_interrupted: somebody else than the watch ended it, or it failed.
    is_device_total: what was counted is all that the device wrote. problem: why nothing was, for
    people.
    """

    profile: Profile
    file: Path
    samples: tuple[TraceSample, ...]
    was_interrupted: bool
    is_device_total: bool = False
    problem: str = ""


#: Takes a sample, and says whether enough was seen.
StopCondition = Callable[[TraceSample], bool]


class WatchedFio:
    """The same fio, which runs profiles as it does, but for a watched one.

    may_stop is told of each sample of a watched write, and says when it has seen enough. The run
    has then ended well, for who waits for it: fio is ended and what it says is taken.
    begin: makes a `may_stop` for a run of the profile on the file.
    over: is told of each watched write once it is over, before `wait` returns.
    device_bytes: what the device below the file has written since boot; None where that is not
    known.
    """

    def __init__(
        self,
        fio: Fio,
        clock: Clock,
        *,
        begin: Callable[[Profile, Path], StopCondition],
        over: Callable[[WatchedWrite], None],
        device_bytes: Callable[[Path], int | None],
        proc: Path = Path("/proc"),
    ) -> None:
        self._fio = fio
        self._clock = clock
        self._begin = begin
        self._over = over
        self._device_bytes = device_bytes
        self._proc = proc
        self._run: _WatchedRun | None = None

    def engines(self) -> frozenset[str] | None:
        return self._fio.engines()

    @property
    def is_stuck(self) -> bool:
        return self._fio.is_stuck

    @property
    def problem(self) -> str:
        return self._fio.problem

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        pid = self._fio.start(profiles, file, limit_seconds)
        self._run = None
        last = profiles[-1] if profiles else None
        # With a number of operations it is the smallest run of a busy host, and shows no cliff.
        is_whole = last is not None and last.name == SLC_PROFILE and last.number_ios is None
        if pid is not None and last is not None and is_whole:
            # They run one after the other, and all that they write is known before.
            before = sum(profile.written_bytes_at_most for profile in profiles[:-1])
            counters = _Counters(self._proc / str(pid) / "io", lambda: self._device_bytes(file))
            self._run = _WatchedRun(
                last,
                file,
                counters=counters,
                before=before,
                may_stop=self._begin(last, file),
                clock=self._clock,
            )
        return pid

    def wait(self, seconds: float) -> Finished | None:
        run = self._run
        if run is None:
            return self._fio.wait(seconds)
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0:
            finished = self._fio.wait(min(left, _LOOK_SECONDS))
            if finished is not None:
                self._run = None
                finished = run.finished(finished)
                self._over(run.written(finished))
                return finished
            if run.look():
                self._fio.end()
        return None

    def end(self) -> None:
        if self._run is not None:
            self._run.was_interrupted = True
        self._fio.end()

    def close(self) -> None:
        self._fio.close()


class _Counters:
    """What was written since it was made: by the process, else by the device."""

    def __init__(self, process: Path, device_bytes: Callable[[], int | None]) -> None:
        self._process = process
        self._device_bytes = device_bytes
        self._device_before = device_bytes()
        self._has_process = False
        self.is_device_total = False
        self.problem = ""

    def count(self) -> int | None:
        if not self.is_device_total:
            try:
                count = written_bytes(files.read(self._process))
            except SourceError as e:
                self.problem = f"what fio writes cannot be seen: {e}"
                # Gone, where it could be read before: not another count in the middle of a write.
                self.is_device_total = not self._has_process
            else:
                self._has_process = True
                return count
        now, before = self._device_bytes() if self.is_device_total else None, self._device_before
        return None if now is None or before is None else max(0, now - before)


class _WatchedRun:
    """One watched write, which begins once `before` bytes have been written."""

    def __init__(
        self,
        profile: Profile,
        file: Path,
        *,
        counters: _Counters,
        before: int,
        may_stop: StopCondition,
        clock: Clock,
    ) -> None:
        self._profile = profile
        self._file = file
        self._counters = counters
        self._before = before
        self._may_stop = may_stop
        self._clock = clock
        self._last = clock.monotonic(), before
        self._samples: list[TraceSample] = []
        self._has_seen_enough = False
        self.was_interrupted = False

    def look(self) -> bool:
        """Take a sample; True the first time that enough has been seen."""
        count, now = self._counters.count(), self._clock.monotonic()
        if count is None:
            return False
        if count <= self._before:
            self._last = now, self._before
            return False
        then, before = self._last
        if not now > then or count < before:
            return False
        self._last = now, count
        sample = TraceSample(now - then, float(count - before))
        self._samples.append(sample)
        if self._has_seen_enough or self.was_interrupted or not self._may_stop(sample):
            return False
        self._has_seen_enough = True
        return True

    def finished(self, finished: Finished) -> Finished:
        """How it ended, for who waits: well, where it was ended since it had done its work.

        Not so well where it had to be killed: what it would have said is lost.
        """
        if not self._has_seen_enough or finished.end is not End.TIMED_OUT:
            return finished
        status = 0 if finished.status == _TERMINATED_STATUS else finished.status
        return replace(finished, end=End.EXITED, status=status, message="")

    def written(self, finished: Finished) -> WatchedWrite:
        good = finished.end is End.EXITED and finished.status == 0
        return WatchedWrite(
            self._profile,
            self._file,
            tuple(self._samples),
            was_interrupted=self.was_interrupted or not (good or self._has_seen_enough),
            is_device_total=self._counters.is_device_total,
            problem="" if self._samples else self._counters.problem,
        )


def written_bytes(text: str) -> int:
    """What a process with all its threads has sent to block devices: /proc/<pid>/io, proc(5).

    Raises:
        ParseError: it does not say.
    """
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "write_bytes":
            try:
                return files.parse_counter(value)
            except ValueError as e:
                raise ParseError(f"/proc/<pid>/io: write_bytes: {e}") from e
    raise ParseError("/proc/<pid>/io: it has no write_bytes")


RULES = CliffRules()
WATCH_RULES = CliffDetectorRules()


def new_detector(profile: Profile) -> CliffDetector:
    """Says when a write may end: the end of a cache is certain, and more would only wear it."""
    return CliffDetector(WATCH_RULES, RULES, profile.written_bytes_at_most)


def judge_write(written: WatchedWrite, capacity_bytes: int | None) -> CacheCliff:
    """What a write that is over shows of a drive of that size."""
    return cache_cliff(
        written.samples, RULES, capacity_bytes=capacity_bytes, was_aborted=written.was_interrupted
    )


def save_result(directory: Path, result: SlcResult) -> SlcResult | None:
    """Write a result down; or, where an earlier one says more and stands, that one.

    Raises:
        OSError: it cannot be written.
    """
    earlier = slc_results.read_result(directory, result.drives)
    if slc_results.supersedes(result, earlier):
        slc_results.save(directory, result)
        return None
    return earlier


log = logging.getLogger(__name__)


class ScheduledSlc:
    """Of all directories; on the probes' thread.

    state: where results are kept. identity: under which a drive is known over its names.
    """

    def __init__(
        self,
        state: Path,
        directories: Sequence[ProbeDirectory],
        *,
        clock: Clock,
        proc: Path,
        topology: Callable[[], Topology | None],
        identity: Callable[[str], str],
    ) -> None:
        self._state = state
        self._directories = directories
        self._clock = clock
        self._proc = proc
        self._topology = topology
        self._identity = identity

    def watched(self, fio: Fio) -> Fio:
        """The same fio, whose runs of the profile are watched and kept."""
        return WatchedFio(
            fio,
            self._clock,
            begin=_until_cliff,
            over=self._keep,
            device_bytes=self._device_bytes,
        )

    def _keep(self, written: WatchedWrite) -> None:
        its = self._of(written.file)
        if its is None or its.location is None:
            return
        device, leaves = its.location.device, its.location.leaves
        if not written.samples:
            log.warning("the write cache of %s is not judged: %s", device, written.problem)
            return
        cliff = judge_write(written, self._capacity_bytes(device))
        drives = tuple(map(self._identity, leaves or (device,)))
        try:
            save_result(self._state, SlcResult(drives, device, self._clock.wall(), cliff))
        except OSError as e:
            log.warning("%s: the result is not kept: %s", self._state, e.strerror or e)
        log.info("the write cache of %s: %s", device, cliff.result.value)

    def _of(self, file: Path) -> ProbeDirectory | None:
        return next((each for each in self._directories if each.path == file.parent), None)

    def _capacity_bytes(self, device: str) -> int | None:
        topology = self._topology()
        known = topology.devices.get(device) if topology else None
        return None if known is None else known.block.capacity_bytes

    def _device_bytes(self, file: Path) -> int | None:
        its = self._of(file)
        if its is None or its.location is None:
            return None
        try:
            lines = diskstats.read(self._proc).value
        except SourceError:
            return None
        disk = diskstats.records_by_device(lines.values()).get(its.location.device)
        return None if disk is None else disk.written_sectors * SECTOR_BYTES


def _until_cliff(profile: Profile, _file: Path) -> StopCondition:
    detector = new_detector(profile)
    return lambda sample: detector.observe(sample) is not None
