"""Reads the identity and the attachment of SCSI devices from /sys.

For Linux, SATA and USB drives are SCSI devices too. The sources are:

- Attributes of a SCSI device: https://docs.kernel.org/admin-guide/abi-testing.html
  (sysfs-bus-scsi-devices, sysfs-block-device), and drivers/scsi/scsi_sysfs.c.
- VPD (vital product data) pages, which the kernel has read from the drive. The file vpd_pg80 has
  the serial number (SPC). The file vpd_pg89 ("ATA Information") has an ATA drive's answer to the
  command IDENTIFY DEVICE (SAT). There, the model has 40 characters instead of SCSI's 16, and the
  firmware version 8 instead of 4.
- /sys/class/scsi_generic: every SCSI device has a generic node such as /dev/sg3, even without a
  disk driver. RAID adapters keep the disk driver from using the members of their volumes
  (no_uld_attach in include/scsi/scsi_device.h). These members have no /dev/sdX.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.errors import NotAvailable, ParseError, ReadError
from exporter.linux import files, links
from exporter.linux.device_identity import DeviceIdentity, strip_padding

#: The maximum size of one VPD page, in bytes. sysfs returns at most one memory page per read(2),
#: and the VPD pages that are read here are far smaller.
_MAX_PAGE_BYTES = 4096

#: The size of the header of a VPD page, in bytes: device type, page code, length (SPC).
_HEADER_BYTES = 4
#: The position and the size of the IDENTIFY DEVICE data in VPD page 0x89, in bytes (SAT).
_IDENTIFY_OFFSET = 60
_IDENTIFY_BYTES = 512
#: The speeds that a drive declares with bits 1 to 3 of IDENTIFY DEVICE word 76, in Gbit/s.
_SATA_GIGABITS = (1.5, 3.0, 6.0)

#: The peripheral device type of disks (SPC-5; include/scsi/scsi_proto.h).
_DISK = 0

_ADDRESS = re.compile(r"\d+:(\d+):\d+:\d+", re.ASCII)

#: The name of the kernel's driver for UFS controllers, in proc_name of the SCSI host.
_UFS_DRIVER = "ufshcd"

#: The transports, each with the pattern of the directory above a device that shows it. The order
#: matters: a drive behind a USB bridge in SAT mode or a libsas adapter may also have a directory of
#: an ATA port above it.
_TRANSPORTS = (
    ("usb", re.compile(r"usb\d+", re.ASCII)),
    ("sata", re.compile(r"ata\d+", re.ASCII)),
    ("sas", re.compile(r"end_device-[\d:]+", re.ASCII)),
    ("fc", re.compile(r"rport-[\d:-]+", re.ASCII)),
    ("iscsi", re.compile(r"session\d+", re.ASCII)),
    ("virtio", re.compile(r"virtio\d+", re.ASCII)),
)


@dataclass(frozen=True, slots=True)
class AtaIdentity:
    """The identity in a drive's IDENTIFY DEVICE data. None means that the drive left a field blank.

    model: the name of the model.
    serial: the serial number.
    firmware: the version of the firmware.
    wwn: the world wide name: ``naa.`` and 16 hexadecimal digits.
    max_gigabits: the speed of the fastest SATA generation that the drive supports: 1.5, 3 or 6
        Gbit/s.
    """

    model: str | None
    serial: str | None
    firmware: str | None
    wwn: str | None
    max_gigabits: float | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """How a SCSI device is attached to the host.

    transport: usb, sata, sas, fc, iscsi, virtio, or scsi if the transport is unknown.
    point: the directory above the device that shows the transport, for example that of the ATA port
        for sata, or of the end device for sas. None if the transport is unknown.
    """

    transport: str
    point: Path | None


@dataclass(frozen=True, slots=True)
class ScsiGeneric:
    """A SCSI device with its generic node. None means unknown.

    name: the name of the generic node, such as ``sg3``.
    directory: the directory of the SCSI device in sysfs (.../6:0:1:0), with all symbolic links
        followed.
    type: the peripheral device type: 0 is a disk, 3 a processor, 12 a RAID controller, and 13 an
        enclosure. Commands to an Areca controller are sent to its device of type 3.
    vendor: the name of the vendor, as the device reports it, without padding.
    model: the name of the model, as the device reports it, without padding.
    has_driver: true if a driver such as sd is bound to the device.
    block: the kernel's name of the disk of this device, such as ``sda``; None if it has none.
    """

    name: str
    directory: Path
    type: int | None
    vendor: str | None
    model: str | None
    has_driver: bool
    block: str | None

    @property
    def is_hidden_disk(self) -> bool:
        """True if this is a disk without a block device, such as those behind mptsas and hpsa."""
        return self.type == _DISK and not self.has_driver and self.block is None


def read_generic_devices(sys: Path) -> tuple[ScsiGeneric, ...]:
    """Returns all SCSI devices that have a generic node, in the order of the nodes' numbers.

    The result is empty if the sg driver is not loaded.
    """
    directory = sys / "class" / "scsi_generic"
    names = [name for name in files.list_names(directory) if name[2:].isdecimal()]
    ordered = sorted(names, key=lambda name: (len(name), name))
    return tuple(_read_generic_device(directory / name, name) for name in ordered)


def read_identity(
    directory: Path, attachment: Attachment, ata: AtaIdentity | None, serial: str | None
) -> DeviceIdentity:
    """Returns the identity of a SCSI disk; attributes that cannot be read are None.

    The values of `ata` have priority, except for the world wide name, because SCSI's own fields are
    shorter.

    directory: the disk's directory in sysfs.
    attachment: the result of `parse_attachment`.
    ata: the result of `read_ata_identity`; None if the drive has no such data.
    serial: the result of `read_serial`.
    """
    device = directory / "device"
    vendor = strip_padding(files.read_attribute(device / "vendor"))
    model = strip_padding(files.read_attribute(device / "model"))
    firmware = strip_padding(files.read_attribute(device / "rev"))
    wwn = strip_padding(files.read_attribute(device / "wwid"))
    is_ata = vendor == "ATA" or ata is not None or attachment.transport == "sata"
    transport = attachment.transport
    if transport == "sas" and attachment.point is not None:
        is_sata = links.is_sata_end_device(attachment.point)
        is_ata = is_ata if is_sata is None else is_sata
    if transport == "scsi" and _is_ufs(device):
        transport = "ufs"
    # An ATA drive at a SAS adapter or at an unknown adapter is a SATA drive.
    if transport in ("sas", "scsi") and is_ata:
        transport = "sata"
    if ata is not None:
        model, firmware = ata.model or model, ata.firmware or firmware
        serial = ata.serial or serial
        wwn = wwn or ata.wwn
    return DeviceIdentity(
        model=model,
        # libata reports the vendor "ATA" for every drive. This is not the name of a vendor.
        vendor=None if vendor == "ATA" else vendor,
        serial=serial,
        firmware=firmware,
        wwn=wwn,
        transport=transport,
        protocol="ata" if is_ata else "scsi",
    )


def read_ata_identity(directory: Path) -> tuple[AtaIdentity | None, tuple[ParseError, ...]]:
    """Returns the identity in a disk's VPD page 0x89, and the faults: errors in the page's format.

    The identity is None if the drive has no such page, or if the page cannot be read or parsed.

    directory: the disk's directory in sysfs.
    """
    path = directory / "device" / "vpd_pg89"
    try:
        return parse_ata_page(read_vpd_page(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotAvailable, ReadError):
        return None, ()


def read_serial(directory: Path) -> tuple[str | None, tuple[ParseError, ...]]:
    """Returns the serial number in a disk's VPD page 0x80, and the faults: errors in its format.

    The serial number is None if the drive has no such page or no number, or if the page cannot be
    read or parsed.

    directory: the disk's directory in sysfs.
    """
    path = directory / "device" / "vpd_pg80"
    try:
        return parse_serial_page(read_vpd_page(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotAvailable, ReadError):
        return None, ()


def read_vpd_page(path: Path) -> bytes:
    """Returns the bytes of a VPD page from its file in sysfs.

    Raises:
        NotAvailable: the drive has no such page.
        ReadError: the page cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.read(descriptor, _MAX_PAGE_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError as e:
        raise NotAvailable(f"{path}: the drive has no such page") from e
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}") from e


