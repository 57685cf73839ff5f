"""Defines the identity of a drive, such as its model, and reads it for virtio and MMC drives.

The values come from sysfs, without a query to the drive. `nvme_sysfs` and `scsi_sysfs` read the
identity of NVMe and SCSI drives.
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """The names and the fixed properties of a drive. None means unknown; no text is empty.

    A USB bridge reports its own names, and not those of the drive behind it.

    model: the name of the model, without padding.
    vendor: the name of the vendor, without padding.
    serial: the serial number, without padding.
    firmware: the version of the firmware, without padding.
    wwn: the world wide name as in sysfs (``naa.5...``, ``eui.0...``).
    transport: how the drive is attached: nvme, nvme-tcp, sata, sas, usb, ufs, virtio, mmc, fc,
        iscsi, or scsi if the transport is unknown.
    protocol: the command set of the drive itself: nvme, ata or scsi.
    controllers: the names of its NVMe controllers, such as ``nvme0``; empty for other drives.
    temperature_warning_celsius: the warning threshold of an NVMe drive, in °C.
    temperature_critical_celsius: the critical threshold of an NVMe drive, in °C.
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
    """Returns a text without the spaces, null bytes and newlines at its start and end.

    The result is None if nothing remains, or if `text` is None.
    """
    return (text or "").strip(" \0\t\r\n") or None


def read_virtio(directory: Path) -> DeviceIdentity:
    """Returns the identity of a virtio-blk disk. It has a serial number if the hypervisor sets one.

    No kernel document describes the file ``serial``: see serial_show in drivers/block/virtio_blk.c.
    """
    serial = strip_padding(files.read_attribute(directory / "serial"))
    return DeviceIdentity(serial=serial, transport="virtio")


def read_mmc(directory: Path) -> DeviceIdentity:
    """Returns the identity of an SD card or eMMC, from its CID (card identification) register.

    https://docs.kernel.org/driver-api/mmc/mmc-dev-attrs.html
    """
    card = directory / "device"
    return DeviceIdentity(
        model=strip_padding(files.read_attribute(card / "name")),
        serial=strip_padding(files.read_attribute(card / "serial")),
        firmware=strip_padding(files.read_attribute(card / "fwrev")),
        transport="mmc",
    )
