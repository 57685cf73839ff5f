"""One probe of a write cache that a person asked for, from the gate to what is kept of it.

How much of a write cache is back after a rest, and after a longer one.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from exporter.commands.slc_report import CacheMeasurement, RecoveryStep
from exporter.config import Settings
from exporter.errors import CommandError, ConfigError
from exporter.io.drive_class import DriveClass
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.measurement import figures, run_facts, target
from exporter.measurement.figures import span
from exporter.measurement.run_facts import MeasuredDrives
from exporter.measurement.session import Measurement
from exporter.probe import slc_watch
from exporter.probe.cache_cliff import MIB, CacheCliff, CliffResult, TraceSample, recovered_bytes
from exporter.probe.fio_run import RunOutcome
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile
from exporter.probe.slc_results import SlcResult
from exporter.probe.slc_watch import StopCondition, WatchedFio, WatchedWrite

#: What a write of less shows is noise.
MIN_BYTES, MAX_BYTES = 64 * MIB, 4 << 40

#: Of what is free, where nobody says how much may be written.
_FREE_SHARE = 0.1

#: A write is waited for until it would be slower than this.
_MIN_BYTES_PER_SECOND = 50e6

#: Speed is shown over so many samples.
_RECENT = 10


class SlcProbe:
    """One directory; `probed` once. state: the directory of the daemon's state."""

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
        """Admitted, agreed to, written, judged and kept.

        idle_seconds: the rests before each later write. is_size_given: the profile's size is what
        a person said. anyway: also on what is no SSD by the kernel's word.

        Raises:
            ConfigError: it must not be, should not be now, or nobody agreed.
            SourceError: nothing could be measured.
        """
        its = self._measurement
        self._warn(anyway=anyway)
        (profile,) = its.with_engine([self._sized(is_size_given=is_size_given)])
        runs = 1 + len(idle_seconds)
        size = runs * profile.written_bytes_at_most
        its.admit(profile, size, profile.size_bytes)
        its.consent(size, runs * profile.runtime_seconds + sum(idle_seconds))
        begun = its.clock.monotonic()
        written, ended = self._write(profile)
        problem = its.problem(ended)
        if not written.samples:
            raise CommandError(problem or written.problem or "fio wrote nothing that was seen")
        cliff = slc_watch.judge_write(written, self._below.capacity_bytes)
        if problem and cliff.result is CliffResult.ABORTED:
            self._notes.append(f"{problem[:1].upper()}{problem[1:]}.")
        if written.is_device_total:
            self._notes.append("Counted is all that the device wrote, others' writes included.")
        result = SlcResult(self._below.identities, its.location.device, its.clock.wall(), cliff)
        earlier = self._keep(result)
        rungs = self._recovery(cliff, profile, idle_seconds)
        if rungs:
            result = replace(result, recovered_bytes=recovered_by_idle_seconds(rungs))
            earlier = self._keep(result)
        seconds = its.clock.monotonic() - begun
        version = ended.run.fio_version if ended.run else "of unknown version"
        fio = f"{version}, {profile.engine.value}, depth {profile.depth}"
        return CacheMeasurement(
            its.location.device,
            tuple(run_facts.facts(its, self._below, seconds=seconds, fio=fio)),
            result,
            written.samples,
            rungs,
            self._notes,
            earlier,
            run_facts.data(its),
        )

    def _recovery(
        self, cliff: CacheCliff, profile: Profile, idle_seconds: Sequence[int]
    ) -> list[RecoveryStep]:
        if not idle_seconds:
            return []
        if cliff.cache_bytes is None:
            self._notes.append("No cache has ended that could recover: no rest was waited for.")
            return []
        size = max(MIN_BYTES, -(-cliff.cache_bytes // MIB) * MIB)
        rungs, why = recovery_steps(
            self._measurement,
            cliff,
            replace(profile, size_bytes=min(size, profile.size_bytes)),
            idle_seconds,
            write=self._write,
            device_bytes=self._device_bytes,
        )
        if why:
            self._notes.append(f"The recovery was not measured to its end: {why}.")
        return rungs

    def _write(
        self, profile: Profile, may_stop: StopCondition | None = None
    ) -> tuple[WatchedWrite, RunOutcome]:
        """One write of the file from end to end; `may_stop` in the place of what finds a cliff."""
        its = self._measurement
        watch = slc_watch.new_detector(profile)
        recent: deque[TraceSample] = deque(maxlen=_RECENT)
        written = 0.0

        def observe(sample: TraceSample) -> bool:
            nonlocal written
            written += sample.written_bytes
            recent.append(sample)
            found = watch.observe(sample)
            return found is not None if may_stop is None else may_stop(sample)

        def show(_looks: GuardSampler) -> bool:
            seconds = sum(sample.seconds for sample in recent)
            if seconds:
                speed = sum(sample.written_bytes for sample in recent) / seconds
                slower = ", slower than at first" if watch.is_alarmed else ""
                said = f"{figures.size(written)} written, {figures.speed(speed)} MB/s{slower}"
                its.show(said, min(written / profile.size_bytes, 1.0))
            return True

        fio = WatchedFio(
            its.fio,
            its.clock,
            begin=lambda _profile, _file: observe,
            over=self._over,
            device_bytes=self._device_bytes,
        )
        self._written = None
        file = its.prepare_file(self._name, profile.size_bytes, fill=False)
        ended = its.run([profile], file, show, fio)
        found = self._written or WatchedWrite(profile, file, (), was_interrupted=True)
        return found, ended

    def _over(self, written: WatchedWrite) -> None:
        self._written = written

    def _device_bytes(self, _file: Path | None = None) -> int | None:
        disk = target.read_disk(self._settings.path.procfs, self._measurement.location.device)
        return None if disk is None else disk.written_sectors * SECTOR_BYTES

    def _keep(self, result: SlcResult) -> SlcResult | None:
        try:
            return slc_watch.save_result(self._state, result)
        except OSError as e:
            self._notes.append(f"The daemon will not show it: {self._state}: {e.strerror or e}.")
            return None

    def _sized(self, *, is_size_given: bool) -> Profile:
        """The profile with as much as may be written here."""
        size = self._profile.size_bytes
        free = self._measurement.directory.avail_bytes()
        if not is_size_given and free is not None:
            size = min(size, int(free * _FREE_SHARE) // MIB * MIB)
            if size < MIN_BYTES:
                raise ConfigError(
                    f"{figures.size(free)} are free, of which a tenth would be written",
                    "make room, or say how much may be written with --bytes",
                )
        seconds = max(self._profile.runtime_seconds, size / _MIN_BYTES_PER_SECOND)
        return replace(self._profile, size_bytes=size, runtime_seconds=seconds)

    def _warn(self, *, anyway: bool) -> None:
        """Note what else than a cache makes such a curve here.

        Raises:
            ConfigError: nobody said that it is to be probed anyway.
        """
        found = []
        for name, drive in self._below.drives.items():
            configured = self._settings.device.get(name)
            if configured is not None and configured.class_ not in (None, DriveClass.ROTATIONAL):
                continue
            if drive.kind is DriveClass.ROTATIONAL:
                found.append(f"{name} is a rotating disk, by the kernel's word")
            elif drive.volume:
                found.append(f"{name} is a volume, and whoever provides it may cache writes too")
        if found and not anyway:
            raise ConfigError(
                f"{'; '.join(found)}: what falls there need not be an SSD's cache",
                f"add --anyway, or say in the configuration what it is: device.{name}.class",
            )
        self._notes += (f"{each}: what falls there need not be an SSD's cache." for each in found)


_STEP_SECONDS = 0.25

#: A drive that writes more than this of what it could does not rest.
_REST_RATIO = 0.05

#: A write so much as this of all was fast is not parted at its very end.
_WHOLE = 0.98

Write = Callable[[Profile, StopCondition], tuple[WatchedWrite, RunOutcome]]


def recovery_steps(
    measurement: Measurement,
    cliff: CacheCliff,
    profile: Profile,
    idle_seconds: Sequence[int],
    *,
    write: Write,
    device_bytes: Callable[[], int | None],
) -> tuple[list[RecoveryStep], str]:
    """A rest and a write after it, for each of the rests; and why there are no more of them.

    cliff: what the write before the first rest has shown. profile: writes as much as the cache
    took, and is ended once it has become slow.
    """
    rungs: list[RecoveryStep] = []
    for number, seconds in enumerate(idle_seconds, 1):
        before = device_bytes()
        which = f"rest {number} of {len(idle_seconds)}"
        if not _rested(measurement, seconds, which):
            return rungs, f"ended by {measurement.interruption.words}"
        now = device_bytes()
        others = None if before is None or now is None else now - before
        most = _REST_RATIO * (cliff.sustained_bytes_per_second or 0.0) * seconds
        written, ended = write(profile, until_slow(cliff, profile))
        if problem := measurement.problem(ended):
            return rungs, problem
        total = sum(sample.written_bytes for sample in written.samples)
        back = recovered_bytes(written.samples, cliff, slc_watch.RULES)
        rungs.append(
            RecoveryStep(
                seconds,
                int(total),
                back,
                is_whole=back is not None and back >= _WHOLE * total,
                others_bytes=others if others is not None and others > most else None,
            )
        )
    return rungs, ""


def recovered_by_idle_seconds(rungs: Sequence[RecoveryStep]) -> dict[int, int]:
    """What is kept: of those that can be told, after the drive had rested."""
    return {
        rung.idle_seconds: rung.recovered_bytes
        for rung in rungs
        if rung.recovered_bytes is not None and rung.others_bytes is None
    }


def until_slow(cliff: CacheCliff, profile: Profile) -> StopCondition:
    """Ends a later write once it has been slow for as much as the first was watched beyond."""
    rules = slc_watch.WATCH_RULES
    enough = min(rules.confirm_bytes, rules.confirm_share * profile.written_bytes_at_most)
    samples: list[TraceSample] = []
    written = looked_at = 0.0

    def may_stop(sample: TraceSample) -> bool:
        nonlocal written, looked_at
        samples.append(sample)
        written += sample.written_bytes
        # The whole is judged at each look: not at every sample.
        if written - looked_at < enough / rules.pieces:
            return False
        looked_at = written
        back = recovered_bytes(samples, cliff, slc_watch.RULES)
        return back is not None and written - back >= enough

    return may_stop


def _rested(measurement: Measurement, seconds: float, which: str) -> bool:
    """Whether the time went by without anybody ending it."""
    clock = measurement.clock
    begun = clock.monotonic()
    while (left := begun + seconds - clock.monotonic()) > 0:
        if measurement.interruption.is_set:
            return False
        measurement.show(f"{which}: the drive rests for {span(left)} more", 1 - left / seconds)
        clock.sleep(min(_STEP_SECONDS, left))
    return not measurement.interruption.is_set
