"""What a SCSI drive says of itself in its vital product data: /sys/.../device/vpd_pg80 and _pg89.

Page 0x80 is the unit's serial number (SPC). Page 0x89 is ATA Information (SAT): for a drive that
speaks ATA behind a SCSI address it holds the whole IDENTIFY DEVICE data, where the model has 40
characters instead of SCSI's 16, and the firmware 8 instead of 4.

/sys/class/scsi_generic: every SCSI device has such a node, also one that no disk driver took.

A RAID adapter lets the driver of disks not attach to the members of its volumes
(no_uld_attach in include/scsi/scsi_device.h): they have an sg node, and no /dev/sdX.

SCSI disks, which SATA and USB drives are to the kernel too: who they are, how attached.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.errors import NotAvailable, ParseError, ReadError
from exporter.linux import files, links
from exporter.linux.device_identity import DeviceIdentity, strip_padding

#: sysfs hands out at most a memory page per read(2); both pages here are far smaller.
_LARGEST_PAGE_BYTES = 4096

_HEADER_BYTES = 4
_IDENTIFY_OFFSET = 60
_IDENTIFY_BYTES = 512
#: Bits 1 to 3 of word 76, lowest first.
_SATA_GIGABITS = (1.5, 3.0, 6.0)


@dataclass(frozen=True, slots=True)
class AtaIdentity:
    """IDENTIFY DEVICE in the fields that name a drive; None is not said.

    `max_gigabits` is the fastest SATA generation that the drive itself supports, 1.5, 3 or 6.
    """

    model: str | None
    serial: str | None
    firmware: str | None
    wwn: str | None
    max_gigabits: float | None


def read_vpd_page(path: Path) -> bytes:
    """A page as the kernel keeps it.

    Raises:
        NotAvailable: the drive has no such page.
        ReadError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.read(descriptor, _LARGEST_PAGE_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError as e:
        raise NotAvailable(f"{path}: no such page") from e
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}") from e


def parse_serial_page(page: bytes) -> str | None:
    """The serial number of page 0x80; None where the drive left it blank.

    Raises:
        ParseError: this is no page 0x80, or it is cut short.
    """
    return decode_padded(_body(page, 0x80))


def parse_ata_page(page: bytes) -> AtaIdentity:
    """The drive's names from page 0x89.

    Raises:
        ParseError: this is no page 0x89, or it is cut short.
    """
    _body(page, 0x89)
    identify = page[_IDENTIFY_OFFSET : _IDENTIFY_OFFSET + _IDENTIFY_BYTES]
    if len(identify) < _IDENTIFY_BYTES:
        raise ParseError(f"VPD page 0x89: {len(page)} bytes, too short for IDENTIFY data")
    return AtaIdentity(
        model=_text(identify, 27, 46),
        serial=_text(identify, 10, 19),
        firmware=_text(identify, 23, 26),
        wwn=_wwn(identify),
        max_gigabits=_generation(_word(identify, 76)),
    )


def decode_padded(raw: bytes) -> str | None:
    """A padded field of a drive as text; other bytes than ASCII stay visible as escapes."""
    return raw.decode("ascii", "backslashreplace").strip(" \0\t\r\n") or None


def _body(page: bytes, code: int) -> bytes:
    if len(page) < _HEADER_BYTES or page[1] != code:
        raise ParseError(f"no VPD page {code:#x}: {page[:8].hex(' ')!r}")
    length = int.from_bytes(page[2:4], "big")
    body = page[_HEADER_BYTES : _HEADER_BYTES + length]
    if len(body) < length:
        raise ParseError(f"VPD page {code:#x}: {len(body)} of {length} bytes")
    return body


def _word(identify: bytes, number: int) -> int:
    return int.from_bytes(identify[2 * number : 2 * number + 2], "little")


def _text(identify: bytes, first: int, last: int) -> str | None:
    # Of the two characters in a word the first stands in the high byte, stored second.
    words = range(first, last + 1)
    return decode_padded(b"".join(_word(identify, n).to_bytes(2, "big") for n in words))


def _wwn(identify: bytes) -> str | None:
    # Word 87: bits 15:14 are 01 where the word is valid, bit 8 says that 108 to 111 hold a name.
    if _word(identify, 87) & 0xC100 != 0x4100:
        return None
    digits = "".join(f"{_word(identify, n):04x}" for n in range(108, 112))
    return f"naa.{digits}" if digits.strip("0") else None


def _generation(word: int) -> float | None:
    if word in (0x0000, 0xFFFF):  # ACS: the word is not reported
        return None
    speeds = [g for bit, g in enumerate(_SATA_GIGABITS, start=1) if word >> bit & 1]
    return max(speeds, default=None)


#: Peripheral device types of SPC-5, as in include/scsi/scsi_proto.h.
_DISK = 0


