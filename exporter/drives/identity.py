"""Defines the record for the identity of a drive, which is the same for all protocols.

The agent imports this module. It does not import `health`, which takes 150 KB of its memory.
"""

from dataclasses import dataclass
from enum import Enum


class Protocol(str, Enum):
    """The command set of a drive.

    This is never the command set of a bridge or controller between the host and the drive.
    """

    NVME = "nvme"
    ATA = "ata"
    SCSI = "scsi"


@dataclass(frozen=True, slots=True)
class DriveIdentity:
    """The identity that a drive reports. None means that the drive does not report the value.

    protocol: the command set of the drive.
    model: the name of the model.
    family: the model family from smartctl's drive database. None for NVMe drives and for drives
        that the database does not list.
    serial: the serial number.
    firmware: the firmware version.
    wwn: the world wide name in the notation of sysfs, such as naa.5002538e40a1b2c3 or
        eui.0025385b21404d22.
    capacity_bytes: the capacity of the whole drive, not of one namespace.
    logical_block_bytes: the size of a logical block in bytes.
    rotational: True for a hard disk, False for an SSD.
    physical_block_bytes: the size of a physical block in bytes.
    """

    protocol: Protocol | None = None
    model: str | None = None
    family: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwn: str | None = None
    capacity_bytes: int | None = None
    logical_block_bytes: int | None = None
    rotational: bool | None = None
    physical_block_bytes: int | None = None
