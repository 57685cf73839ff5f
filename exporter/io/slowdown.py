"""Determines why a drive became slower during a write: heat, a slow link, or a full write cache.

Pure: no files, no clock, no logs.
"""

from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.io.verdict import Verdict
from exporter.linux.links import LinkSpeed

#: A link is full if it carries at least this share of its line rate as data. Examples of full links
#: are 120 of 150 MB/s at SATA 1.5 Gb/s and 480 of 600 MB/s at 6 Gb/s. Frames, commands and pauses
#: take the rest.
_FULL_LINK_RATIO = 0.6


@dataclass(frozen=True, slots=True)
class SlowdownEvidence:
    """The last known temperature and link speed of a drive; None means unknown.

    over_temperature_seconds: the drive's lifetime count of seconds above its temperature limits.
    link_*: line rate in bytes of data, after the line encoding.
    """

    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    over_temperature_seconds: float | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None


def slowdown_evidence(link: LinkSpeed | None, health: DriveHealth | None) -> SlowdownEvidence:
    """Combines the link speed from the kernel with the health from the last SMART poll.

    link, health: None if unknown. The link speed from SMART may be an hour old, so it is used only
    if the kernel reports none.
    """
    health = health or DriveHealth()
    speed, max_speed = health.link_bytes_per_second, health.link_max_bytes_per_second
    if link is not None and link.speed_bytes_per_second is not None:
        speed, max_speed = link.speed_bytes_per_second, link.max_bytes_per_second or max_speed
    limit = health.temperature_warning_celsius
    # NVMe counts the time above the critical limit separately from the time above the warning one.
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
    """Returns why a drive became slower during a write, or None if unknown.

    Every argument that is None is unknown.

    bytes_per_second: the throughput since the slowdown. A link below its maximum speed is the cause
        only if it is full. A drive may always run on a slow link; when its write cache is full, its
        throughput falls far below the speed of the link.
    over_temperature_seconds: the increase of the drive's own count during the slowdown.
    is_sudden: the throughput fell in one step, as at the end of a write cache; not gradually.
    """
    if over_temperature_seconds is not None and over_temperature_seconds > 0:
        return Verdict.THERMAL
    if _reaches(temperature_celsius, warning_celsius):
        return Verdict.THERMAL
    if link_bytes_per_second is not None and link_max_bytes_per_second is not None:
        link_is_slow = link_bytes_per_second < link_max_bytes_per_second
        if link_is_slow and _reaches(bytes_per_second, _FULL_LINK_RATIO * link_bytes_per_second):
            return Verdict.LINK
    return Verdict.WRITE_CACHE if is_sudden else None


def _reaches(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value >= limit
