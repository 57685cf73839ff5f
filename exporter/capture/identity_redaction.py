"""Finds and replaces the identifiers of drives in sysfs attributes.

These attributes are serial, wwid, vpd_pg80, vpd_pg89, and texts such as model. The two VPD pages
are rebuilt from the fields that the exporter reads, because their other bytes may contain
identifiers of any kind.
"""

import re
from collections.abc import Iterator

from exporter.capture.redactor import Redactor
from exporter.linux import scsi_sysfs
from exporter.runtime.errors import ParseError

_NAMED = re.compile(r"(naa|eui)\.([0-9A-Fa-f]{16}|[0-9A-Fa-f]{32})")
_NVME = re.compile(r"nvme\.([0-9a-f]{1,8})-((?:[0-9a-f]{2})*)-((?:[0-9a-f]{2})*)-([0-9a-f]{8})")

#: The header of VPD page 0x89 before the IDENTIFY DEVICE data, in bytes (SAT).
_SAT_HEADER_BYTES = 60
_IDENTIFY_BYTES = 512

#: The numbers of the words of IDENTIFY DEVICE (ACS) that are copied: the firmware version, the SATA
#: capabilities, and the flag that says whether there is a WWN.
_KEPT_WORDS = (*range(23, 27), 76, 87)
_SERIAL_WORDS, _MODEL_WORDS, _WWN_WORDS = range(10, 20), range(27, 47), range(108, 112)

#: The replacement for a page that cannot be parsed. The replacement cannot be parsed either, so
#: that the capture has the same fault as the host.
_INVALID_PAGE = b"\0"

_PADDING = " \0\t\r\n"


def serials(name: str, content: bytes) -> Iterator[str]:
    """Yields the serial numbers in a sysfs attribute.

    name: the file name of the attribute. Attributes with other names than serial, wwid, vpd_pg80
        and vpd_pg89 yield nothing.
    content: the content of the attribute.
    """
    text = _decode(content).strip(_PADDING)
    if name == "serial":
        yield text
    elif name == "wwid":
        yield from _wwid_serials(text)
    elif name in ("vpd_pg80", "vpd_pg89"):
        try:
            if name == "vpd_pg89":
                serial = scsi_sysfs.parse_ata_page(content).serial
            else:
                serial = scsi_sysfs.parse_serial_page(content)
        except ParseError:
            return
        if serial:
            yield serial


def wwns(name: str, content: bytes) -> Iterator[str]:
    """Yields the hexadecimal digits of the WWNs in a sysfs attribute.

    name: the file name of the attribute. Attributes with other names than wwid and vpd_pg89 yield
        nothing.
    content: the content of the attribute.
    """
    if name == "wwid" and (match := _NAMED.fullmatch(_decode(content).strip(_PADDING))):
        yield match[2]
    elif name == "vpd_pg89":
        try:
            wwn = scsi_sysfs.parse_ata_page(content).wwn
        except ParseError:
            return
        if wwn:
            yield wwn.removeprefix("naa.")


def redact_attribute(name: str, content: bytes, redactor: Redactor) -> bytes:
    """Returns the content of a sysfs attribute without identifiers.

    White space at both ends of a text stays unchanged.

    name: the file name of the attribute.
    content: the content of the attribute.
    """
    if name == "vpd_pg80":
        return _redact_page_80(content, redactor)
    if name == "vpd_pg89":
        return _redact_page_89(content, redactor)
    text = _decode(content)
    bare = text.strip(_PADDING)
    if name == "serial":
        new = redactor.serial(bare)
    elif name == "wwid":
        new = _redact_wwid(bare, redactor)
    else:
        new = redactor.text(bare)
    head, _, tail = text.partition(bare) if bare else (text, "", "")
    return f"{head}{new}{tail}".encode("utf-8", "surrogateescape")


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _wwid_serials(text: str) -> Iterator[str]:
    if match := _NVME.fullmatch(text):
        yield bytes.fromhex(match[2]).decode("latin-1").strip(_PADDING)
    elif text.startswith("t10."):
        yield text.rsplit(maxsplit=1)[-1]
    elif not _NAMED.fullmatch(text) and not text.startswith("uuid."):
        yield text


def _redact_wwid(text: str, redactor: Redactor) -> str:
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


def _redact_page_80(page: bytes, redactor: Redactor) -> bytes:
    try:
        serial = redactor.serial(scsi_sysfs.parse_serial_page(page) or "").encode()
    except ParseError:
        return _INVALID_PAGE
    serial = serial.rjust(len(page) - 4)
    return page[:2] + len(serial).to_bytes(2, "big") + serial


def _redact_page_89(page: bytes, redactor: Redactor) -> bytes:
    try:
        ata = scsi_sysfs.parse_ata_page(page)
    except ParseError:
        return _INVALID_PAGE
    old = page[_SAT_HEADER_BYTES : _SAT_HEADER_BYTES + _IDENTIFY_BYTES]
    new = bytearray(_IDENTIFY_BYTES)
    for word in _KEPT_WORDS:
        new[2 * word : 2 * word + 2] = old[2 * word : 2 * word + 2]
    _put_string(new, _SERIAL_WORDS, redactor.serial(ata.serial or "").rjust(20))
    _put_string(new, _MODEL_WORDS, redactor.text(ata.model or "").ljust(40))
    if ata.wwn:
        digits = redactor.wwn(ata.wwn.removeprefix("naa."))
        for index, word in enumerate(_WWN_WORDS):
            value = int(digits[4 * index : 4 * index + 4], 16)
            new[2 * word : 2 * word + 2] = value.to_bytes(2, "little")
    length = _SAT_HEADER_BYTES - 4 + _IDENTIFY_BYTES
    return page[:2] + length.to_bytes(2, "big") + page[4:_SAT_HEADER_BYTES] + bytes(new)


def _put_string(identify: bytearray, words: range, text: str) -> None:
    # Each word contains two characters. The first one is in the high byte, which is stored second.
    encoded = text.encode("ascii", "replace")[: 2 * len(words)]
    for index, word in enumerate(words):
        identify[2 * word : 2 * word + 2] = encoded[2 * index : 2 * index + 2][::-1]
