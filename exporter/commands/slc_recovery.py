"""How much of a write cache is back after a rest, and after a longer one."""

from collections.abc import Callable, Sequence

from exporter.commands.slc_report import RecoveryStep
from exporter.measurement.figures import span
from exporter.measurement.session import Measurement
from exporter.probe import slc_watch
from exporter.probe.cache_cliff import CacheCliff, recovered_bytes
from exporter.probe.fio_run import RunEnd
from exporter.probe.profiles import Profile
from exporter.probe.slc_watch import MayStop, WatchedWrite
from exporter.probe.write_trace import TraceSample

_STEP_SECONDS = 0.25

#: A drive that writes more than this of what it could does not rest.
_REST_RATIO = 0.05

#: A write so much as this of all was fast is not parted at its very end.
_WHOLE = 0.98

Write = Callable[[Profile, MayStop], tuple[WatchedWrite, RunEnd]]


def climbed(
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


def by_rest(rungs: Sequence[RecoveryStep]) -> dict[int, int]:
    """What is kept: of those that can be told, after the drive had rested."""
    return {
        rung.idle_seconds: rung.recovered_bytes
        for rung in rungs
        if rung.recovered_bytes is not None and rung.others_bytes is None
    }


def until_slow(cliff: CacheCliff, profile: Profile) -> MayStop:
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
