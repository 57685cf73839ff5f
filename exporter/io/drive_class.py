"""What the judgements need to know of a drive, and nothing else."""

from dataclasses import dataclass
from enum import Enum


class DriveClass(str, Enum):
    """Classes of drives that differ in what is slow for them."""

    NVME = "nvme"
    SSD = "ssd"
    ROTATIONAL = "rotational"


@dataclass(frozen=True, slots=True)
class Drive:
    """One block device.

    identity: under which its baseline is kept: WWN, else model and serial, else its name.
    instance: changes when another device takes the same name (the kernel's disk sequence).
    volume: not a drive but what a RAID controller, a SAN or a hypervisor makes of some: its cache
        and whatever else works on it are out of sight.
    leaf: a drive, as against a stack over drives: a dm's or md's queue is not a disk's
        (https://github.com/netdata/netdata/issues/2646), so only leaves are judged.
    """

    identity: str
    kind: DriveClass
    leaf: bool = True
    instance: int | None = None
    volume: bool = False


def drive_from_name(device: str) -> Drive:
    """What the name alone tells, while nothing has been read of a device."""
    kind = DriveClass.NVME if device.startswith("nvme") else DriveClass.SSD
    return Drive(device, kind, leaf=not device.startswith(("dm-", "md")))
