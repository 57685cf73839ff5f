"""``ssd-exporter slc [DIR]``: where a drive's write cache ends, and how fast it is beyond.

It writes until the end of the cache is certain, or all that it may; see `cache_cliff` for what is
judged. The result stays in the state directory, and the daemon shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from exporter.commands import slc_report
from exporter.commands.slc_measurement import LEAST_BYTES, MOST_BYTES, SlcProbe
from exporter.config import Settings
from exporter.errors import ConfigError
from exporter.measurement import figures, target
from exporter.measurement.session import (
    JUDGED_BAD,
    MEASURED,
    NOT_MEASURED,
    CommandContext,
    MeasurementTools,
    measuring,
)
from exporter.probe import profiles, slc_watch
from exporter.probe.cache_cliff import MIB, RECOVERY_IDLE_SECONDS, CliffResult
from exporter.probe.profiles import Profile
from exporter.probe.slc_results import MAX_IDLE_SECONDS, MAX_IDLE_TIMES
from exporter.probe.slc_watch import SLC_PROFILE

_STATUS = {
    CliffResult.CLIFF: JUDGED_BAD,
    CliffResult.RAMP: JUDGED_BAD,
    CliffResult.FLAT: MEASURED,
    CliffResult.BUDGET: MEASURED,
    CliffResult.ABORTED: NOT_MEASURED,
}


@dataclass(frozen=True, slots=True)
class SlcRequest(CommandContext):
    """What a person asked for.

    size: "16GiB", that may be written at most; None for the profile's. idle_seconds: how long the
    drive rests before each later write that looks how much of the cache is back; none without
    --recover.
    """

    size: str | None = None
    idle_seconds: Sequence[int] = ()


def run(settings: Settings, wanted: SlcRequest, edges: MeasurementTools, out: TextIO) -> int:
    """Probe, keep the result, and report; the exit status is 1 for a cliff or a ramp.

    Raises:
        ConfigError: it must not or cannot be done here.
        SourceError: it could not be measured.
    """
    wanted.check()
    profile = _profile(settings, wanted)
    state = target.state_directory(settings, edges.environment)
    with measuring(settings, wanted.options, [profile], edges) as measurement:
        probe = SlcProbe(measurement, settings, profile, state)
        found = probe.probed(
            wanted.idle_seconds,
            is_size_given=wanted.size is not None,
            anyway=wanted.options.anyway,
        )
    wanted.deliver(slc_report.report(found, slc_watch.RULES), out)
    return _STATUS[found.result.cliff.result]


def _profile(settings: Settings, wanted: SlcRequest) -> Profile:
    """The profile of the configuration, which may be its own, with what was asked for."""
    profile = profiles.configured(SLC_PROFILE, settings.probe.profile)
    if profile.is_rate_capped:
        raise ConfigError(
            f"probe.profile.{SLC_PROFILE} has a rate cap",
            "below its own speed a drive shows no cliff",
        )
    if not profile.writes or profile.number_ios is not None:
        raise ConfigError(
            f"probe.profile.{SLC_PROFILE} does not write its file from end to end",
            "leave rw and number_ios as they are",
        )
    if wanted.size is None:
        return profile
    return replace(profile, size_bytes=size_bytes(wanted.size) // MIB * MIB)


def size_bytes(text: str) -> int:
    """As `words.size_bytes`.

    Raises:
        ConfigError: it is no size, or none that can be written.
    """
    size = figures.size_bytes("--bytes", text, "8GiB or 8GB")
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise ConfigError(
            f"--bytes is {figures.size(size)}",
            f"it must be {figures.size(LEAST_BYTES)} to {figures.size(MOST_BYTES)}",
        )
    return size


def rests(idle: Sequence[int] | None, *, recover: bool) -> tuple[int, ...]:
    """The rests that were asked for, short ones first.

    Raises:
        ConfigError: they are too many, or too long.
    """
    if not recover and not idle:
        return ()
    asked = tuple(sorted(set(idle or RECOVERY_IDLE_SECONDS)))
    if len(asked) > MAX_IDLE_TIMES or not 1 <= asked[0] <= asked[-1] <= MAX_IDLE_SECONDS:
        raise ConfigError(
            f"--idle is {', '.join(map(str, asked))}",
            f"give at most {MAX_IDLE_TIMES} times of 1 to {MAX_IDLE_SECONDS} seconds",
        )
    return asked
