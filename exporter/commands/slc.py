"""``ssd-exporter slc [DIR]``: measures a drive's write cache, and the speed after it is full.

Many SSDs use flash in the fast SLC mode as a write cache. When the cache is full, the write speed
drops in one step, which is called a cliff. A slow decrease is called a ramp; its usual cause is
heat. `cache_cliff` defines the criteria. The command writes until the end of the cache is certain,
or until the limit is reached. It saves the result in the state directory, and the daemon exports
the result.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from exporter.commands import slc_report
from exporter.commands.common import (
    add_directory,
    add_measurement_arguments,
    measurement_options,
    system_tools,
)
from exporter.commands.registry import Command
from exporter.commands.slc_measurement import MAX_BYTES, MIN_BYTES, SlcProbe
from exporter.config import profiles
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.measurement import figures, session, target
from exporter.measurement.session import (
    JUDGED_BAD,
    MEASURED,
    NOT_MEASURED,
    MeasurementOptions,
    MeasurementTools,
    measuring,
)
from exporter.probe import slc_watch
from exporter.probe.cache_cliff import MIB, RECOVERY_IDLE_SECONDS
from exporter.probe.cliff_result import CliffResult
from exporter.probe.slc_results import MAX_IDLE_SECONDS, MAX_IDLE_TIMES
from exporter.probe.slc_watch import SLC_PROFILE
from exporter.runtime.errors import ConfigError

#: The exit status for each result.
_STATUS = {
    CliffResult.CLIFF: JUDGED_BAD,
    CliffResult.RAMP: JUDGED_BAD,
    CliffResult.FLAT: MEASURED,
    CliffResult.BUDGET: MEASURED,
    CliffResult.ABORTED: NOT_MEASURED,
    CliffResult.DISTURBED: NOT_MEASURED,
}


@dataclass(frozen=True, slots=True)
class SlcRequest:
    """The arguments of the command.

    options: the arguments that all measuring commands share.
    size: the maximum to write, such as "16GiB". None means the size in the profile, but at most a
        tenth of the free space.
    idle_seconds: the idle times, in seconds. After each one, a further write measures how much of
        the cache has recovered. Empty means no further writes.
    """

    options: MeasurementOptions
    size: str | None = None
    idle_seconds: Sequence[int] = ()


def run(settings: Settings, request: SlcRequest, tools: MeasurementTools, out: TextIO) -> int:
    """Measures the cache, saves the result, and prints the report. Returns the exit status.

    The status is:

    - 1: the speed fell at the end of the cache (CLIFF), or declined slowly because of heat (RAMP).
    - 3: the write was interrupted before the speed fell, or other processes disturbed it.
    - 0: otherwise.

    Raises:
        ConfigError: the settings of the profile are unsuitable, or the measurement is refused.
        SourceError: nothing was measured.
    """
    request.options.check_report()
    profile = _profile(settings, request)
    state = target.state_directory(settings, tools.environment)
    with measuring(settings, request.options, [profile], tools) as measurement:
        probe = SlcProbe(measurement, settings, profile, state)
        measured = probe.measure(
            request.idle_seconds,
            is_size_given=request.size is not None,
            anyway=request.options.anyway,
        )
    request.options.deliver(slc_report.report(measured, slc_watch.RULES), out)
    return _STATUS[measured.result.cliff.result]


def _profile(settings: Settings, request: SlcRequest) -> Profile:
    """Returns fio's parameters: the configured or built-in profile, with the requested size.

    Raises:
        ConfigError: the profile does not write its file from end to end at full speed, or the size
            is invalid.
    """
    profile = profiles.configured(SLC_PROFILE, settings.probe.profile)
    if profile.is_rate_capped:
        raise ConfigError(
            f"probe.profile.{SLC_PROFILE} has a rate cap",
            "remove rate_iops: a drive shows no cliff below its full speed",
        )
    if not profile.writes or profile.number_ios is not None:
        raise ConfigError(
            f"probe.profile.{SLC_PROFILE} does not write its file from end to end",
            "remove rw and number_ios from the profile",
        )
    if request.size is None:
        return profile
    return replace(profile, size_bytes=size_bytes(request.size) // MIB * MIB)


def size_bytes(text: str) -> int:
    """Returns the value of --bytes in bytes; see `figures.size_bytes` for the format.

    Raises:
        ConfigError: the text is not a size, or the size is not `MIN_BYTES` to `MAX_BYTES`.
    """
    size = figures.size_bytes("--bytes", text, "8GiB or 8GB")
    if not MIN_BYTES <= size <= MAX_BYTES:
        raise ConfigError(
            f"--bytes is {figures.size(size)}",
            f"it must be {figures.size(MIN_BYTES)} to {figures.size(MAX_BYTES)}",
        )
    return size


def idle_times(idle: Sequence[int] | None, *, recover: bool) -> tuple[int, ...]:
    """Returns the requested idle times in seconds, ascending; empty without --recover and --idle.

    idle: the values of --idle; None or empty means no value.
    recover: True if --recover was given. Without --idle, it requests the default idle times.

    Raises:
        ConfigError: there are too many idle times, or one is out of bounds.
    """
    if not recover and not idle:
        return ()
    ascending = tuple(sorted(set(idle or RECOVERY_IDLE_SECONDS)))
    if (
        len(ascending) > MAX_IDLE_TIMES
        or not 1 <= ascending[0] <= ascending[-1] <= MAX_IDLE_SECONDS
    ):
        raise ConfigError(
            f"--idle is {', '.join(map(str, ascending))}",
            f"use at most {MAX_IDLE_TIMES} values from 1 to {MAX_IDLE_SECONDS} seconds",
        )
    return ascending


def _add_arguments(p: argparse.ArgumentParser) -> None:
    add_directory(p)
    p.add_argument(
        "--bytes",
        metavar="SIZE",
        help="maximum to write, such as 32GiB; 32GB is 32 * 10^9 bytes; default: 16 GiB or a tenth"
        " of the free space, whichever is less",
    )
    p.add_argument(
        "--recover",
        action="store_true",
        help="after a cliff, measure how much of the cache has recovered after 30 s, 2 min, 10 min"
        " and 1 h of idle time; each of these writes as much as the cache holds; takes at least"
        " 73 minutes",
    )
    p.add_argument(
        "--idle",
        action="append",
        type=int,
        metavar="SECONDS",
        help="like --recover, with this idle time instead; may be repeated",
    )
    add_measurement_arguments(p)


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    request = SlcRequest(
        measurement_options(arguments),
        arguments.bytes,
        idle_times(arguments.idle, recover=arguments.recover),
    )
    tools = system_tools(settings)
    return session.status(lambda: run(settings, request, tools, sys.stdout), sys.stderr)


COMMAND = Command(
    "Measure the drive's SLC write cache: write until the end of the cache is certain or the limit"
    " is reached, and analyse the speed. The daemon exports the result. Leave the drive idle"
    " before: after recent writes its cache appears smaller. Exit status 0: no cliff found, 1: the"
    " cache ended or the drive slowed down, 2: a wrong argument, or refused, 3: not measured.",
    _add_arguments,
    _run_command,
)
