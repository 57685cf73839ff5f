"""What a drive does not say of itself, and the kernel or the inventory knows."""

from dataclasses import replace

from exporter.background.known_drive import KnownDrive
from exporter.drives.health import DriveHealth, DriveIdentity
from exporter.drives.watched import WatchedDrive
from exporter.linux.identity import Identity
from exporter.tools.smartctl import Address


def named(who: DriveIdentity, kernel: Identity | None, known: KnownDrive | None) -> DriveIdentity:
    """Who a drive is, with what it has not said: as the kernel says, else as it was known."""
    if who.serial:
        return who
    other: Identity | KnownDrive | None = kernel if kernel and kernel.serial else None
    if other is None and known is not None and who.model in (None, known.model):
        other = known
    if other is None:
        return who
    return replace(
        who,
        model=who.model or other.model,
        serial=other.serial,
        firmware=who.firmware or other.firmware,
        wwn=who.wwn or other.wwn,
    )


def limited(health: DriveHealth | None, kernel: Identity | None) -> DriveHealth | None:
    """With the drive's own limits of temperature where smartctl, before 7.4, does not tell them."""
    if health is None or kernel is None:
        return health
    warning, critical = health.temperature_warning_celsius, health.temperature_critical_celsius
    if warning is not None or critical is not None:
        return health
    return replace(
        health,
        temperature_warning_celsius=kernel.temperature_warning_celsius,
        temperature_critical_celsius=kernel.temperature_critical_celsius,
    )


def gone(known: KnownDrive) -> WatchedDrive:
    """A drive that is not there any more, as it was known."""
    return WatchedDrive(
        label=known.label,
        serial=known.serial or "",
        address=str(Address(known.path, known.type)),
        identity=DriveIdentity(
            model=known.model, serial=known.serial, firmware=known.firmware, wwn=known.wwn
        ),
        message="it was here once and is not found any more; if it was taken out, forget it with "
        f"`ssd-exporter forget {known.names[0]}`",
        is_missing=True,
    )
