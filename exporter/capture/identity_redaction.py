"""The attributes of sysfs in which a drive names itself: what they say, and how they are redacted.

Vital product data is made anew from the fields that the exporter reads, for the rest of it may
hold anything.
"""

import re
from collections.abc import Iterator

from exporter.capture.redactor import Redactor
from exporter.errors import ParseError
from exporter.linux import scsi_sysfs

_NAMED = re.compile(r"(naa|eui)\.([0-9A-Fa-f]{16}|[0-9A-Fa-f]{32})")
_NVME = re.compile(r"nvme\.([0-9a-f]{1,8})-((?:[0-9a-f]{2})*)-((?:[0-9a-f]{2})*)-([0-9a-f]{8})")

#: Header of SAT's ATA Information: who translates, up to the command code (SAT, VPD page 89h).
_SAT_HEADER_BYTES = 60
_IDENTIFY_BYTES = 512

#: Words of IDENTIFY DEVICE that are kept as they are: firmware, SATA capabilities, whether there
#: is a WWN (ACS, IDENTIFY DEVICE).
_KEPT_WORDS = (*range(23, 27), 76, 87)
_SERIAL_WORDS, _MODEL_WORDS, _WWN_WORDS = range(10, 20), range(27, 47), range(108, 112)

#: What replaces a page that cannot be read: another one that cannot.
_BROKEN_PAGE = b"\0"

_PADDING = " \0\t\r\n"


def serials(name: str, content: bytes) -> Iterator[str]:
    """The serial numbers in an attribute of this name."""
    text = _decoded(content).strip(_PADDING)
    if name == "serial":
        yield text
    elif name == "wwid":
        yield from _wwid_serials(text)
    elif name in ("vpd_pg80", "vpd_pg89"):
        try:
            ata = name == "vpd_pg89"
            found = (
                scsi_sysfs.parse_ata_page(content).serial
                if ata
                else scsi_sysfs.parse_serial_page(content)
            )
        except ParseError:
            return
        if found:
            yield found


def wwns(name: str, content: bytes) -> Iterator[str]:
    """The digits of the WWNs in an attribute of this name."""
    if name == "wwid" and (match := _NAMED.fullmatch(_decoded(content).strip(_PADDING))):
        yield match[2]
    elif name == "vpd_pg89":
        try:
            found = scsi_sysfs.parse_ata_page(content).wwn
        except ParseError:
            return
        if found:
            yield found.removeprefix("naa.")


def redacted(name: str, content: bytes, redactor: Redactor) -> bytes:
    """An attribute of this name without what names a drive."""
    if name == "vpd_pg80":
        return _page_80(content, redactor)
    if name == "vpd_pg89":
        return _page_89(content, redactor)
    text = _decoded(content)
    bare = text.strip(_PADDING)
    if name == "serial":
        new = redactor.serial(bare)
    elif name == "wwid":
        new = _wwid(bare, redactor)
    else:
        new = redactor.text(bare)
    head, _, tail = text.partition(bare) if bare else (text, "", "")
    return f"{head}{new}{tail}".encode("utf-8", "surrogateescape")


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _wwid_serials(text: str) -> Iterator[str]:
    if match := _NVME.fullmatch(text):
        yield bytes.fromhex(match[2]).decode("latin-1").strip(_PADDING)
    elif text.startswith("t10."):
        yield text.rsplit(maxsplit=1)[-1]
    elif not _NAMED.fullmatch(text) and not text.startswith("uuid."):
        yield text


def _wwid(text: str, redactor: Redactor) -> str:
    if match := _NAMED.fullmatch(text):
        return f"{match[1]}.{redactor.wwn(match[2])}"
    if match := _NVME.fullmatch(text):
        serial = redactor.serial(bytes.fromhex(match[2]).decode("latin-1").strip(_PADDING))
        return f"nvme.{match[1]}-{serial.encode().hex()}-{match[3]}-{match[4]}"
    if text.startswith(("t10.", "uuid.")):
        new = redactor.text(text)
        if new != text:
            return new
        last = text.rsplit(maxsplit=1)[-1]
        return text.removesuffix(last) + redactor.serial(last)
    return redactor.serial(text)


def _page_80(page: bytes, redactor: Redactor) -> bytes:
    try:
        serial = redactor.serial(scsi_sysfs.parse_serial_page(page) or "").encode()
    except ParseError:
        return _BROKEN_PAGE
    serial = serial.rjust(len(page) - 4)
    return page[:2] + len(serial).to_bytes(2, "big") + serial


def _page_89(page: bytes, redactor: Redactor) -> bytes:
    try:
        ata = scsi_sysfs.parse_ata_page(page)
    except ParseError:
        return _BROKEN_PAGE
    old = page[_SAT_HEADER_BYTES : _SAT_HEADER_BYTES + _IDENTIFY_BYTES]
    new = bytearray(_IDENTIFY_BYTES)
    for word in _KEPT_WORDS:
        new[2 * word : 2 * word + 2] = old[2 * word : 2 * word + 2]
    _put(new, _SERIAL_WORDS, redactor.serial(ata.serial or "").rjust(20))
    _put(new, _MODEL_WORDS, redactor.text(ata.model or "").ljust(40))
    if ata.wwn:
        digits = redactor.wwn(ata.wwn.removeprefix("naa."))
        for place, word in enumerate(_WWN_WORDS):
            value = int(digits[4 * place : 4 * place + 4], 16)
            new[2 * word : 2 * word + 2] = value.to_bytes(2, "little")
    length = _SAT_HEADER_BYTES - 4 + _IDENTIFY_BYTES
    return page[:2] + length.to_bytes(2, "big") + page[4:_SAT_HEADER_BYTES] + bytes(new)


def _put(identify: bytearray, words: range, text: str) -> None:
    """ATA strings have the first of two characters in the high byte, which is stored second."""
    raw = text.encode("ascii", "replace")[: 2 * len(words)]
    for place, word in enumerate(words):
        identify[2 * word : 2 * word + 2] = raw[2 * place : 2 * place + 2][::-1]
