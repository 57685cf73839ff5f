"""What made a drive slower in the middle of a write: heat, its link, or its write cache?

What may slow a drive down besides its own write cache: heat and its link.
"""

from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.io.verdict import Verdict
from exporter.linux.links import LinkSpeed

#: Data takes at least so much of the line rate of a link that is full: 120 of 150 MB/s on a SATA
#: link at 1.5 Gb/s, 480 of 600 at 6; frames, commands and gaps take the rest.
_FULL_LINK_RATIO = 0.6


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
    """What made a drive slower during a write; None is unknown, in and out.

    over_temperature_seconds: by how much the drive's own count of them grew meanwhile.
    bytes_per_second: the speed since. A link below its maximum is to blame only where it is full:
        a drive may sit on a slow link for years and still lose half of that to its cache.
    is_sudden: a step, as the end of a cache is, and not a slow decline.
    """
    if over_temperature_seconds is not None and over_temperature_seconds > 0:
        return Verdict.THERMAL
    if _reaches(temperature_celsius, warning_celsius):
        return Verdict.THERMAL
    if link_bytes_per_second is not None and link_max_bytes_per_second is not None:
        is_slow = link_bytes_per_second < link_max_bytes_per_second
        if is_slow and _reaches(bytes_per_second, _FULL_LINK_RATIO * link_bytes_per_second):
            return Verdict.LINK
    return Verdict.WRITE_CACHE if is_sudden else None


def _reaches(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value >= limit


@dataclass(frozen=True, slots=True)
class SlowdownEvidence:
    """A drive as it was last heard of; None is unknown.

    over_temperature_seconds: the drive's own count of them, over its life.
    link_*: line rate after encoding.
    """

    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    over_temperature_seconds: float | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None


def slowdown_evidence(link: LinkSpeed | None, health: DriveHealth | None) -> SlowdownEvidence:
    """What the kernel says of the link, and the drive of the rest.

    The drive's word on the link counts only where the kernel has none: it may be an hour old.
    """
    its = health or DriveHealth()
    speed, best = its.link_bytes_per_second, its.link_max_bytes_per_second
    if link is not None and link.speed_bytes_per_second is not None:
        speed, best = link.speed_bytes_per_second, link.max_bytes_per_second or best
    limit = its.temperature_warning_celsius
    # NVMe counts the time above the critical limit apart from that above the first one.
    over = (its.over_temperature_warning_seconds, its.over_temperature_critical_seconds)
    counted = [seconds for seconds in over if seconds is not None]
    return SlowdownEvidence(
        temperature_celsius=its.temperatures.get("drive"),
        warning_celsius=its.temperature_critical_celsius if limit is None else limit,
        over_temperature_seconds=sum(counted) if counted else None,
        link_bytes_per_second=speed,
        link_max_bytes_per_second=best,
    )
