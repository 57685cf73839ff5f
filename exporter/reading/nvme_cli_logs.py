"""Converts nvme-cli's output of OCP and vendor log pages back to the pages, and these to a report.

The commands are `nvme ocp smart-add-log`, `nvme wdc vs-smart-add-log` of drives with the page of
OCP, `nvme intel smart-log-add` and `nvme solidigm smart-log-add`. The output is JSON, in both
generations of keys (`--output-format-version`), or text. `log_document` decodes the pages as it
decodes those that were read from a drive.

The names are those of nvme-cli 1.9 to 3.0: plugins/ocp/ocp-print-json.c and ocp-print-stdout.c,
plugins/intel/intel-nvme.c, plugins/solidigm/solidigm-smart.c, plugins/wdc/wdc-nvme.c.
"""

import re
from collections.abc import Iterator, Mapping

from exporter.drives.fields import Json
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.log_encoding import encode_logs
from exporter.drives.nvme_logs.ocp import OCP_SMART
from exporter.drives.smartctl_text.text_lines import Report

#: The pages, and their size in bytes.
_OCP_PAGE, _ITEMS_PAGE = 0xC0, 0xCA
_PAGE_BYTES = 512

#: The PCI vendor ID of Intel. Its command prints no vendor, and `nvme id-ctrl` replaces it.
_INTEL = 0x8086

#: Position and size in page C0h of each value, keyed by its name without signs (`_plain`). One
#: value has different names in the two generations of JSON and in the text.
_OCP_NAMES: Mapping[str, tuple[int, int]] = {
    "physical media units written": (0, 16),
    "physical media units read": (16, 16),
    "bad user nand blocks raw": (32, 6),
    "bad user nand blocks normalized": (38, 2),
    "bad system nand blocks raw": (40, 6),
    "bad system nand blocks normalized": (46, 2),
    "xor recovery count": (48, 8),
    "uncorrectable read error count": (56, 8),
    "uncorrectable read errors": (56, 8),
    "soft ecc error count": (64, 8),
    "end to end detected errors": (72, 4),
    "end to end corrected errors": (76, 4),
    "system data percent used": (80, 1),
    "refresh counts": (81, 7),
    "refresh count": (81, 7),
    "max user data erase counts": (88, 4),
    "max user data erase count": (88, 4),
    "min user data erase counts": (92, 4),
    "min user data erase count": (92, 4),
    "number of thermal throttling events": (96, 1),
    "thermal throttling events": (96, 1),
    "current throttling status": (97, 1),
    "pcie correctable error count": (104, 8),
    "pcie correctable errors": (104, 8),
    "incomplete shutdowns": (112, 4),
    "percent free blocks": (120, 1),
    "capacitor health": (128, 2),
    "unaligned i o": (136, 8),
    "unaligned io": (136, 8),
    "plp start count": (160, 16),
    "endurance estimate": (176, 16),
    "pcie link retraining count": (192, 8),
    "power state change count": (200, 8),
    "total media dies": (216, 2),
    "total die failure tolerance": (218, 2),
    "media dies offline": (220, 2),
    "max temperature recorded": (222, 1),
    "nand avg erase count": (224, 8),
    "command timeouts": (232, 4),
    "sys area program fail count raw": (236, 4),
    "sys area uncorrectable read count raw": (244, 4),
    "sys area erase fail count raw": (252, 4),
    "log page version": (494, 2),
}
#: The names of the first two values, by which the output is recognized.
_OCP_FIRST = ("physical media units written", "physical media units read")

#: The identifier in page CAh of each item, keyed by its names.
_ITEM_NAMES: Mapping[str, int] = {
    "program_fail_count": 0xAB,
    "erase_fail_count": 0xAC,
    "wear_leveling": 0xAD,
    "wear_leveling_count": 0xAD,
    "unexpected_power_loss": 0xAE,
    "end_to_end_error_detection_count": 0xB8,
    "e2e_error_detect_count": 0xB8,
    "crc_error_count": 0xC7,
    "thermal_throttle_status": 0xEA,
    "nand_bytes_written": 0xF4,
    "host_bytes_written": 0xF5,
    "xor_invoked_count": 0xFE,
}
_STATS, _ITEM_ROOTS = "Device stats", ("Intel Smart log", "Solidigm SMART log")

#: The first lines of the texts.
_TEXT_STARTS = ("SMART Cloud Attributes", "Additional Smart Log for NVM")
#: The longest text, in lines, and its longest line, in characters. The texts have up to 60 lines of
#: 80 characters.
_MAX_TEXT_LINES, _MAX_LINE = 200, 200

_OCP_LINE = re.compile(
    r"\s*(\S.*?)\s*(?:-\s|[:\t]|\s{2,})[\s:]*((?:0x)?[0-9a-fA-F]+(?: +\d+)?)\s*$"
)
_ITEM_LINE = re.compile(
    r"(?:0x[0-9a-f]{1,2}\s+)?(\w+)\s*:?\s+(\d{1,3})%?\s+(\S.*?)\s*$", re.ASCII | re.IGNORECASE
)
_RAW_PARTS = re.compile(r"(?:(min|max|avg|cnt|count): )?(\d{1,15})(%?)", re.ASCII)