def parse_attachment(sys_root: Path, path: PurePath) -> Attachment:
    """Returns how a SCSI device is attached to the host.

    sys_root: the directory /sys, with symbolic links followed.
    path: the path of the device relative to /sys.

    >>> parse_attachment(Path("/sys"), PurePath("devices/pci0000:00/ata1/host0/block/sda"))
    Attachment(transport='sata', point=PosixPath('/sys/devices/pci0000:00/ata1'))
    """
    for transport, pattern in _TRANSPORTS:
        for depth, part in enumerate(path.parts, start=1):
            if pattern.fullmatch(part):
                return Attachment(transport, sys_root.joinpath(*path.parts[:depth]))
    return Attachment("scsi", None)


def parse_channel(path: PurePath) -> str:
    """Returns the channel in the SCSI address of a device: ``1`` for the address 0:1:0:0.

    The result is ``0`` if the path contains no address.
    """
    return next((match[1] for part in path.parts if (match := _ADDRESS.fullmatch(part))), "0")


def parse_serial_page(page: bytes) -> str | None:
    """Returns the serial number in VPD page 0x80; None if the drive left it blank.

    Raises:
        ParseError: the bytes are not page 0x80, or are cut off.
    """
    return decode_padded(_page_body(page, 0x80))


def parse_ata_page(page: bytes) -> AtaIdentity:
    """Returns the identity in VPD page 0x89.

    The numbers of words in the code are those of the IDENTIFY DEVICE data in the standard ACS.

    Raises:
        ParseError: the bytes are not page 0x89, or are cut off.
    """
    _page_body(page, 0x89)
    identify = page[_IDENTIFY_OFFSET : _IDENTIFY_OFFSET + _IDENTIFY_BYTES]
    if len(identify) < _IDENTIFY_BYTES:
        raise ParseError(f"VPD page 0x89: {len(page)} bytes are too few for IDENTIFY DEVICE data")
    return AtaIdentity(
        model=_ata_string(identify, 27, 46),
        serial=_ata_string(identify, 10, 19),
        firmware=_ata_string(identify, 23, 26),
        wwn=_ata_wwn(identify),
        max_gigabits=_max_sata_gigabits(_word(identify, 76)),
    )


