"""Runs fio under guard, and computes the outcome of the run and the host's share of its latency."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from exporter.clock import Clock
from exporter.errors import ParseError
from exporter.io.interval import DiskInterval, disk_interval
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.probe import fio_report
from exporter.probe.fio import Fio
from exporter.probe.fio_report import JobResult, Op, ProbeRun, RunResult
from exporter.probe.gate import GateRules, GuardSample, Reason, guard
from exporter.probe.host_lock import HostLock
from exporter.probe.production_load import GuardReading, GuardSampler
from exporter.probe.profiles import Profile
from exporter.programs.child import End, Finished

#: Interval between two samples of the guard, in seconds. Short, so that a probe that disturbs
#: production ends at once.
SAMPLE_INTERVAL_SECONDS = 0.25

#: How long to wait for fio's end after `Fio.end`. SIGTERM, SIGKILL and abandoning take less.
_END_SECONDS = 10.0

#: Precision of the computed start and end of a job, in seconds.
_EDGE_SECONDS = 0.1
#: Minimum time between the first and the last reading within a job, in seconds. Shorter times are
#: too imprecise for the host's share.
_MIN_WINDOW_SECONDS = 0.5

#: The device's written bytes are charged only if the probe made at least this share of its
#: operations.
_MIN_OWN_RATIO = 0.5


class ProfileResult(str, Enum):
    """How a run ended: the labels of `ssd_probe_runs_total`."""

    SUCCESS = "success"
    FAILED = "failed"
    ABORTED = "aborted"  # by the guard, or because the exporter stops
    TIMEOUT = "timeout"
    STUCK = "stuck"  # fio cannot be ended and is abandoned


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run. Times are monotonic seconds.

    run: fio's parsed report; None without a readable one. readings: the device's counters during
    the run. reason: why the guard ended it; None if it did not. message: the error, empty without
    one.
    """

    result: ProfileResult
    run: ProbeRun | None
    started_at: float
    ended_at: float
    readings: tuple[GuardReading, ...] = ()
    reason: Reason | None = None
    message: str = ""

    def job(self, name: str) -> JobResult | None:
        """Returns the result of one profile; None if fio did not report it."""
        jobs = self.run.jobs if self.run else ()
        return next((job for job in jobs if job.name == name), None)

    def result_of(self, name: str) -> ProfileResult:
        """Returns how one profile ended; others of the same run may have failed."""
        job = self.job(name)
        if self.result is not ProfileResult.FAILED or job is None:
            return self.result
        return ProfileResult(job.result.value)

    @property
    def fio_bytes(self) -> int | None:
        """The bytes that fio reports as written; None if it was killed before it reported."""
        return self.run.written_bytes if self.run and self.run.jobs else None

    @property
    def device_bytes(self) -> int | None:
        """The bytes that the device wrote during the run; None if most operations were not ours."""
        disks = [reading.disk for reading in self.readings if reading.disk is not None]
        if len(disks) < 2 or self.run is None:
            return None
        interval = disk_interval(disks[0], disks[-1], max(self.ended_at - self.started_at, 1e-3))
        if interval is None:
            return None
        results = (result for job in self.run.jobs for result in job.ops.values())
        own = sum(result.operations or 0 for result in results)
        if own < _MIN_OWN_RATIO * (interval.reads + interval.writes):
            return None
        return (disks[-1].written_sectors - disks[0].written_sectors) * SECTOR_BYTES


@dataclass(frozen=True, slots=True)
class HostShareRules:
    """Limits for `host_share`. Ratios are 0 to 1.

    least_operations_ratio: minimum share of the device's operations that the probe made; below it
        the device's await is mostly that of others.
    host_limited_ratio: above this share outside the device, a run is not comparable to others.
    """

    least_operations_ratio: float = 0.5
    host_limited_ratio: float = 0.5


def run_fio(
    fio: Fio,
    profiles: Sequence[Profile],
    file: Path,
    *,
    lock: HostLock,
    started: Callable[[int], None],
    sampler: GuardSampler,
    avail: Callable[[], int | None],
    rules: GateRules,
    clock: Clock,
    is_stopping: Callable[[], bool],
) -> RunOutcome:
    """Run the profiles one after the other; end them when production needs the device.

    lock: the host lock, held by this process; fio inherits it. started: receives fio's pid. avail:
    returns the filesystem's free bytes, None if unknown. is_stopping: called with each sample; if
    it returns True, the run is ended.
    """
    samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples))
    started_at = clock.monotonic()
    samples.append(sampler.sample(avail()))
    reason: Reason | None = None
    is_ending = False
    finished: Finished | None = None
    with lock.inheritable():
        pid = fio.start(profiles, file, limit_seconds(profiles))
    try:
        if pid is not None:
            started(pid)
        while (finished := fio.wait(SAMPLE_INTERVAL_SECONDS)) is None:
            samples.append(sampler.sample(avail()))
            if not is_ending and (is_stopping() or (reason := guard(tuple(samples), rules))):
                is_ending = True
                fio.end()
    finally:
        if finished is None:
            # After an unexpected exception fio must not keep running unguarded.
            fio.end()
            fio.wait(_END_SECONDS)
    sampler.sample(avail())
    return _outcome(finished, started_at, clock.monotonic(), sampler, reason, is_ending=is_ending)


