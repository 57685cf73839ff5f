"""Builds the state of each drive that metrics, pages and `check` show.

A value that a drive does not report is taken from the kernel, or from the inventory (the list of
all drives ever seen). The module does no I/O.
"""

from dataclasses import dataclass, replace

from exporter.drives.health import DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux.device_identity import DeviceIdentity
from exporter.smart.drive_record import DriveRecord
from exporter.smart.inventory import KnownDrive
from exporter.smart.smartctl import Address


@dataclass(frozen=True, slots=True)
class Place:
    """What is known about an address without a poll.

    label: its `device` label.
    kernel: the identity that the kernel reports for the label; None means unknown.
    known: the drive that the inventory has there; None if there is none, or another drive answers.
    is_known: as in `WatchedDrive`.
    is_stuck: as in `WatchedDrive`.
    blocks: as in `WatchedDrive`.
    """

    address: Address
    label: str
    kernel: DeviceIdentity | None
    known: KnownDrive | None
    is_known: bool
    is_stuck: bool
    blocks: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the drive in the wear history; empty if it has none."""
        return self.known.key or "" if self.known is not None else ""


def polled_drive(
    place: Place,
    drive: DriveRecord,
    *,
    is_fresh: bool,
    wearout: tuple[str, tuple[float, float, float]] | None,
) -> WatchedDrive:
    """Returns the state of a drive with a poll document. The poll may have failed.

    is_fresh: True if the last health of the drive is recent enough to be shown.
    wearout: the result of `WearRecorder.remaining`; None without an estimate.
    """
    document = drive.document
    own = drive.identity if place.is_known else DriveIdentity()
    identity = completed_identity(own, place.kernel, place.known)
    is_shown = is_fresh and place.is_known
    return WatchedDrive(
        label=place.label,
        serial=identity.serial or "",
        address=str(place.address),
        identity=identity,
        up=drive.answers,
        was_reached=drive.was_reached,
        has_log_data=drive.has_log_data,
        health=drive.with_kernel_limits(place.kernel) if is_shown else None,
        last_success_unix_time=document.last_success_at,
        poll_seconds=document.seconds,
        polls=document.counts,
        message=document.message,
        firmware_issues=drive.firmware_issues,
        wearout_seconds=None if wearout is None else wearout[1],
        wearout_method="" if wearout is None else wearout[0],
        blocks=place.blocks,
        is_stuck=place.is_stuck,
        is_known=place.is_known,
        key=place.key,
    )


def silent_drive(place: Place, message: str) -> WatchedDrive:
    """Returns the state of a drive without a poll document.

    message: why there is none, as text for people.
    """
    identity = completed_identity(DriveIdentity(), place.kernel, place.known)
    return WatchedDrive(
        label=place.label,
        serial=identity.serial or "",
        address=str(place.address),
        identity=identity,
        message=message,
        is_stuck=place.is_stuck,
        is_known=place.is_known,
        key=place.key,
    )


def completed_identity(
    identity: DriveIdentity, kernel: DeviceIdentity | None, known: KnownDrive | None
) -> DriveIdentity:
    """Returns the identity of a drive. Missing values are added if it has no serial number.

    The missing values are those of the kernel's identity if it contains a serial number. Otherwise
    they are those of the inventory, if the model is equal or unknown.

    kernel: the identity that the kernel reports; None means unknown.
    known: the drive that the inventory has at the address; None if there is none.
    """
    if identity.serial:
        return identity
    other: DeviceIdentity | KnownDrive | None = kernel if kernel and kernel.serial else None
    if other is None and known is not None and identity.model in (None, known.model):
        other = known
    if other is None:
        return identity
    return replace(
        identity,
        model=identity.model or other.model,
        serial=other.serial,
        firmware=identity.firmware or other.firmware,
        wwn=identity.wwn or other.wwn,
    )


def missing_drive(known: KnownDrive) -> WatchedDrive:
    """Returns the state of a drive that is in the inventory and was not found any more."""
    return WatchedDrive(
        label=known.label,
        serial=known.serial or "",
        address=str(Address(known.path, known.type)),
        identity=DriveIdentity(
            model=known.model, serial=known.serial, firmware=known.firmware, wwn=known.wwn
        ),
        message="it was present before and is not found any more; if it was removed, run "
        f"`ssd-exporter forget {known.names[0]}`",
        is_missing=True,
        key=known.key or "",
    )
