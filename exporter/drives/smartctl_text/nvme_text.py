"""Parses the identity, health log and self-test log of an NVMe drive from smartctl's text."""

import re
from collections.abc import Mapping, Sequence

from exporter.drives.self_test_log import NVME_RESULTS
from exporter.drives.smartctl_text.text_lines import Report, put, whole_integer

_LOG = "nvme_smart_health_information_log"

#: The data unit of the specification: one thousand blocks of 512 bytes.
_DATA_UNIT_BYTES = 512_000

#: The names of the counters in the health log, and their keys in the JSON.
_COUNTERS = (
    ("Data Units Read", "data_units_read"),
    ("Data Units Written", "data_units_written"),
    ("Host Read Commands", "host_reads"),
    ("Host Write Commands", "host_writes"),
    ("Controller Busy Time", "controller_busy_time"),
    ("Power Cycles", "power_cycles"),
    ("Power On Hours", "power_on_hours"),
    ("Unsafe Shutdowns", "unsafe_shutdowns"),
    ("Media and Data Integrity Errors", "media_errors"),
    ("Error Information Log Entries", "num_err_log_entries"),
    ("Warning Comp. Temperature Time", "warning_temp_time"),
    ("Critical Comp. Temperature Time", "critical_comp_time"),
)
_PERCENTAGES = (
    ("Available Spare", "available_spare"),
    ("Available Spare Threshold", "available_spare_threshold"),
    ("Percentage Used", "percentage_used"),
)
#: The limits of the composite temperature, and their two places in the JSON.
_LIMITS = (
    ("Warning Comp. Temp. Threshold", "warning", "op_limit_max"),
    ("Critical Comp. Temp. Threshold", "critical", "critical_limit_max"),
)

#: The largest number of temperature sensors in the log.
_MAX_SENSORS = 8

_KINDS = {"Short": 1, "Extended": 2, "Vendor specific": 14}
_SELF_TEST = re.compile(
    rf"[0-9]{{1,2}} +(\S.*?) +({'|'.join(map(re.escape, NVME_RESULTS))}"
    r"|Unknown result \(0x[0-9a-f]\)) +([0-9]{1,20})(?: +(?:-|\*|0x[0-9a-f]+|[0-9]+)){5}",
    re.ASCII,
)
_UNKNOWN_KIND = re.compile(r"Unknown \((0x[0-9a-f])\)", re.ASCII)
_SELF_TEST_LOG = "Self-test Log (NVMe Log 0x06"
#: The number of entries in the self-test log.
_MAX_SELF_TESTS = 20

_NAMESPACE = re.compile(r"Namespace ([0-9]{1,10}) (.+)", re.ASCII)
_EUI64 = re.compile(r"([0-9a-f]{6}) ([0-9a-f]{10})", re.ASCII)


def parse_nvme(lines: Sequence[str], values: Mapping[str, str]) -> Report:
    """Returns the report of an NVMe drive.

    lines: the lines of the text, as `text_report` prepares them. values: the named values in them.
    """
    report: Report = {"device": {"type": "nvme", "protocol": "NVMe"}}
    put(report, values.get("Model Number"), "model_name")
    put(report, values.get("Serial Number"), "serial_number")
    put(report, values.get("Firmware Version"), "firmware_version")
    put(report, values.get("NVMe Version"), "nvme_version", "string")
    total = whole_integer(values.get("Total NVM Capacity"))
    put(report, total, "nvme_total_capacity")
    _put_namespace(report, values)
    result = values.get("SMART overall-health self-assessment test result", "")
    passed = {"PASSED": True, "FAILED!": False}.get(result)
    put(report, passed, "smart_status", "passed")
    for name, level, key in _LIMITS:
        limit = whole_integer(values.get(name))
        put(report, limit, "nvme_composite_temperature_threshold", level)
        put(report, _number(limit), "temperature", key)
    _put_health_log(report, values)
    _put_self_tests(report, lines)
    return report


def _put_namespace(report: Report, values: Mapping[str, str]) -> None:
    namespace: Report = {}
    for name, value in values.items():
        match = _NAMESPACE.fullmatch(name)
        if match is None or namespace.setdefault("id", int(match[1])) != int(match[1]):
            continue
        if match[2] in ("Size/Capacity", "Capacity"):
            put(report, whole_integer(value), "user_capacity", "bytes")
        elif match[2] == "Formatted LBA Size":
            block = whole_integer(value)
            put(namespace, block, "formatted_lba_size")
            put(report, block, "logical_block_size")
        elif match[2] == "IEEE EUI-64" and (eui64 := _EUI64.fullmatch(value)) is not None:
            namespace["eui64"] = {"oui": int(eui64[1], 16), "ext_id": int(eui64[2], 16)}
    if namespace:
        report["nvme_namespaces"] = [namespace]


def _put_health_log(report: Report, values: Mapping[str, str]) -> None:
    log: Report = {}
    warning = values.get("Critical Warning")
    is_number = re.fullmatch(r"0x[0-9a-f]{2}", warning or "", re.ASCII | re.IGNORECASE)
    put(log, int(warning, 16) if warning and is_number else warning, "critical_warning")
    celsius = whole_integer(values.get("Temperature"))
    put(log, celsius, "temperature")
    for name, key in _PERCENTAGES:
        put(log, whole_integer(values.get(name)), key)
    for name, key in _COUNTERS:
        unit_bytes = _DATA_UNIT_BYTES if key.startswith("data_units") else 1
        put(log, whole_integer(values.get(name), unit_bytes), key)
    sensors = [
        whole_integer(values.get(f"Temperature Sensor {number}"))
        for number in range(1, _MAX_SENSORS + 1)
    ]
    while sensors and sensors[-1] is None:
        sensors.pop()
    if sensors:
        log["temperature_sensors"] = sensors
    if not log:
        return
    report[_LOG] = log
    # smartctl copies these values. A copy of a text would be a second fault of the same field.
    put(report, _number(celsius), "temperature", "current")
    put(report, _number(log.get("power_cycles")), "power_cycle_count")
    put(report, _number(log.get("power_on_hours")), "power_on_time", "hours")


def _number(value: int | str | None) -> int | None:
    return value if isinstance(value, int) else None


def _put_self_tests(report: Report, lines: Sequence[str]) -> None:
    starts = [number for number, line in enumerate(lines) if line.startswith(_SELF_TEST_LOG)]
    if not starts:
        return
    table: list[Report] = []
    for line in lines[starts[0] : starts[0] + 3 + _MAX_SELF_TESTS]:
        if not line:
            break
        row = _SELF_TEST.fullmatch(line)
        if row is None:
            if line[:1].isdecimal():
                table.append({"self_test_result": {"value": line}})
            continue
        kind, result, hours = row.groups()
        code = NVME_RESULTS[result] if result in NVME_RESULTS else int(result[-2], 16)
        table.append(
            {
                "self_test_code": {"value": _code(kind), "string": kind},
                "self_test_result": {"value": code, "string": result},
                "power_on_hours": int(hours),
            }
        )
    report["nvme_self_test_log"] = {"table": table} if table else {}


def _code(kind: str) -> int | str:
    """Returns the code of a test. An unknown text is returned as it is, and becomes a fault."""
    unknown = _UNKNOWN_KIND.fullmatch(kind)
    return int(unknown[1], 16) if unknown else _KINDS.get(kind, kind)