def limit_seconds(profiles: Sequence[Profile]) -> float:
    """Returns the timeout of a run: twice its runtime, plus 5 s for the start of fio."""
    return 2 * sum(profile.runtime_seconds for profile in profiles) + 5.0


def host_share_of_run(
    outcome: RunOutcome, profiles: Sequence[Profile], name: str, rules: HostShareRules
) -> float | None:
    """Returns the share, 0 to 1, of a profile's latency that arose outside the device.

    None is unknown; see `host_share`. name: the profile's. fio does not report when each job ran.
    The jobs run one after the other and the last ends with fio, so their times follow from their
    durations.
    """
    profile = next(profile for profile in profiles if profile.name == name)
    job = outcome.job(name)
    op = Op.WRITE if profile.writes else Op.READ
    if not profile.direct or job is None or not job.seconds or op not in job.ops:
        return None
    later = [outcome.job(following.name) for following in profiles[profiles.index(profile) + 1 :]]
    end = outcome.ended_at - sum((job.seconds or 0.0) for job in later if job is not None)
    begin = end - job.seconds
    inside = [
        reading
        for reading in outcome.readings
        if reading.disk is not None and begin + _EDGE_SECONDS <= reading.at <= end - _EDGE_SECONDS
    ]
    if not inside or inside[-1].at - inside[0].at < _MIN_WINDOW_SECONDS:
        return None
    first, last = inside[0], inside[-1]
    assert first.disk is not None
    assert last.disk is not None
    seconds = last.at - first.at
    interval = disk_interval(first.disk, last.disk, seconds)
    result = job.ops[op]
    latency = result.total_mean_seconds or result.mean_seconds
    if interval is None or latency is None or not result.operations:
        return None
    operations = round(result.operations * seconds / job.seconds)
    return host_share("write" if op is Op.WRITE else "read", operations, latency, interval, rules)


def host_share(
    op: Literal["read", "write"],
    operations: int,
    latency_seconds: float,
    device: DiskInterval,
    rules: HostShareRules,
) -> float | None:
    """Returns the share, 0 to 1, of the probe's mean latency that is not its device's await.

    If a device answers in 0.2 ms and the probe waits 4.2 ms, the device is not slow. The cause is a
    CPU that is busy with interrupts, or a queue before the driver. Such a run does not measure the
    drive.

    operations, latency_seconds: the probe's operations in one direction, and their mean latency
        from submission to completion.
    device: the device's interval during the probe.

    None if the probe made less than half of the device's operations, or if either side made none.
    For direct I/O only: writes to the page cache are not the device's. The kernel splits large
    requests, so the probe's share may appear too small.
    """
    if op == "read":
        completed, seconds = device.reads, device.read_seconds
    else:
        completed, seconds = device.writes, device.write_seconds
    everything = device.reads + device.writes
    if completed <= 0 or operations < rules.least_operations_ratio * everything:
        return None
    if not latency_seconds > 0:
        return None
    return min(max(1 - seconds / completed / latency_seconds, 0.0), 1.0)


def is_host_limited(share: float | None, rules: HostShareRules) -> bool:
    """Returns True if the host caused most of the latency; False if the share is unknown.

    Valid for queues that are not deeper than the device's: requests of a deeper queue wait in the
    host because of the device.
    """
    return share is not None and share > rules.host_limited_ratio


def _outcome(
    finished: Finished,
    started_at: float,
    ended: float,
    sampler: GuardSampler,
    reason: Reason | None,
    *,
    is_ending: bool,
) -> RunOutcome:
    readings = tuple(sampler.readings)
    message = finished.message
    try:
        run = fio_report.parse(finished.output, finished.status)
    except ParseError as e:
        run, message = None, message or str(e)
    errors = finished.errors.decode("utf-8", "replace").split()
    if finished.end is End.STUCK:
        result = ProfileResult.STUCK
    elif is_ending:
        result = ProfileResult.ABORTED
    elif finished.end is End.TIMED_OUT:
        result = ProfileResult.TIMEOUT
    elif finished.end is not End.EXITED or run is None:
        result = ProfileResult.FAILED
    else:
        result = ProfileResult(run.result.value)
        if run.result is not RunResult.SUCCESS:
            message = " ".join([message, run.message, *errors])[:500].strip()
    return RunOutcome(result, run, started_at, ended, readings, reason, message)