def decode_padded(field: bytes) -> str | None:
    """Returns the text of a field without its padding; None if the field is blank.

    Bytes that are not ASCII become hexadecimal escapes.
    """
    return field.decode("ascii", "backslashreplace").strip(" \0\t\r\n") or None


def _read_generic_device(node: Path, name: str) -> ScsiGeneric:
    device = Path(os.path.realpath(node / "device"))
    blocks = files.list_names(device / "block")
    return ScsiGeneric(
        name=name,
        directory=device,
        type=files.read_integer(device / "type"),
        vendor=strip_padding(files.read_attribute(device / "vendor")),
        model=strip_padding(files.read_attribute(device / "model")),
        has_driver=os.path.lexists(device / "driver"),
        block=blocks[0].replace("!", "/") if blocks else None,
    )


def _is_ufs(device: Path) -> bool:
    """True if the SCSI host of a device is a UFS controller.

    The directories of these controllers have no common name, but their driver has one: UFSHCD in
    include/ufs/ufshcd.h.

    device: the directory of the SCSI device in sysfs (.../host0/target0:0:0/0:0:0:0).
    """
    host = Path(os.path.realpath(device)).parent.parent
    return files.read_attribute(host / "scsi_host" / host.name / "proc_name") == _UFS_DRIVER


def _page_body(page: bytes, code: int) -> bytes:
    if len(page) < _HEADER_BYTES or page[1] != code:
        raise ParseError(f"not VPD page {code:#x}: {page[:8].hex(' ')!r}")
    length = int.from_bytes(page[2:4], "big")
    body = page[_HEADER_BYTES : _HEADER_BYTES + length]
    if len(body) < length:
        raise ParseError(f"VPD page {code:#x}: {len(body)} of {length} bytes")
    return body


def _word(identify: bytes, number: int) -> int:
    return int.from_bytes(identify[2 * number : 2 * number + 2], "little")


def _ata_string(identify: bytes, first: int, last: int) -> str | None:
    # Each word holds two characters. The first character is in the high byte, which is stored after
    # the low byte.
    words = range(first, last + 1)
    return decode_padded(b"".join(_word(identify, n).to_bytes(2, "big") for n in words))


def _ata_wwn(identify: bytes) -> str | None:
    # Word 87: bits 15:14 are 01 if the word is valid; bit 8 means that words 108 to 111 hold a WWN.
    if _word(identify, 87) & 0xC100 != 0x4100:
        return None
    digits = "".join(f"{_word(identify, n):04x}" for n in range(108, 112))
    return f"naa.{digits}" if digits.strip("0") else None


def _max_sata_gigabits(word: int) -> float | None:
    if word in (0x0000, 0xFFFF):  # ACS: these values mean that the drive does not report the word
        return None
    speeds = [speed for bit, speed in enumerate(_SATA_GIGABITS, start=1) if word >> bit & 1]
    return max(speeds, default=None)