@dataclass(frozen=True, slots=True)
class ScsiGeneric:
    """A SCSI device by its generic node.

    `directory` is the SCSI device's in sysfs (.../6:0:1:0), with all links followed. `type` is
    the peripheral device type: 0 a disk, 3 a processor (Areca's controllers are addressed through
    theirs), 12 a RAID controller, 13 an enclosure. `block` is the disk of the same device.
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
        """Whether this is a disk that has no block device, as behind mptsas and hpsa."""
        return self.type == _DISK and not self.has_driver and self.block is None


def read_generic_devices(sys: Path) -> tuple[ScsiGeneric, ...]:
    """All of them by number; none where the sg driver is not loaded."""
    directory = sys / "class" / "scsi_generic"
    names = [name for name in files.list_names(directory) if name[2:].isdecimal()]
    return tuple(_read_generic(directory / n, n) for n in sorted(names, key=lambda n: (len(n), n)))


def _read_generic(node: Path, name: str) -> ScsiGeneric:
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


_ADDRESS = re.compile(r"\d+:(\d+):\d+:\d+", re.ASCII)

#: In this order: a USB bridge in SAT mode, or a libsas adapter, may show an ATA port below it.
_TRANSPORTS = (
    ("usb", re.compile(r"usb\d+", re.ASCII)),
    ("sata", re.compile(r"ata\d+", re.ASCII)),
    ("sas", re.compile(r"end_device-[\d:]+", re.ASCII)),
    ("fc", re.compile(r"rport-[\d:-]+", re.ASCII)),
    ("iscsi", re.compile(r"session\d+", re.ASCII)),
    ("virtio", re.compile(r"virtio\d+", re.ASCII)),
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """How a SCSI device hangs on the host: the transport, and the directory that shows it.

    `point` is the ATA port's for sata, the end device's for sas; None where nothing shows it.
    """

    transport: str
    point: Path | None


def parse_attachment(sys_root: Path, place: PurePath) -> Attachment:
    """How a device is attached, by its place below /sys (`sys_root` with links followed).

    >>> attachment(Path("/sys"), PurePath("devices/pci0000:00/ata1/host0/block/sda"))
    Attachment(transport='sata', point=PosixPath('/sys/devices/pci0000:00/ata1'))
    """
    for transport, pattern in _TRANSPORTS:
        for depth, part in enumerate(place.parts, start=1):
            if pattern.fullmatch(part):
                return Attachment(transport, sys_root.joinpath(*place.parts[:depth]))
    return Attachment("scsi", None)


def parse_channel(place: PurePath) -> str:
    """The channel of the SCSI address in a path: 1 of 0:1:0:0; 0 where there is none."""
    return next((m[1] for part in place.parts if (m := _ADDRESS.fullmatch(part))), "0")


def read_ata_identity(directory: Path) -> tuple[AtaIdentity | None, tuple[ParseError, ...]]:
    """IDENTIFY data of a drive that speaks ATA behind its SCSI address, and what was wrong."""
    path = directory / "device" / "vpd_pg89"
    try:
        return parse_ata_page(read_vpd_page(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotAvailable, ReadError):
        return None, ()


def read_serial(directory: Path) -> tuple[str | None, tuple[ParseError, ...]]:
    """The serial number of VPD page 0x80, and what was wrong with the page."""
    path = directory / "device" / "vpd_pg80"
    try:
        return parse_serial_page(read_vpd_page(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotAvailable, ReadError):
        return None, ()


def read_identity(
    directory: Path, attached: Attachment, ata: AtaIdentity | None, serial: str | None
) -> DeviceIdentity:
    """Who a SCSI disk is; IDENTIFY data wins, for SCSI's own fields cut a SATA drive's short."""
    device = directory / "device"
    vendor = strip_padding(files.read_attribute(device / "vendor"))
    model = strip_padding(files.read_attribute(device / "model"))
    firmware = strip_padding(files.read_attribute(device / "rev"))
    wwn = strip_padding(files.read_attribute(device / "wwid"))
    speaks_ata = vendor == "ATA" or ata is not None or attached.transport == "sata"
    transport = attached.transport
    if transport == "sas" and attached.point is not None:
        sata = links.read_speaks_sata(attached.point)
        speaks_ata = speaks_ata if sata is None else sata
    # Behind a SAS adapter or one that hides its links, what speaks ATA is a SATA drive.
    if transport in ("sas", "scsi") and speaks_ata:
        transport = "sata"
    if ata is not None:
        model, firmware = ata.model or model, ata.firmware or firmware
        serial = ata.serial or serial
        wwn = wwn or ata.wwn
    return DeviceIdentity(
        model=model,
        # libata answers "ATA" for every drive: a bus, no vendor.
        vendor=None if vendor == "ATA" else vendor,
        serial=serial,
        firmware=firmware,
        wwn=wwn,
        transport=transport,
        protocol="ata" if speaks_ata else "scsi",
    )
