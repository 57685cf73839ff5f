"""What a SCSI drive says of itself in its vital product data: /sys/.../device/vpd_pg80 and _pg89.

Page 0x80 is the unit's serial number (SPC). Page 0x89 is ATA Information (SAT): for a drive that
speaks ATA behind a SCSI address it holds the whole IDENTIFY DEVICE data, where the model has 40
characters instead of SCSI's 16, and the firmware 8 instead of 4.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotThere, ParseError, ReadError

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


def read(path: Path) -> bytes:
    """A page as the kernel keeps it.

    Raises:
        NotThere: the drive has no such page.
        ReadError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.read(descriptor, _LARGEST_PAGE_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError as e:
        raise NotThere(f"{path}: no such page") from e
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}") from e


def parse_serial(page: bytes) -> str | None:
    """The serial number of page 0x80; None where the drive left it blank.

    Raises:
        ParseError: this is no page 0x80, or it is cut short.
    """
    return printable(_body(page, 0x80))


def parse_ata(page: bytes) -> AtaIdentity:
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


def printable(raw: bytes) -> str | None:
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
    return printable(b"".join(_word(identify, n).to_bytes(2, "big") for n in words))


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
