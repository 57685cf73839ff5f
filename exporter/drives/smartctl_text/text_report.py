"""Parses the text output of smartctl for one drive."""

import re
from collections.abc import Mapping, Sequence

from exporter.drives.fields import Json
from exporter.drives.smartctl_text.ata_log_text import put_ata_logs
from exporter.drives.smartctl_text.ata_text import parse_ata
from exporter.drives.smartctl_text.nvme_text import parse_nvme
from exporter.drives.smartctl_text.scsi_text import parse_scsi
from exporter.drives.smartctl_text.text_lines import Report, named_values, put

#: The largest length of a line, in characters. Longer lines are cut. No line of smartctl is nearly
#: as long.
_MAX_LINE_CHARACTERS = 1024

#: The first line of smartctl's output.
_BANNER = re.compile(r"smartctl (?:pre-)?([0-9]{1,3})\.([0-9]{1,3})\b.*", re.ASCII)

#: Matches the messages that say why a drive, or a part of its data, could not be read. The JSON
#: contains them as `smartctl.messages`.
_MESSAGE = re.compile(
    r"Smartctl open device: .* failed: .*|.*: Unable to detect device type"
    r"|.*(?:Unknown|Unsupported) USB bridge.*|.*: Unknown device type .*"
    r"|Read [A-Za-z0-9 -]+ failed: .*|Device is in .{1,40} mode, exit\([0-9]{1,3}\)"
    r"|SMART Status .*(?:failed|not supported).*|.*requires option '.*|.*adding '-d .*",
    re.ASCII,
)
#: The largest number of messages that are kept.
_MAX_MESSAGES = 20

_DATABASE_WARNING = "==> WARNING:"

#: The names of lines that only one protocol has.
_NVME_NAMES = ("Model Number", "NVMe Version", "Critical Warning")
_ATA_NAMES = ("Device Model", "ATA Version is", "SATA Version is", "LU WWN Device Id")
_SCSI_NAMES = ("Vendor", "Product", "Logical Unit id", "SMART Health Status")

#: Lines of an ATA drive in output without its identity, such as that of `smartctl -A`.
_ATA_LINES = (
    "Vendor Specific SMART Attributes with Thresholds:",
    "Device Statistics (GP Log 0x04)",
    "Device Statistics (SMART Log 0x04)",
)
_NVME_LINE = "SMART/Health Information (NVMe Log 0x02"


def is_banner(line: str) -> bool:
    """True if the line is the first one of smartctl's output, which names its version."""
    return _BANNER.fullmatch(line.strip()) is not None


def parse_text(text: str) -> Json | None:
    """Returns the report that `smartctl --json` prints for the same drive, without unused keys.

    text: the output of `smartctl -x`, `-a`, or several of its options, for one drive. Each run of
        white space counts as one space.

    None if the text is not the output of smartctl. A value that is missing in the text is missing
    in the report. `smartctl.exit_status` is always missing.
    """
    lines = [" ".join(line[:_MAX_LINE_CHARACTERS].split()) for line in text.split("\n")]
    values = named_values(lines)
    report = _drive_report(lines, values)
    program = _program(lines)
    if report is None and not program:
        return None
    report = report or {}
    report["smartctl"] = program
    if report.get("device"):
        _put_smart_support(report, lines)
    return report


def _drive_report(lines: Sequence[str], values: Mapping[str, str]) -> Report | None:
    """Returns the report without the part about smartctl. None if the protocol is unknown."""
    if any(name in values for name in _NVME_NAMES) or _has_line(lines, _NVME_LINE):
        return parse_nvme(lines, values)
    is_ata = any(name in values for name in _ATA_NAMES)
    if is_ata or any(line in _ATA_LINES for line in lines):
        report = parse_ata(lines, values)
        put_ata_logs(report, lines)
        return report
    if any(name in values for name in _SCSI_NAMES):
        return parse_scsi(lines, values)
    return None


def _has_line(lines: Sequence[str], start: str) -> bool:
    return any(line.startswith(start) for line in lines)


def _program(lines: Sequence[str]) -> Report:
    """Returns the version of smartctl, its messages, and the warnings of its drive database."""
    program: Report = {}
    for line in lines:
        banner = _BANNER.fullmatch(line)
        if banner is not None:
            program["version"] = [int(banner[1]), int(banner[2])]
            break
    messages = [
        {"string": line, "severity": "error"} for line in lines if _MESSAGE.fullmatch(line)
    ][:_MAX_MESSAGES]
    put(program, messages or None, "messages")
    if _has_line(lines, _DATABASE_WARNING):
        # `--json=o` adds the text output to the JSON. It is the only place of these warnings.
        program["output"] = list(lines)
    return program


def _put_smart_support(report: Report, lines: Sequence[str]) -> None:
    for line in lines:
        name, _, value = line.partition(":")
        if name != "SMART support is":
            continue
        state = value.strip()
        if state.startswith(("Available", "Unavailable")):
            put(report, state.startswith("Available"), "smart_support", "available")
        elif state in ("Enabled", "Disabled"):
            put(report, state == "Enabled", "smart_support", "enabled")
