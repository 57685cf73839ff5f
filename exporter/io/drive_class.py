"""Records the properties of a block device that the verdicts depend on, such as its class."""

from dataclasses import dataclass
from enum import Enum


class DriveClass(str, Enum):
    """The class of a drive. Each class has its own limits for slow requests."""

    NVME = "nvme"
    SSD = "ssd"
    ROTATIONAL = "rotational"


class VolumeType(str, Enum):
    """What a block device is; the values of the setting `volume` of a device.

    DRIVE: a single drive.
    ARRAY: a volume of a RAID controller or a SAN.
    HYPERVISOR: a disk that a hypervisor emulates. Its host, an array or a limit may be behind it.
    CLOUD: a volume of a cloud provider, who limits its throughput.
    """

    DRIVE = "drive"
    ARRAY = "array"
    HYPERVISOR = "hypervisor"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True)
class Drive:
    """One block device.

    identity: the key of the device's baseline: the WWN if known, else model and serial number, else
        the device name.
    kind: the class of the drive.
    leaf: True for a drive, False for a dm or md device on top of drives. Only leaves get a verdict,
        because the queue of a stacked device is not a drive's queue
        (https://github.com/netdata/netdata/issues/2646).
    instance: the kernel's disk sequence number; None if unknown. It changes when another device
        takes the same name.
    volume: True for a volume of a RAID controller, a SAN, a hypervisor or a cloud provider. This
        host cannot see the volume's cache and its other users.
    volume_type: what the volume is; HYPERVISOR if `volume` is True and nothing else is known.
    """

    identity: str
    kind: DriveClass
    leaf: bool = True
    instance: int | None = None
    volume: bool = False
    volume_type: VolumeType = VolumeType.HYPERVISOR


def drive_from_name(device: str) -> Drive:
    """Returns a `Drive` that is guessed from the device name.

    It is used until the topology has been read.
    """
    kind = DriveClass.NVME if device.startswith("nvme") else DriveClass.SSD
    return Drive(device, kind, leaf=not device.startswith(("dm-", "md")))
