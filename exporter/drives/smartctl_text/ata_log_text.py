"""Parses the logs of an ATA drive from smartctl's text: statistics, errors, self-tests and SCT."""

import re
from collections.abc import Mapping, Sequence

from exporter.drives.self_test_log import ATA_RESULTS
from exporter.drives.smartctl_text.text_lines import Report, is_log_row, put

#: The largest number of rows of a log that are read. The self-test log has up to 21 rows, and a
#: page of the device statistics up to 63.
_MAX_ROWS = 4096

_PAGE = re.compile(r"0x([0-9a-f]{2}) +=+ += +=+ +=+ +== (\S.*) \(rev ([0-9]{1,5})\) ==", re.ASCII)
_STATISTIC = re.compile(
    r"0x([0-9a-f]{2}) +0x([0-9a-f]{3}) +([0-9]) +(-|-?[0-9]{1,20})"
    r" +([N-][D-][C-]\+?) +(\S.*?)(?: \[([^\]]*)\])?",
    re.ASCII,
)
_STATISTIC_START = re.compile(r"0x([0-9a-f]{2}) +0x([0-9a-f]{3}) ", re.ASCII)
#: The bits of the flags of a statistic (ACS-4, 9.5.2). The first two are "supported" and "valid".
_SUPPORTED, _VALID = 0x80, 0x40
_STATISTIC_FLAGS = (("normalized", 0x20), ("supports_dsn", 0x10), ("monitored_condition_met", 0x08))

#: The key of the report to which smartctl copies a statistic, keyed by page and offset.
_COPIES: Mapping[tuple[int, int], tuple[str, ...]] = {
    (1, 0x008): ("power_cycle_count",),
    (1, 0x010): ("power_on_time", "hours"),
    (5, 0x008): ("temperature", "current"),
    (5, 0x020): ("temperature", "lifetime_max"),
    (5, 0x028): ("temperature", "lifetime_min"),
    (5, 0x050): ("temperature", "lifetime_over_limit_minutes"),
    (5, 0x058): ("temperature", "op_limit_max"),
    (5, 0x060): ("temperature", "lifetime_under_limit_minutes"),
    (5, 0x068): ("temperature", "op_limit_min"),
    (7, 0x008): ("endurance_used", "current_percent"),
}

#: The first line of each log of errors and of self-tests, and the key of its object.
_LOGS = (
    ("SMART Error Log Version:", ("ata_smart_error_log", "summary")),
    ("SMART Extended Comprehensive Error Log Version:", ("ata_smart_error_log", "extended")),
    (
        "SMART Self-test log structure revision number",
        ("ata_smart_self_test_log", "standard"),
    ),
    ("SMART Extended Self-test Log Version:", ("ata_smart_self_test_log", "extended")),
)
_ERROR_COUNT = re.compile(r"(?:ATA|Device) Error Count: ([0-9]{1,10})(?: \(.*\))?", re.ASCII)
_ERROR_COUNT_STARTS = ("ATA Error Count: ", "Device Error Count: ")

_SELF_TEST = re.compile(
    rf"# *[0-9]{{1,2}} +(\S.*?) +({'|'.join(map(re.escape, ATA_RESULTS))}"
    r"|Unknown status \(0x[0-9a-f]\)) +([0-9]{1,2})0% +([0-9]{1,5}) +(\S+)",
    re.ASCII,
)
#: The type of a test that smartctl prints with its number.
_TEST_NUMBER = re.compile(r"(?:Vendor|Reserved) \((0x[0-9a-f]{2})\)", re.ASCII)

_TEMPERATURE = r"(\S+|\S+ \S+)"
_CELSIUS = re.compile(r"-?[0-9]{1,3}", re.ASCII)
#: The temperatures of the SCT status and of the SCT temperature history, and their keys.
_SCT = tuple(
    (re.compile(pattern.replace("#", _TEMPERATURE), re.ASCII), keys)
    for pattern, keys in (
        (r"Current Temperature: +# Celsius", ("current",)),
        (
            r"Power Cycle Min/Max Temperature: +#/ *# Celsius",
            ("power_cycle_min", "power_cycle_max"),
        ),
        (r"Lifetime +Min/Max Temperature: +#/ *# Celsius", ("lifetime_min", "lifetime_max")),
        (r"Specified Max Operating Temperature: +# Celsius", ("op_limit_max",)),
        (r"Min/Max recommended Temperature: +#/ *# Celsius", ("op_limit_min", "op_limit_max")),
        (r"Min/Max Temperature Limit: +#/ *# Celsius", ("limit_min", "limit_max")),
    )
)


