"""Parses the report of a SCSI or SAS drive from smartctl's text."""

import re
from collections.abc import Mapping, Sequence

from exporter.drives.self_test_log import SCSI_RESULTS
from exporter.drives.smartctl_text.text_lines import Report, is_log_row, put, whole_integer

_TEXTS = (
    ("Vendor", "scsi_vendor"),
    ("Product", "scsi_product"),
    ("Revision", "scsi_revision"),
    ("Compliance", "scsi_version"),
    ("Logical Unit id", "logical_unit_id"),
    ("Serial number", "serial_number"),
)

#: A row of the error counter log: five counters, the processed gigabytes, and the uncorrected
#: errors. The locale decides on the decimal point.
_ERRORS = re.compile(
    r"(read|write|verify): +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+)"
    r" +([0-9]+)[.,]([0-9]{3}) +([0-9]+)",
    re.ASCII,
)
_ERROR_KEYS = (
    "errors_corrected_by_eccfast",
    "errors_corrected_by_eccdelayed",
    "errors_corrected_by_rereads_rewrites",
    "total_errors_corrected",
    "correction_algorithm_invocations",
)
#: The largest length of a row of that log, in characters. It limits the digits of a number.
_MAX_ROW_CHARACTERS = 256

_FAILING = re.compile(r"SMART Health Status: (.+?) \[asc=([0-9a-f]{1,2}), ascq=([0-9a-f]{1,2})\]")
_POWER_ON = re.compile(
    r"(?:Accumulated power on time, hours:minutes|number of hours powered up =)"
    r" *([0-9]{1,10})(?::([0-9]{2})|[.,]([0-9]{2}))?(?: \[[0-9]+ minutes\])?",
    re.ASCII,
)
_CURRENT_CELSIUS = re.compile(r"Current temperature = (-?[0-9]{1,3})", re.ASCII)
_PENDING = re.compile(r"Pending defect count: *([0-9]{1,10}) [A-Z].*", re.ASCII)
_PERCENT_USED = re.compile(
    r"Percentage used endurance indicator: ([0-9]{1,3})%", re.ASCII | re.IGNORECASE
)
#: The start of the lines with these numbers in lower case, and the keys of the numbers.
_NUMBERS = (
    ("accumulated power on time", ("power_on_time", "hours")),
    ("number of hours powered up", ("power_on_time", "hours")),
    ("percentage used endurance indicator", ("scsi_percentage_used_endurance_indicator",)),
    ("pending defect count", ("scsi_pending_defects", "count")),
)

_SELF_TEST = re.compile(
    rf"# *[0-9]{{1,2}} +(\S.*?) +({'|'.join(map(re.escape, SCSI_RESULTS))})(?: -->)? "
    r"+(?:-|[0-9]{1,3}) +([0-9]{1,5}|NOW)(?: (?:-|0x[0-9a-f]{1,16}|[0-9]{1,20}) \[[^\]]*\])?",
    re.ASCII,
)
#: The codes of the tests that smartctl prints with their number.
_RESERVED_CODE = re.compile(r"Reserved ?\(([0-9])\)", re.ASCII)
#: The number of entries in the Self-Test Results log page (SPC).
_MAX_SELF_TESTS = 20

_PORT = re.compile(r"relative target port id = ([0-9]{1,5})", re.ASCII)
_LINK_RATE = re.compile(r"negotiated logical link rate: (.+)")
_PHY_COUNT = re.compile(r"([A-Z][A-Za-z ]+?)(?: count)? = (.+)")
#: The names of the counters without the word "count", which smartctl 7.2 and older do not print
#: after all of them.
_PHY_KEYS = {
    "Invalid DWORD": "invalid_dword_count",
    "Running disparity error": "running_disparity_error_count",
    "Loss of DWORD synchronization": "loss_of_dword_synchronization_count",
    "Phy reset problem": "phy_reset_problem_count",
}
#: The largest numbers of ports and of phys per port that are read.
_MAX_PORTS = 16
_MAX_PHYS = 64


def parse_scsi(lines: Sequence[str], values: Mapping[str, str]) -> Report:
    """Returns the report of a SCSI or SAS drive.

    lines: the lines of the text, as `text_report` prepares them. values: the named values in them.
    """
    report: Report = {"device": {"type": "scsi", "protocol": "SCSI"}}
    for name, key in _TEXTS:
        put(report, values.get(name), key)
    model = " ".join(filter(None, (values.get("Vendor"), values.get("Product"))))
    put(report, model or None, "model_name")
    put(report, whole_integer(values.get("User Capacity")), "user_capacity", "bytes")
    put(report, whole_integer(values.get("Logical block size")), "logical_block_size")
    put(report, whole_integer(values.get("Physical block size")), "physical_block_size")
    rate = values.get("Rotation Rate", "")
    is_ssd = rate == "Solid State Device"
    put(report, 0 if is_ssd else whole_integer(rate), "rotation_rate")
    put(report, whole_integer(values.get("Current Drive Temperature")), "temperature", "current")
    put(report, whole_integer(values.get("Drive Trip Temperature")), "temperature", "drive_trip")
    put(
        report,
        whole_integer(values.get("Elements in grown defect list")),
        "scsi_grown_defect_list",
    )
    if values.get("SMART Health Status") == "OK":
        put(report, True, "smart_status", "passed")
    for line in lines:
        _put_line(report, line)
    _put_self_tests(report, lines)
    _put_ports(report, lines)
    return report


