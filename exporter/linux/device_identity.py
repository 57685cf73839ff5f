"""The identity of a drive as sysfs reports it, without a query to the drive.

This module defines the record, and reads the identity of virtio and MMC drives. `nvme_sysfs` and
`scsi_sysfs` read that of NVMe and SCSI drives.
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """The names and the fixed properties of a drive; None means unknown, and no text is empty.

    model, vendor, serial, firmware: the drive's own, without padding. A USB bridge reports its own
        names, not those of the drive behind it.
    wwn: the world wide name as in sysfs (``naa.5...``, ``eui.0...``).
    transport: how the drive is attached: nvme, nvme-tcp, sata, sas, usb, virtio, mmc, fc, iscsi,
        or scsi if the transport is unknown.
    protocol: the command set of the drive itself: nvme, ata or scsi.
    controllers: the names of its NVMe controllers (nvme0).
    temperature_warning_celsius, temperature_critical_celsius: an NVMe drive's own limits, in °C.
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
    """Returns an attribute without its padding; None if nothing remains."""
    return (text or "").strip(" \0\t\r\n") or None


def read_virtio(directory: Path) -> DeviceIdentity:
    """Returns the identity of a virtio-blk disk: a serial number, if the hypervisor sets one.

    Source: serial_show in drivers/block/virtio_blk.c; no kernel document lists it.
    """
    serial = strip_padding(files.read_attribute(directory / "serial"))
    return DeviceIdentity(serial=serial, transport="virtio")


def read_mmc(directory: Path) -> DeviceIdentity:
    """Returns the identity of an SD card or eMMC, from its CID register.

    https://docs.kernel.org/driver-api/mmc/mmc-dev-attrs.html
    """
    card = directory / "device"
    return DeviceIdentity(
        model=strip_padding(files.read_attribute(card / "name")),
        serial=strip_padding(files.read_attribute(card / "serial")),
        firmware=strip_padding(files.read_attribute(card / "fwrev")),
        transport="mmc",
    )