def is_log_text(line: str) -> bool:
    """True if a line is the first one of a text that `parse_log_text` converts."""
    return line.lstrip().startswith(_TEXT_STARTS)


def parse_log_text(text: str) -> Json | None:
    """Returns the text of one of the commands as the JSON of it; None if it is another text."""
    start = text.lstrip()[: _MAX_TEXT_LINES * _MAX_LINE].split("\n")[:_MAX_TEXT_LINES]
    lines = [line for line in start if line.strip() and len(line) <= _MAX_LINE]
    if not lines or not is_log_text(lines[0]):
        return None
    if lines[0].lstrip().startswith(_TEXT_STARTS[0]):
        return dict(_ocp_lines(lines[1:]))
    stats: dict[str, object] = {}
    for line in lines[1:]:
        match = _ITEM_LINE.match(line.strip())
        if match is not None and match[1] in _ITEM_NAMES:
            stats[match[1]] = {"normalized": int(match[2]), "raw": _text_raw(match[3])}
    return {_ITEM_ROOTS[0]: "", _STATS: stats}


def log_report(document: Json) -> Report | None:
    """Returns a document with a log page as a report; None if it is another document.

    document: the JSON that one of the commands printed, or the result of `parse_log_text`.
    """
    names = {_plain(key) for key in list(document)[:_MAX_TEXT_LINES]}
    if names.issuperset(_OCP_FIRST):
        return _report(Controller(), _OCP_PAGE, _ocp_page(document))
    stats = document.get(_STATS)
    if isinstance(stats, Mapping) and not document.keys().isdisjoint(_ITEM_ROOTS):
        return _report(Controller(vendor_id=_INTEL), _ITEMS_PAGE, _items_page(stats))
    return None


def _report(controller: Controller, page: int, data: bytes) -> Report:
    logs = encode_logs(controller, {page: (0.0, data)}, {})
    logs["pages"] = {str(page): {"hex": data.hex()}}  # the output has no time
    return logs


def _plain(name: object) -> str:
    """Returns a name in lower case, with one blank between its words and without other signs."""
    return " ".join(re.findall(r"[a-z0-9]+", str(name)[:100].lower()))


def _ocp_lines(lines: list[str]) -> Iterator[tuple[str, object]]:
    for line in lines:
        match = _OCP_LINE.match(line)
        if match is None:
            continue
        parts = match[2].split()
        if len(parts) == 2 and all(part.isdecimal() for part in parts):
            yield match[1], {"hi": int(parts[0]), "lo": int(parts[1])}
        elif parts[0].lower().startswith("0x"):
            yield match[1], int(parts[0], 16)
        elif parts[0].isdecimal():
            yield match[1], int(parts[0])


def _text_raw(text: str) -> object:
    """Returns the raw value of an item as the JSON has it."""
    parts = {name or ("pct" if percent else ""): int(n) for name, n, percent in _parts_of(text)}
    if "min" in parts or "cnt" in parts:
        return parts
    return parts.get("", 0)


def _parts_of(text: str) -> list[tuple[str, str, str]]:
    return [(match[1] or "", match[2], match[3]) for match in _RAW_PARTS.finditer(text)]


def _ocp_page(document: Json) -> bytes:
    page = bytearray(_PAGE_BYTES)
    for key, value in document.items():
        place = _OCP_NAMES.get(_plain(key))
        if place is None:
            continue
        if isinstance(value, Mapping):
            high, low = _number(value.get("hi")), _number(value.get("lo"))
            _put(page, *place, (high or 0) << 64 | low if low is not None else None)
        else:
            _put(page, *place, _number(value))
    if OCP_SMART.guid is not None:  # nvme-cli prints the page only if its GUID is this one
        page[-16:] = OCP_SMART.guid
    return bytes(page)


def _items_page(stats: Mapping[str, object]) -> bytes:
    page = bytearray(_PAGE_BYTES)
    at = 0
    for name, identifier in _ITEM_NAMES.items():
        item = stats.get(name)
        if not isinstance(item, Mapping):
            continue
        raw = item.get("raw")
        parts = {**item, **raw} if isinstance(raw, Mapping) else item
        page[at] = identifier
        _put(page, at + 3, 1, _number(item.get("normalized")))
        if "min" in parts:
            for offset, part in ((5, "min"), (7, "max"), (9, "avg")):
                _put(page, at + offset, 2, _number(parts.get(part)))
        elif identifier == 0xEA and not isinstance(raw, int):
            _put(page, at + 5, 1, _number(parts.get("pct", parts.get("percentage"))))
            _put(page, at + 6, 4, _number(parts.get("cnt", parts.get("count"))))
        else:
            _put(page, at + 5, 6, _number(raw))
        at += 12
    return bytes(page)


def _number(value: object) -> int | None:
    if isinstance(value, str) and len(value) <= 40 and value.isascii() and value.isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _put(page: bytearray, at: int, size: int, number: int | None) -> None:
    """Writes a number. One that is unknown or does not fit is written as not supported."""
    limit = 1 << 8 * size
    fits = number is not None and 0 <= number < limit
    page[at : at + size] = (number if fits and number is not None else limit - 1).to_bytes(
        size, "little"
    )
