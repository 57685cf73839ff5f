"""Who a drive is, as far as sysfs knows without asking the drive."""

from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """A drive's names, without padding; None is not known, never empty.

    `transport` is how the drive is attached (nvme, nvme-tcp, sata, sas, usb, virtio, mmc, fc,
    iscsi, or scsi where no more is known), `protocol` what it speaks in the end (nvme, ata, scsi).
    A USB bridge names itself, not the drive in it. `controllers` are NVMe controllers (nvme0).
    The temperatures are an NVMe drive's own limits, in °C.
    """

    model: str | None = None
    vendor: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwn: str | None = None
    transport: str | None = None
    protocol: str | None = None
    controllers: tuple[str, ...] = ()
    temperature_warning_celsius: float | None = None
    temperature_critical_celsius: float | None = None


def strip_padding(text: str | None) -> str | None:
    """An attribute without its padding; None for an empty one."""
    return (text or "").strip(" \0\t\r\n") or None


def read_virtio(directory: Path) -> DeviceIdentity:
    """A virtio-blk disk: all that the hypervisor may tell is a serial number of 20 bytes."""
    return DeviceIdentity(
        serial=strip_padding(files.read_attribute(directory / "serial")), transport="virtio"
    )


def read_mmc(directory: Path) -> DeviceIdentity:
    """An SD card or eMMC, from its CID register: linux/Documentation/driver-api/mmc."""
    card = directory / "device"
    return DeviceIdentity(
        model=strip_padding(files.read_attribute(card / "name")),
        serial=strip_padding(files.read_attribute(card / "serial")),
        firmware=strip_padding(files.read_attribute(card / "fwrev")),
        transport="mmc",
    )