def put_ata_logs(report: Report, lines: Sequence[str]) -> None:
    """Adds the logs of an ATA drive to its report.

    lines: the lines of the text, as `text_report` prepares them.
    """
    _put_errors_and_self_tests(report, lines)
    _put_sct(report, lines)
    # The device statistics are last, because smartctl lets them override the other sources.
    _put_statistics(report, lines)


def _put_errors_and_self_tests(report: Report, lines: Sequence[str]) -> None:
    log: Report | None = None
    for line in lines:
        for start, (kind, name) in _LOGS if line.startswith("SMART ") else ():
            if line.startswith(start):
                log = report.setdefault(kind, {}).setdefault(name, {})
                break
        if log is None:
            continue
        if line == "No Errors Logged" or line.startswith("No self-tests have been logged"):
            log.setdefault("count", 0)
        elif line.startswith(_ERROR_COUNT_STARTS):
            count = _ERROR_COUNT.fullmatch(line)
            log.setdefault("count", line if count is None else int(count[1]))
        elif is_log_row(line):
            table = log.setdefault("table", [])
            if len(table) < _MAX_ROWS:
                test = _SELF_TEST.fullmatch(line)
                table.append({"status": {"value": line}} if test is None else _self_test(test))
                log["count"] = len(table)


def _self_test(row: re.Match[str]) -> Report:
    kind, status, remaining, hours, sector = row.groups()
    code = ATA_RESULTS.get(status)
    if code is None:
        code = int(status[-2], 16)
    test: Report = {
        "type": {"string": kind},
        "status": {"value": code << 4 | min(int(remaining), 15), "string": status},
        "lifetime_hours": int(hours),
    }
    if (number := _TEST_NUMBER.fullmatch(kind)) is not None:
        test["type"]["value"] = int(number[1], 16)
    if sector.isdecimal() and len(sector) <= 20:
        test["lba"] = int(sector)
    return test


def _put_sct(report: Report, lines: Sequence[str]) -> None:
    for line in lines:
        if "Temperature" not in line:
            continue
        for pattern, keys in _SCT:
            match = pattern.fullmatch(line)
            if match is not None:
                for key, text in zip(keys, match.groups(), strict=True):
                    if text not in ("?", "--"):
                        number = int(text) if _CELSIUS.fullmatch(text) else text
                        put(report, number, "temperature", key)


def _put_statistics(report: Report, lines: Sequence[str]) -> None:
    pages: dict[int, Report] = {}
    for line in lines:
        if not line.startswith("0x"):
            continue
        header = _PAGE.fullmatch(line)
        if header is not None:
            number = int(header[1], 16)
            page: Report = {"number": number, "name": header[2], "revision": int(header[3])}
            pages.setdefault(number, {**page, "table": []})
            continue
        start = _STATISTIC_START.match(line)
        its_page = None if start is None else pages.get(int(start[1], 16))
        if start is None or its_page is None or len(its_page["table"]) >= _MAX_ROWS:
            continue
        row = _STATISTIC.fullmatch(line)
        its_page["table"].append(
            {"offset": int(start[2], 16), "value": line, "flags": {"valid": True}}
            if row is None
            else _statistic(report, row)
        )
    if pages:
        put(report, list(pages.values()), "ata_device_statistics", "pages")


def _statistic(report: Report, row: re.Match[str]) -> Report:
    page, offset, size, text, letters, name, note = row.groups()
    is_valid = text != "-"
    statistic: Report = {"offset": int(offset, 16), "name": name, "size": int(size)}
    if is_valid:
        statistic["value"] = int(text)
        copy = _COPIES.get((int(page, 16), int(offset, 16)))
        if copy is not None:
            put(report, int(text), *copy)
    put(statistic, note, "string")
    flags: Report = {"value": _SUPPORTED | (_VALID if is_valid else 0)}
    flags["string"] = f"{'V' if is_valid else '-'}{letters:<4}"
    flags["valid"] = is_valid
    for (key, bit), letter in zip(_STATISTIC_FLAGS, letters, strict=False):
        flags[key] = letter != "-"
        flags["value"] |= bit if flags[key] else 0
    statistic["flags"] = flags
    return statistic
