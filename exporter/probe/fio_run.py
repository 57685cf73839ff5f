"""Runs fio with the guard, and computes the outcome of the run and the host's share of its latency.

The guard ends fio when production needs the device. The host's share is the part of the latency
that arose outside the device, for example in a busy CPU.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import Profile
from exporter.io.interval import DiskInterval, disk_interval
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.probe import fio_report
from exporter.probe.fio import Fio
from exporter.probe.fio_report import JobResult, Op, ProbeRun, RunResult
from exporter.probe.gate import GuardSample, Reason, guard
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.production_load import GuardReading, GuardSampler
from exporter.programs.child import End, Finished
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ParseError

log = logging.getLogger(__name__)

#: Interval between two samples of the guard, in seconds. It is short, so that a probe that disturbs
#: production ends at once.
SAMPLE_INTERVAL_SECONDS = 0.25

#: How long to wait for fio's end after `Fio.end`, in seconds. Sending SIGTERM and then SIGKILL, and
#: abandoning fio if it does not end, take less.
_END_SECONDS = 10.0

#: Precision of the computed start and end of a job, in seconds. Readings that are closer to them
#: are not used.
_EDGE_SECONDS = 0.1
#: Minimum time between the first and the last reading within a job, in seconds. Shorter times are
#: too imprecise for the host's share.
_MIN_WINDOW_SECONDS = 0.5

#: The bytes that the device wrote are charged to the budget only if the probe made at least this
#: share of the device's operations.
_MIN_OWN_RATIO = 0.5


class ProfileResult(str, Enum):
    """How a run ended. The values are labels of the metric `ssd_probe_runs_total`."""

    SUCCESS = "success"
    FAILED = "failed"
    ABORTED = "aborted"  # by the guard, or because the exporter stops
    TIMEOUT = "timeout"
    STUCK = "stuck"  # fio cannot be ended and is abandoned


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended, and what was measured.

    result: how the run ended.
    run: fio's parsed report; None if there is no readable report.
    started_at, ended_at: the start and the end of the run, in monotonic seconds.
    readings: the device's counters during the run, oldest first.
    reason: why the guard (`gate.guard`) ended the run early, for example because production needs
        the device. None if the run ended in another way.
    message: the error; empty if there was none.
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
        """Returns how one profile ended.

        If the run failed, its profiles may have ended in different ways.
        """
        job = self.job(name)
        if self.result is not ProfileResult.FAILED or job is None:
            return self.result
        return ProfileResult(job.result.value)

    @property
    def fio_bytes(self) -> int | None:
        """The bytes that fio reports as written; None if it printed no report, as after a kill."""
        return self.run.written_bytes if self.run and self.run.jobs else None

    @property
    def device_bytes(self) -> int | None:
        """The bytes that the device wrote during the run; None means unknown.

        It is also None if the probe made less than half of the device's operations.
        """
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
    """The limits for the host's share of the latency. Ratios are 0 to 1.

    least_operations_ratio: minimum share of the device's operations that the probe must have made.
        With a smaller share, other processes determine the device's mean time per operation.
    host_limited_ratio: if the host's share is greater than this, the run is not compared with other
        runs, because it does not measure the drive.
    """

    least_operations_ratio: float = 0.5
    host_limited_ratio: float = 0.5


def run_fio(
    fio: Fio,
    profiles: Sequence[Profile],
    file: Path,
    *,
    lock: HostLock,
    pid_file: ProbePidFile,
    sampler: GuardSampler,
    avail: Callable[[], int | None],
    rules: GateRules,
    clock: Clock,
    is_stopping: Callable[[], bool],
) -> RunOutcome:
    """Runs the profiles one after the other in one fio. Returns how the run ended.

    The run is ended early when production needs the device, the drive is too hot, or the filesystem
    is nearly full.

    file: the file that fio reads and writes.
    lock: the host lock. This process must hold it, and fio inherits it.
    pid_file: the file in which fio's process ID is recorded while fio runs.
    sampler: samples the device while fio runs; use a new one for each run.
    avail: returns the filesystem's free bytes; None means unknown.
    rules: the limits above which the run is ended early.
    is_stopping: called after each sample; if it returns True, the run is ended.
    """
    samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples) + 1)
    started_at = clock.monotonic()
    samples.append(sampler.sample(avail()))
    reason: Reason | None = None
    is_ending = False
    finished: Finished | None = None
    with lock.inheritable():
        pid = fio.start(profiles, file, limit_seconds(profiles))
    try:
        if pid is not None:
            _record(pid_file, pid)
        while (finished := _wait(fio, sampler, None if is_ending else rules)) is None:
            samples.append(sampler.sample(avail()))
            if not is_ending and (is_stopping() or (reason := _reason(samples, sampler, rules))):
                is_ending = True
                fio.end()
    finally:
        if finished is None:
            # After an unexpected exception, fio must not continue without the guard.
            fio.end()
            fio.wait(_END_SECONDS)
        if not fio.is_stuck:
            pid_file.clear()
    sampler.sample(avail())
    return _outcome(finished, started_at, clock.monotonic(), sampler, reason, is_ending=is_ending)


def _record(pid_file: ProbePidFile, pid: int) -> None:
    try:
        pid_file.write(pid)
    except OSError as e:
        # The run continues without the record, because fio normally ends with this process. If it
        # does not, it keeps the host lock, so that no other probe starts.
        log.warning("the process of the probe cannot be recorded: %s", e.strerror or e)


def _reason(
    samples: Sequence[GuardSample], sampler: GuardSampler, rules: GateRules
) -> Reason | None:
    """Returns why the run must be ended; None means that it may continue."""
    reason = guard(tuple(samples), rules)
    return reason or (Reason.CGROUP_PRESSURE if sampler.servers_starve(rules) else None)


def _wait(fio: Fio, sampler: GuardSampler, rules: GateRules | None) -> Finished | None:
    """Waits until the next sample is due. Returns how fio ended, None if it still runs.

    rules: returns at once if a server starves; None if the run is already being ended.
    """
    for _ in range(sampler.readings_per_sample):
        finished = fio.wait(SAMPLE_INTERVAL_SECONDS / sampler.readings_per_sample)
        if finished is not None:
            return finished
        sampler.read_servers()
        if rules is not None and sampler.servers_starve(rules):
            break
    return None


def limit_seconds(profiles: Sequence[Profile]) -> float:
    """Returns the timeout of a run in seconds: twice its runtime, plus 5 s for the start of fio."""
    return 2 * sum(profile.runtime_seconds for profile in profiles) + 5.0


def host_share_of_run(
    outcome: RunOutcome, profiles: Sequence[Profile], name: str, rules: HostShareRules
) -> float | None:
    """Returns the share of a profile's mean latency that arose outside the device, 0 to 1.

    Returns None if it is unknown, for example because the run was short or the profile does not use
    direct I/O; see `host_share`.

    fio does not report the start of each job. The jobs run one after the other, and the last one
    ends with fio. So the start is computed from the end of fio and the durations of the jobs.

    outcome: the result of the whole run.
    profiles: all profiles of the run, in order.
    name: the name of the profile.
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
    """Returns the share of the probe's mean latency that arose outside the device, 0 to 1.

    It is 1 minus the device's mean time per operation divided by the probe's mean latency. If a
    device answers in 0.2 ms and the probe waits 4.2 ms, the device is not slow. The cause is a CPU
    that is busy with interrupts, or a queue before the driver. Such a run does not measure the
    drive.

    Returns None if the probe or the device made no such operations. None also if the probe made too
    small a share of the device's operations: less than half by default. The kernel splits large
    requests, so the computed share may be smaller than the real share.

    Use the function for direct I/O only: a write to the page cache is not a write to the device.

    op: the direction of the operations.
    operations: the number of the probe's operations in that direction.
    latency_seconds: their mean latency from submission to completion.
    device: the changes of the device's counters while the probe ran.
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

    The result is valid only if the probe's queue is at most as deep as the device's queue. Requests
    of a deeper queue wait in the host, although the device is the cause.

    share: the host's share of the latency, 0 to 1; None means unknown.
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
