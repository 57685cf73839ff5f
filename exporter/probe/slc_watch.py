"""Watches a long write of fio, and ends fio when the end of the drive's write cache is certain.

The end of the cache is a sudden and lasting decrease of the write speed (a cliff). To compute the
speed, the number of bytes that fio has written is read from /proc/<pid>/io ten times a second. If
this file cannot be read, the device's counter is used, which includes the writes of other
processes. fio's own log is not used, because it is complete only after fio has ended.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.config.profiles import Profile
from exporter.linux.diskstats import DiskStats
from exporter.probe import slc_results
from exporter.probe.cache_cliff import CliffRules, TraceSample, cache_cliff
from exporter.probe.cliff_detector import (
    CliffDetector,
    CliffDetectorRules,
    is_disturbed,
    without_cliff,
)
from exporter.probe.cliff_result import CacheCliff
from exporter.probe.fio import Fio
from exporter.probe.probe_directory import ProbeContext, ProbeDirectory
from exporter.probe.production_load import read_disk
from exporter.probe.slc_results import SlcResult
from exporter.probe.write_counters import WriteCounters
from exporter.programs.child import End, Finished
from exporter.runtime.clock import Clock

log = logging.getLogger(__name__)

#: The rules by which the measuring command and the daemon detect a cliff: after the write (RULES)
#: and during the write (WATCH_RULES).
RULES = CliffRules()
WATCH_RULES = CliffDetectorRules()

#: The profile whose writes are watched.
SLC_PROFILE = "slc"

#: Interval between two samples of the written bytes, in seconds.
_SAMPLE_SECONDS = 0.1

#: fio's exit status after it caught a signal. Its report covers the time until the signal.
_TERMINATED_STATUS = 128


@dataclass(frozen=True, slots=True)
class WatchedWrite:
    """A watched write that has ended.

    profile: the profile of the write.
    file: the written file.
    samples: the samples from the first written byte on.
    was_interrupted: True if the write failed, or was ended for another reason than its stop
        condition.
    is_device_total: True if the samples also count the writes of other processes to the device.
    problem: a message that says why there are no samples; empty if there are samples or if the
        reason is unknown.
    """

    profile: Profile
    file: Path
    samples: tuple[TraceSample, ...]
    was_interrupted: bool
    is_device_total: bool = False
    problem: str = ""


#: A function that receives each sample of a write, and returns True if the write may end.
StopCondition = Callable[[TraceSample], bool]


@dataclass(slots=True)
class WatchedFio:
    """Wraps a `Fio`, and watches the writes of the profile `slc`.

    When the stop condition of such a write returns True, fio is ended, and `wait` returns the run
    as successful. Other profiles run as without the wrapper.

    stop_condition: returns a new stop condition for a run of the profile on the file.
    on_end: receives each watched write after its end, before `wait` returns.
    device: returns the counters of the device of the file; None means unknown.
    proc: the mount point of procfs in which fio's process is found.
    """

    fio: Fio
    clock: Clock
    stop_condition: Callable[[Profile, Path], StopCondition]
    on_end: Callable[[WatchedWrite], None]
    device: Callable[[Path], DiskStats | None]
    proc: Path = Path("/proc")
    _run: "_WatchedRun | None" = None

    def engines(self) -> frozenset[str] | None:
        return self.fio.engines()

    @property
    def is_stuck(self) -> bool:
        return self.fio.is_stuck

    @property
    def problem(self) -> str:
        return self.fio.problem

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        pid = self.fio.start(profiles, file, limit_seconds)
        self._run = None
        last = profiles[-1] if profiles else None
        # With a number of operations, it is a minimal run on a busy host. Such a run is too short
        # for a cliff.
        is_whole = last is not None and last.name == SLC_PROFILE and last.number_ios is None
        if pid is not None and last is not None and is_whole:
            # The profiles run one after the other, and the earlier ones write at most this many
            # bytes.
            before = sum(profile.written_bytes_at_most for profile in profiles[:-1])
            counters = WriteCounters(self.proc / str(pid) / "io", lambda: self.device(file))
            self._run = _WatchedRun(
                last,
                file,
                counters=counters,
                before=before,
                may_stop=self.stop_condition(last, file),
                clock=self.clock,
            )
        return pid

    def wait(self, seconds: float) -> Finished | None:
        run = self._run
        if run is None:
            return self.fio.wait(seconds)
        until = self.clock.monotonic() + seconds
        while (left := until - self.clock.monotonic()) > 0:
            finished = self.fio.wait(min(left, _SAMPLE_SECONDS))
            if finished is not None:
                self._run = None
                finished = run.finished(finished)
                self.on_end(run.written(finished))
                return finished
            if run.sample():
                self.fio.end()
        return None

    def end(self) -> None:
        if self._run is not None:
            self._run.was_interrupted = True
        self.fio.end()

    def close(self) -> None:
        self.fio.close()


class _WatchedRun:
    """Collects the samples of one watched write.

    before: the bytes that earlier profiles of the same fio write; the samples start after them.
    may_stop: the stop condition.
    """

    def __init__(
        self,
        profile: Profile,
        file: Path,
        *,
        counters: WriteCounters,
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
        self._has_met_condition = False
        self.was_interrupted = False

    def sample(self) -> bool:
        """Adds a sample. Returns True if it is the first that meets the stop condition."""
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
        sample = TraceSample(now - then, float(count - before), self._counters.others_bytes())
        self._samples.append(sample)
        if self._has_met_condition or self.was_interrupted or not self._may_stop(sample):
            return False
        self._has_met_condition = True
        return True

    def finished(self, finished: Finished) -> Finished:
        """Returns how fio ended. It is a success if the stop condition was the cause.

        If fio was killed, its report is lost, and the exit status is that of the kill.
        """
        if not self._has_met_condition or finished.end is not End.TIMED_OUT:
            return finished
        status = 0 if finished.status == _TERMINATED_STATUS else finished.status
        return replace(finished, end=End.EXITED, status=status, message="")

    def written(self, finished: Finished) -> WatchedWrite:
        """Returns the samples of the write, and whether it was interrupted.

        finished: how fio ended.
        """
        good = finished.end is End.EXITED and finished.status == 0
        return WatchedWrite(
            self._profile,
            self._file,
            tuple(self._samples),
            was_interrupted=self.was_interrupted or not (good or self._has_met_condition),
            is_device_total=self._counters.is_device_total,
            problem="" if self._samples else self._counters.problem,
        )


def new_detector(profile: Profile) -> CliffDetector:
    """Returns a new detector of the end of the write cache, for one run of the profile."""
    return CliffDetector(WATCH_RULES, RULES, profile.written_bytes_at_most)


def judge_write(written: WatchedWrite, capacity_bytes: int | None) -> CacheCliff:
    """Returns what a write that has ended shows about the write cache.

    If the speed fell when other processes began to use the device, the result is `disturbed`.

    capacity_bytes: the drive's capacity; None means unknown.
    """
    cliff = cache_cliff(
        written.samples, RULES, capacity_bytes=capacity_bytes, was_aborted=written.was_interrupted
    )
    return without_cliff(cliff) if is_disturbed(written.samples, cliff, WATCH_RULES) else cliff


def save_result(directory: Path, result: SlcResult) -> SlcResult | None:
    """Saves a result if it must replace the earlier result of the drives; see `supersedes`.

    Returns None if the result was saved. Otherwise returns the earlier result, which was kept.

    directory: the state directory.

    Raises:
        OSError: the result cannot be written.
    """
    earlier = slc_results.read_result(directory, result.drives)
    if slc_results.supersedes(result, earlier):
        slc_results.save(directory, result)
        return None
    return earlier


@dataclass(slots=True)
class ScheduledSlc:
    """Watches the daemon's runs of the profile `slc` in all directories, and saves their results.

    Use it only on the probes' thread.

    state: the directory of the saved results.
    directories: the directories in which probes run.
    """

    state: Path
    directories: Sequence[ProbeDirectory]
    clock: Clock
    context: ProbeContext

    def watched(self, fio: Fio) -> Fio:
        """Returns a wrapper of fio that watches runs of `slc` and saves their results."""
        return WatchedFio(
            fio,
            self.clock,
            stop_condition=_until_cliff,
            on_end=self._save,
            device=self._device,
        )

    def _save(self, written: WatchedWrite) -> None:
        directory = self._directory_of(written.file)
        if directory is None or directory.location is None:
            return
        device, leaves = directory.location.device, directory.location.leaves
        if not written.samples:
            log.warning("no result for the write cache of %s: %s", device, written.problem)
            return
        cliff = judge_write(written, self._capacity_bytes(device))
        drives = tuple(map(self.context.identity, leaves or (device,)))
        try:
            save_result(self.state, SlcResult(drives, device, self.clock.wall(), cliff))
        except OSError as e:
            log.warning(
                "%s: the result of the write-cache probe cannot be saved: %s",
                self.state,
                e.strerror or e,
            )
        log.info("write cache of %s: %s", device, cliff.result.value)

    def _directory_of(self, file: Path) -> ProbeDirectory | None:
        return next((known for known in self.directories if known.path == file.parent), None)

    def _capacity_bytes(self, device: str) -> int | None:
        topology = self.context.topology()
        known = topology.devices.get(device) if topology else None
        return None if known is None else known.block.capacity_bytes

    def _device(self, file: Path) -> DiskStats | None:
        directory = self._directory_of(file)
        if directory is None or directory.location is None:
            return None
        return read_disk(self.context.proc, directory.location.device)


def _until_cliff(profile: Profile, _file: Path) -> StopCondition:
    detector = new_detector(profile)
    return lambda sample: detector.observe(sample) is not None
