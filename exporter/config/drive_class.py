"""Defines the classes of drives and the kinds of volumes. Settings and verdicts use them."""

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
    HYPERVISOR: a disk that a hypervisor emulates. The hypervisor may store it on an array, or limit
        its throughput.
    CLOUD: a volume of a cloud provider. The provider limits its throughput.
    """

    DRIVE = "drive"
    ARRAY = "array"
    HYPERVISOR = "hypervisor"
    CLOUD = "cloud"
