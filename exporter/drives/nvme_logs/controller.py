"""Defines what must be known of an NVMe controller to choose and decode its log pages."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Controller:
    """The identity of an NVMe controller, from Identify Controller. It has no serial number.

    vendor_id: the PCI vendor ID (VID); None if unknown.
    subsystem_vendor_id: the PCI subsystem vendor ID (SSVID); None if unknown. It names the maker
        of the server if that sells the drive.
    model: the model number (MN) without spaces at the ends; empty if unknown.
    firmware: the firmware revision (FR) without spaces at the ends; empty if unknown.
    nvme_version: major and minor version of the NVMe specification (VER); None if unknown.
    """

    vendor_id: int | None = None
    subsystem_vendor_id: int | None = None
    model: str = ""
    firmware: str = ""
    nvme_version: tuple[int, int] | None = None
