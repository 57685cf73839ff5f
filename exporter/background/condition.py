"""What may slow a drive down besides its own write cache: heat and its link."""

from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.linux.link import Link


@dataclass(frozen=True, slots=True)
class Condition:
    """A drive as it was last heard of; None is unknown.

    over_temperature_seconds: the drive's own count of them, over its life.
    link_*: line rate after encoding.
    """

    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    over_temperature_seconds: float | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None


def condition(link: Link | None, health: DriveHealth | None) -> Condition:
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
    return Condition(
        temperature_celsius=its.temperatures.get("drive"),
        warning_celsius=its.temperature_critical_celsius if limit is None else limit,
        over_temperature_seconds=sum(counted) if counted else None,
        link_bytes_per_second=speed,
        link_max_bytes_per_second=best,
    )
