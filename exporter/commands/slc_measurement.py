"""Runs the write-cache measurement of `ssd-exporter slc`, from the gate to the saved result.

The gate is the check that decides whether a measurement may write now. The cliff is the drop in
speed when the cache is full. With --recover the command then waits and writes again, to measure how
much of the cache has recovered.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from exporter.commands.slc_report import CacheMeasurement, RecoveryStep
from exporter.config.drive_class import DriveClass
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.linux.diskstats import DiskStats
from exporter.measurement import figures, run_facts
from exporter.measurement.figures import span
from exporter.measurement.run_facts import MeasuredDrives
from exporter.measurement.session import Measurement
from exporter.probe import slc_watch
from exporter.probe.cache_cliff import MIB, TraceSample, recovered_bytes
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.fio_run import RunOutcome
from exporter.probe.production_load import read_disk
from exporter.probe.slc_results import SlcResult
from exporter.probe.slc_watch import StopCondition, WatchedFio, WatchedWrite
from exporter.runtime.errors import CommandError, ConfigError

#: Minimum and maximum size of a write, in bytes. A smaller write shows only noise. No write cache
#: is larger than the maximum.
MIN_BYTES, MAX_BYTES = 64 * MIB, 4 << 40

#: The share of the free space that is written by default.
_FREE_SPACE_RATIO = 0.1

#: The time limit of a write is long enough for this mean speed, in bytes per second. A slower write
#: is ended at the limit.
_MIN_BYTES_PER_SECOND = 50e6

#: The displayed speed is the mean of this many samples.
_SPEED_SAMPLES = 10

#: Interval between two checks for an interruption during the idle time, in seconds.
_IDLE_STEP_SECONDS = 0.25

#: Limit of the writes of other processes during an idle time. It is a share of what the drive could
#: write in that time without cache. Above the limit, the drive was not idle.
_MAX_IDLE_WRITE_RATIO = 0.05

#: If at least this share of a write was fast, the whole write counts as fast.
_COMPLETE_RATIO = 0.98

#: A function that writes the file of the profile until the condition stops it.
Write = Callable[[Profile, StopCondition], tuple[WatchedWrite, RunOutcome]]


class SlcProbe:
    """Measures the write cache of the drive below a directory. Call `measure` once.

    measurement: the result of `measuring`; its method `admit` was not called before.
    profile: fio's parameters. fio writes a whole file with them.
    state: the daemon's state directory, in which the result is saved.
    """

    def __init__(
        self, measurement: Measurement, settings: Settings, profile: Profile, state: Path
    ) -> None:
        self._measurement = measurement
        self._settings = settings
        self._profile = profile
        self._state = state
        self._below: MeasuredDrives = run_facts.measured_drives(measurement, settings)
        self._written: WatchedWrite | None = None
        self._notes: list[str] = []
        self._name = f"ssd-exporter-slc-{measurement.location.device.replace('/', '!')}"

    def measure(
        self, idle_seconds: Sequence[int], *, is_size_given: bool, anyway: bool
    ) -> CacheMeasurement:
        """Checks the load, asks the user, writes, finds the end of the cache, and saves the result.

        Returns the content of the report.

        idle_seconds: the idle time before each further write, in seconds; empty means no further
            writes.
        is_size_given: True if the user gave the size. Otherwise the size is at most a tenth of the
            free space.
        anyway: measure rotating disks and cloud or RAID volumes too. Their speed may drop for
            another reason than a full cache.

        Raises:
            ConfigError: load or the state of the drive does not permit the measurement, the drive
                needs `anyway`, too little space is free, or the user did not agree.
            SourceError: nothing was measured.
        """
        measurement = self._measurement
        self._warn(anyway=anyway)
        (profile,) = measurement.with_engine([self._sized(is_size_given=is_size_given)])
        runs = 1 + len(idle_seconds)
        size = runs * profile.written_bytes_at_most
        measurement.admit(profile, size, profile.size_bytes)
        measurement.consent(size, runs * profile.runtime_seconds + sum(idle_seconds))
        started_at = measurement.clock.monotonic()
        written, ended = self._write(profile)
        problem = measurement.problem(ended)
        if not written.samples:
            raise CommandError(problem or written.problem or "fio wrote nothing")
        cliff = slc_watch.judge_write(written, self._below.capacity_bytes)
        if problem and cliff.result is CliffResult.ABORTED:
            self._notes.append(f"{problem[:1].upper()}{problem[1:]}.")
        if note := time_limit_note(profile, cliff):
            self._notes.append(note)
        if written.is_device_total:
            self._notes.append("The bytes written include writes of other processes to the device.")
        result = SlcResult(
            self._below.identities, measurement.location.device, measurement.clock.wall(), cliff
        )
        earlier = self._save(result)
        steps = self._recovery(cliff, profile, idle_seconds)
        if steps:
            result = replace(result, recovered_bytes=recovered_by_idle_seconds(steps))
            earlier = self._save(result)
        version = ended.run.fio_version if ended.run else "unknown version"
        fio = f"{version}, {profile.engine.value}, queue depth {profile.depth}"
        return CacheMeasurement(
            measurement.location.device,
            tuple(run_facts.facts(measurement, self._below, started_at=started_at, fio=fio)),
            result,
            written.samples,
            steps,
            self._notes,
            earlier,
            run_facts.data(measurement),
        )

    def _recovery(
        self, cliff: CacheCliff, profile: Profile, idle_seconds: Sequence[int]
    ) -> list[RecoveryStep]:
        if not idle_seconds:
            return []
        if cliff.cache_bytes is None:
            self._notes.append("Recovery was not measured, because the write cache did not end.")
            return []
        size = max(MIN_BYTES, -(-cliff.cache_bytes // MIB) * MIB)
        steps, why = recovery_steps(
            self._measurement,
            cliff,
            replace(profile, size_bytes=min(size, profile.size_bytes)),
            idle_seconds,
            write=self._write,
            device_bytes=self._device_bytes,
        )
        if why:
            self._notes.append(f"The recovery was not measured completely: {why}.")
        return steps

    def _write(
        self, profile: Profile, may_stop: StopCondition | None = None
    ) -> tuple[WatchedWrite, RunOutcome]:
        """Writes the file from start to end. Returns the samples, and the result of fio.

        may_stop: ends the write when it returns True. None means that the write ends when the end
            of the cache is certain.
        """
        measurement = self._measurement
        detector = slc_watch.new_detector(profile)
        recent: deque[TraceSample] = deque(maxlen=_SPEED_SAMPLES)
        written = 0.0

        def observe(sample: TraceSample) -> bool:
            nonlocal written
            written += sample.written_bytes
            recent.append(sample)
            cliff = detector.observe(sample)
            return cliff is not None if may_stop is None else may_stop(sample)

        def show(_elapsed: float) -> None:
            seconds = sum(sample.seconds for sample in recent)
            if seconds:
                speed = sum(sample.written_bytes for sample in recent) / seconds
                slower = ", slower than at the start" if detector.is_alarmed else ""
                words = f"{figures.size(written)} written, {figures.speed(speed)} MB/s{slower}"
                measurement.show(words, written / profile.size_bytes)

        fio = WatchedFio(
            measurement.fio,
            measurement.clock,
            stop_condition=lambda _profile, _file: observe,
            on_end=self._finish,
            device=lambda _file: self._device(),
        )
        self._written = None
        file = measurement.prepare_file(self._name, profile.size_bytes, fill=False)
        ended = measurement.run([profile], file, show, fio)
        write = self._written or WatchedWrite(profile, file, (), was_interrupted=True)
        return write, ended

    def _finish(self, written: WatchedWrite) -> None:
        self._written = written

    def _device(self) -> DiskStats | None:
        return read_disk(self._settings.path.procfs, self._measurement.location.device)

    def _device_bytes(self) -> int | None:
        disk = self._device()
        return None if disk is None else disk.written_bytes

    def _save(self, result: SlcResult) -> SlcResult | None:
        try:
            return slc_watch.save_result(self._state, result)
        except OSError as e:
            self._notes.append(
                f"The result was not saved for the daemon: {self._state}: {e.strerror or e}."
            )
            return None

    def _sized(self, *, is_size_given: bool) -> Profile:
        """Returns the profile with a size that fits the free space, and a time limit for the size.

        Raises:
            ConfigError: too little space is free.
        """
        size = self._profile.size_bytes
        free = self._measurement.directory.avail_bytes()
        if not is_size_given and free is not None:
            size = min(size, int(free * _FREE_SPACE_RATIO) // MIB * MIB)
            if size < MIN_BYTES:
                raise ConfigError(
                    f"only {figures.size(free)} free: a tenth of it is too little to measure",
                    "free some space, or set the size with --bytes",
                )
        seconds = max(self._profile.runtime_seconds, size / _MIN_BYTES_PER_SECOND)
        return replace(self._profile, size_bytes=size, runtime_seconds=seconds)

    def _warn(self, *, anyway: bool) -> None:
        """Adds a note for each drive whose speed may drop although no write cache is full.

        These are rotating disks, and volumes whose provider may cache writes.

        Raises:
            ConfigError: there is such a drive, and `anyway` is False.
        """
        warnings = []
        for name, drive in self._below.drives.items():
            configured = self._settings.device.get(name)
            if configured is not None and configured.class_ not in (None, DriveClass.ROTATIONAL):
                continue
            if drive.kind is DriveClass.ROTATIONAL:
                device = self._below.topology.devices.get(name)
                is_virtual = device is not None and device.identity.transport == "virtio"
                warnings.append(
                    f"{name} is a virtual disk, whose host may cache writes"
                    if is_virtual
                    else f"{name} is a rotating disk according to the kernel"
                )
            elif drive.volume:
                warnings.append(f"{name} is a volume whose provider may cache writes")
        if warnings and not anyway:
            raise ConfigError(
                f"the filesystem of {self._measurement.directory.path} is on {name}:"
                f" {'; '.join(warnings)}: a drop in speed may have a cause other than an SSD's"
                " cache",
                f"add --anyway, or set device.{name}.class in the configuration",
            )
        self._notes += (
            f"{warning}: a drop in speed may have a cause other than an SSD's cache."
            for warning in warnings
        )


def time_limit_note(profile: Profile, cliff: CacheCliff) -> str:
    """Returns a note about a write that reached its time limit before its size; else empty."""
    written, size = cliff.written_bytes, profile.size_bytes
    if cliff.result is not CliffResult.BUDGET or written >= _COMPLETE_RATIO * size:
        return ""
    return (
        f"The time limit of {span(profile.runtime_seconds)} ended the write after"
        f" {figures.size(written)} of {figures.size(size)}. To finish earlier, write less with"
        " --bytes."
    )


def recovery_steps(
    measurement: Measurement,
    cliff: CacheCliff,
    profile: Profile,
    idle_seconds: Sequence[int],
    *,
    write: Write,
    device_bytes: Callable[[], int | None],
) -> tuple[list[RecoveryStep], str]:
    """Measures the recovery of the cache: waits for each idle time, and then writes.

    Returns one step per completed idle time, and a text that says why the others are missing. The
    text is empty if all steps are complete.

    cliff: the result of the first write, with the speeds before and after the end of the cache.
    profile: fio's parameters for a write of the size of the cache. The write stops early when it
        becomes slow.
    idle_seconds: the idle times, in seconds.
    write: runs one write.
    device_bytes: returns the bytes written to the device since boot; None means unknown.
    """
    steps: list[RecoveryStep] = []
    for number, seconds in enumerate(idle_seconds, 1):
        before = device_bytes()
        label = f"idle time {number} of {len(idle_seconds)}"
        if not _wait_idle(measurement, seconds, label):
            return steps, f"ended by {measurement.interruption.words}"
        after = device_bytes()
        others = None if before is None or after is None else after - before
        max_others = _MAX_IDLE_WRITE_RATIO * (cliff.sustained_bytes_per_second or 0.0) * seconds
        written, ended = write(profile, until_slow(cliff, profile))
        if problem := measurement.problem(ended):
            return steps, problem
        total = sum(sample.written_bytes for sample in written.samples)
        recovered = recovered_bytes(written.samples, cliff, slc_watch.RULES)
        steps.append(
            RecoveryStep(
                seconds,
                int(total),
                recovered,
                is_whole=recovered is not None and recovered >= _COMPLETE_RATIO * total,
                others_bytes=others if others is not None and others > max_others else None,
            )
        )
    return steps, ""


def recovered_by_idle_seconds(steps: Sequence[RecoveryStep]) -> dict[int, int]:
    """Returns the recovered bytes, keyed by the idle time in seconds.

    Steps without a result are left out. Steps during which the drive was not idle are left out too.
    """
    return {
        step.idle_seconds: step.recovered_bytes
        for step in steps
        if step.recovered_bytes is not None and step.others_bytes is None
    }


def until_slow(cliff: CacheCliff, profile: Profile) -> StopCondition:
    """Returns a condition that stops a further write when it has become slow.

    A write is slow when enough bytes were written at the slow speed to be certain that the cache is
    full again.

    cliff: the result of the first write, which has the fast and the slow speed.
    profile: fio's parameters of the further write.
    """
    rules = slc_watch.WATCH_RULES
    confirm_bytes = min(rules.confirm_bytes, rules.confirm_share * profile.written_bytes_at_most)
    samples: list[TraceSample] = []
    written = judged_at = 0.0

    def may_stop(sample: TraceSample) -> bool:
        nonlocal written, judged_at
        samples.append(sample)
        written += sample.written_bytes
        # `recovered_bytes` reads all samples, so it is not called for each sample.
        if written - judged_at < confirm_bytes / rules.pieces:
            return False
        judged_at = written
        recovered = recovered_bytes(samples, cliff, slc_watch.RULES)
        return recovered is not None and written - recovered >= confirm_bytes

    return may_stop


def _wait_idle(measurement: Measurement, seconds: float, label: str) -> bool:
    """Wait, and show the remaining time. Returns False if Ctrl-C or SIGTERM ended the wait."""
    clock = measurement.clock
    started_at = clock.monotonic()
    while (left := started_at + seconds - clock.monotonic()) > 0:
        if measurement.interruption.is_set:
            return False
        measurement.show(f"{label}: {span(left)} left", 1 - left / seconds)
        clock.sleep(min(_IDLE_STEP_SECONDS, left))
    return not measurement.interruption.is_set
