"""Determines why a drive became slower during a write: heat, a slow link, or a full write cache.

This module uses no files, no clock and no logs.
"""

from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.io.verdict import Verdict
from exporter.linux.links import LinkSpeed

#: A link has no spare throughput if the data uses at least this share of its line rate. Frames,
#: commands and pauses take the rest. Examples of such links are SATA at 1.5 Gb/s with 120 of
#: 150 MB/s and SATA at 6 Gb/s with 480 of 600 MB/s.
_FULL_LINK_RATIO = 0.6

#: Many drives reduce their speed before they report a warning. From this many kelvin below the
#: warning on, heat may be the cause.
_WARM_KELVIN = 10.0


@dataclass(frozen=True, slots=True)
class SlowdownEvidence:
    """The last known temperature and link speed of a drive; None means unknown.

    temperature_celsius: the temperature of the drive.
    warning_celsius: the temperature at which the drive reports a warning.
    over_temperature_seconds: how long the drive was above its temperature limits in its whole life.
    link_bytes_per_second, link_max_bytes_per_second: the current and the maximum line rate, in
        bytes of data without the overhead of the line encoding.
    """

    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    over_temperature_seconds: float | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None


def slowdown_evidence(link: LinkSpeed | None, health: DriveHealth | None) -> SlowdownEvidence:
    """Returns the link speed from the kernel combined with the health from the last SMART poll.

    link: the link speed from the kernel; None means unknown. The link speed from SMART may be an
        hour old, so it is used only if the kernel reports none.
    health: the drive's health from SMART; None means unknown.
    """
    health = health or DriveHealth()
    speed, max_speed = health.link_bytes_per_second, health.link_max_bytes_per_second
    if link is not None and link.speed_bytes_per_second is not None:
        speed, max_speed = link.speed_bytes_per_second, link.max_bytes_per_second or max_speed
    limit = health.temperature_warning_celsius
    # NVMe counts the time above the critical limit and the time above the warning limit separately.
    counts = (health.over_temperature_warning_seconds, health.over_temperature_critical_seconds)
    known_counts = [seconds for seconds in counts if seconds is not None]
    return SlowdownEvidence(
        temperature_celsius=health.temperatures.get("drive"),
        warning_celsius=health.temperature_critical_celsius if limit is None else limit,
        over_temperature_seconds=sum(known_counts) if known_counts else None,
        link_bytes_per_second=speed,
        link_max_bytes_per_second=max_speed,
    )


def slowdown_verdict(
    *,
    bytes_per_second: float | None = None,
    temperature_celsius: float | None = None,
    warning_celsius: float | None = None,
    over_temperature_seconds: float | None = None,
    link_bytes_per_second: float | None = None,
    link_max_bytes_per_second: float | None = None,
    is_sudden: bool = True,
) -> Verdict | None:
    """Returns why a drive became slower during a write; None means unknown.

    An argument that is None means that the value is unknown. For the arguments that are not
    described here, see `SlowdownEvidence`.

    bytes_per_second: the throughput since the slowdown. A link below its maximum speed is the cause
        only if this throughput uses all of the link. A drive may run on a slow link all the time.
        When its write cache is full, its throughput falls far below the speed of the link.
    over_temperature_seconds: the increase, since the slowdown, of the drive's own count of seconds
        above its temperature limits.
    is_sudden: True if the throughput fell in one step, as at the end of a write cache; False if it
        fell gradually.
    """
    if over_temperature_seconds is not None and over_temperature_seconds > 0:
        return Verdict.THERMAL
    if _reaches(temperature_celsius, warning_celsius):
        return Verdict.THERMAL
    if link_bytes_per_second is not None and link_max_bytes_per_second is not None:
        link_is_slow = link_bytes_per_second < link_max_bytes_per_second
        if link_is_slow and _reaches(bytes_per_second, _FULL_LINK_RATIO * link_bytes_per_second):
            return Verdict.LINK
    warm = None if warning_celsius is None else warning_celsius - _WARM_KELVIN
    if _reaches(temperature_celsius, warm):
        return None if is_sudden else Verdict.THERMAL
    return Verdict.WRITE_CACHE if is_sudden else None


def _reaches(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value >= limit