def _put_line(report: Report, line: str) -> None:
    if line.startswith(("read:", "write:", "verify:")):
        errors = _ERRORS.fullmatch(line[:_MAX_ROW_CHARACTERS])
        if errors is not None:
            _put_errors(report, errors)
        else:
            keys = ("total_uncorrected_errors", "gigabytes_processed", *_ERROR_KEYS[:3])
            kind = line.partition(":")[0]
            put(report, dict.fromkeys(keys, line), "scsi_error_counter_log", kind)
    elif (failing := _FAILING.fullmatch(line)) is not None:
        put(report, False, "smart_status", "passed")
        scsi = {"asc": int(failing[2], 16), "ascq": int(failing[3], 16), "ie_string": failing[1]}
        put(report, scsi, "smart_status", "scsi")
    elif (time := _POWER_ON.fullmatch(line)) is not None:
        put(report, int(time[1]), "power_on_time", "hours")
        put(report, _minutes(time[2], time[3]), "power_on_time", "minutes")
    elif (used := _PERCENT_USED.fullmatch(line)) is not None:
        put(report, int(used[1]), "scsi_percentage_used_endurance_indicator")
    elif (pending := _PENDING.fullmatch(line)) is not None:
        put(report, int(pending[1]), "scsi_pending_defects", "count")
    elif (celsius := _CURRENT_CELSIUS.fullmatch(line)) is not None:
        reports = report.setdefault("scsi_environmental_reports", {})
        reports.setdefault(f"temperature_{len(reports) + 1}", {"current": int(celsius[1])})
    elif (path := _path_of_number(line)) is not None and not report.get(path[0]):
        put(report, line, *path)


def _path_of_number(line: str) -> tuple[str, ...] | None:
    """Returns the keys of the number in a line that is not parsed; None if it has no number."""
    has_digits = any(character.isdecimal() for character in line)
    paths = (path for start, path in _NUMBERS if has_digits and line.lower().startswith(start))
    return next(paths, None)


def _put_errors(report: Report, row: re.Match[str]) -> None:
    kind, *counters, whole, thousandths, uncorrected = row.groups()
    errors: Report = {key: int(count) for key, count in zip(_ERROR_KEYS, counters, strict=True)}
    errors["gigabytes_processed"] = f"{whole}.{thousandths}"
    errors["total_uncorrected_errors"] = int(uncorrected)
    put(report, errors, "scsi_error_counter_log", kind)


def _put_self_tests(report: Report, lines: Sequence[str]) -> None:
    number = 0
    for line in lines:
        if not is_log_row(line) or number >= _MAX_SELF_TESTS:
            continue
        row = _SELF_TEST.fullmatch(line)
        report[f"scsi_self_test_{number}"] = _self_test(row) if row else {"result": {"value": line}}
        number += 1


def _self_test(row: re.Match[str]) -> Report:
    kind, result, hours = row.groups()
    test: Report = {
        "code": {"string": kind},
        "result": {"value": SCSI_RESULTS[result], "string": result},
    }
    if (reserved := _RESERVED_CODE.fullmatch(kind)) is not None:
        test["code"]["value"] = int(reserved[1])
    if hours != "NOW":
        test["power_on_time"] = {"hours": int(hours)}
    return test


def _put_ports(report: Report, lines: Sequence[str]) -> None:
    """Adds the rate and the error counters of each phy. A port consists of one or more phys."""
    ports = 0
    port: Report = {}
    phy: Report = {}
    for line in lines:
        if (start := _PORT.fullmatch(line)) is not None:
            if ports == _MAX_PORTS:
                return
            port, phy = {"relative_target_port_id": int(start[1])}, {}
            report[f"scsi_sas_port_{ports}"] = port
            ports += 1
        elif port and line.startswith("phy identifier = ") and len(port) <= _MAX_PHYS:
            phy = port[f"phy_{len(port) - 1}"] = {}
        elif port and (rate := _LINK_RATE.fullmatch(line)) is not None:
            phy["negotiated_logical_link_rate"] = rate[1]
        elif port and (count := _PHY_COUNT.fullmatch(line)) is not None and count[1] in _PHY_KEYS:
            phy[_PHY_KEYS[count[1]]] = whole_integer(count[2])


def _minutes(minutes: str | None, hundredths: str | None) -> int | None:
    """Returns the part of an hour in minutes; smartctl prints minutes, or hundredths of an hour."""
    if hundredths is not None:
        return min(round(int(hundredths) * 0.6), 59)
    return None if minutes is None else int(minutes)
