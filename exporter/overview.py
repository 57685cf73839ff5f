"""The devices in a word each, for the page that people see first."""

from collections.abc import Sequence

from exporter.background.sampler import Sampler
from exporter.collectors import device
from exporter.drives.watched import WatchedDrive
from exporter.linux.topology import Topology

_HEADING = (
    *("Device", "Model", "Class", "SMART", "Wear", "In flight", "Busiest second (1 min)"),
    "Bottleneck",
)


def rows(
    sampler: Sampler, seen: Topology | None, drives: Sequence[WatchedDrive], now: float
) -> list[tuple[str, ...]]:
    """A heading, the block devices, and after them drives that are none, or are gone.

    To be called while the sampler is settled.
    """
    by_label = {drive.label: drive for drive in drives if not drive.is_missing}
    found: list[tuple[str, ...]] = [_HEADING]
    counted_devices = sampler.disks or {}
    for name, counted in counted_devices.items():
        activity = sampler.activities[name]
        known = seen.devices.get(name) if seen else None
        leaf = activity.drive.leaf
        found.append(
            (
                name,
                device.model(known.identity) if known else "",
                activity.drive.kind.value if leaf else "stacked",
                *_smart(by_label.get(name)),
                str(counted.io_now),
                f"{activity.busy_ratio_max.value(now) or 0.0:.0%}",
                activity.verdict.value(now).value if leaf else "",
            )
        )
    for drive in drives:
        if drive.is_missing or drive.label not in counted_devices:
            where = f" ({', '.join(drive.blocks)})" if drive.blocks else ""
            found.append(
                (drive.label + where, drive.identity.model or "", "", *_smart(drive), "", "", "")
            )
    return found


def _smart(drive: WatchedDrive | None) -> tuple[str, str]:
    """Health and wear in a word."""
    if drive is None:
        return "", ""
    if drive.is_missing:
        return "missing", ""
    if not drive.up:
        return "no answer", ""
    health = drive.health
    if health is None or health.unreadable:
        return "no SMART", ""
    worn = "" if health.endurance is None else f"{health.endurance.used_ratio:.0%}"
    if health.healthy is None:
        return health.power_mode or "", worn
    return "passed" if health.healthy else "FAILING", worn
