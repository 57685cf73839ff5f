"""Reading drives with a smartctl before 7.0, which knows no --json: its text, by way of pySMART.

The report has the shape of smartctl's JSON (its keys are those of smartctl 7.0), so that all that
is made of a report is made of this one. What pySMART does not read is missing: device statistics,
link speed, WWN; a serial number is cut at its first space.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from exporter.drives.fields import Json
from exporter.errors import CommandError
from exporter.programs.command import StatusRunner
from exporter.smart import pysmart, self_tests, smartctl_text
from exporter.smart.smartctl import OLDEST, Address, version

_Pairs: TypeAlias = Iterator[tuple[str, Any]]

_LOGS = ("-i", "-H", "-A", "-c", "-l", "error", "-l", "selftest")

#: Of the exit status: there are no data.
_NO_DATA = 0b11

_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_LEADING_NUMBER = re.compile(r"(\d{1,20})(?![\d.x])")

_PASSED = "SMART overall-health self-assessment test result: PASSED"

_WHEN_FAILED = {"-": "", "FAILING_NOW": "now", "In_the_past": "past"}


def arguments(program: str, address: Address) -> list[str]:
    """The argument list that asks a drive for what pySMART can read, and leaves it asleep."""
    kind = ["-d", address.type] if address.type else []
    standby = [] if address.type.startswith("nvme") else ["-n", "standby"]
    return [program, *kind, *standby, *_LOGS, address.path]


def read(runner: StatusRunner, program: str, address: Address, timeout: float) -> Json:
    """The drive's report.

    Raises:
        CommandError: smartctl could not be run, or did not end in time.
        NotThere: pySMART is not installed.
        ParseError: pySMART cannot read the text.
    """
    if not address.path.startswith("/"):
        raise CommandError(f"{address.path!r}: a drive is named by an absolute path")
    done = runner.complete(arguments(program, address), timeout)
    return parse(done.output, done.status, address)


def parse(text: str, status: int, address: Address) -> Json:
    """What smartctl printed, in the shape of its JSON.

    Without a drive's data in it there is only smartctl's part, which says why.

    Raises:
        NotThere: pySMART is not installed.
        ParseError: pySMART cannot read the text.
    """
    lines = text.splitlines()
    protocol = smartctl_text.protocol(lines)
    report: dict[str, Any] = {
        "smartctl": _run(lines, status),
        "device": {"name": address.path, "type": address.type},
    }
    if protocol is not None and not status & _NO_DATA:
        report["device"]["protocol"] = protocol
        device = pysmart.replayed(lines, protocol)
        report |= pysmart.guarded(lambda: dict(_there(_drive(device, protocol))))
        if any(line.startswith(_PASSED) for line in lines):
            # pySMART makes a FAIL of one attribute below its threshold.
            report["smart_status"] = {"passed": True}
        report |= _support(lines)
    return report


def _run(lines: Sequence[str], status: int) -> dict[str, Any]:
    said = list(smartctl_text.complaints(lines))
    found = version(lines[0]) if lines else None
    if found is not None and found < OLDEST:
        said.append(f"smartctl {found[0]}.{found[1]} is too old for JSON: read as text, in part")
    return {
        "version": list(found or ()),
        "exit_status": status,
        "messages": [{"string": each, "severity": "information"} for each in said],
    }


def _support(lines: Sequence[str]) -> dict[str, Any]:
    """Of its two lines pySMART keeps flags that are false, too, where there is none."""
    said = [line for line in lines if line.startswith("SMART support is:")]
    if any("Unavailable" in line for line in said):
        return {"smart_support": {"available": False}}
    if any("Disabled" in line for line in said):
        return {"smart_support": {"available": True, "enabled": False}}
    return {}


def _there(pairs: _Pairs) -> _Pairs:
    for key, value in pairs:
        if value is not None and value not in ("", {}):
            yield key, value


def _drive(device: Any, protocol: str) -> _Pairs:
    yield "scsi_product" if protocol == "SCSI" else "model_name", device.model
    yield "model_family", device.family
    yield "serial_number", device.serial
    yield "firmware_version", device.firmware
    yield "user_capacity", {"bytes": device.size} if device.size else None
    yield "logical_block_size", device.logical_sector_size
    yield "rotation_rate", 0 if device.is_ssd else device.rotation_rate
    passed = {"PASS": True, "FAIL": False}.get(device.assessment)
    yield "smart_status", None if passed is None else {"passed": passed}
    if device.if_attributes is not None:
        yield from _READERS[protocol](device)


def _ata(device: Any) -> _Pairs:
    rows = {row.num: row for row in device.attributes if row is not None}
    sensor = rows.get(194, rows.get(190))
    yield "temperature", _one("current", _raw(sensor.raw) if sensor else None)
    yield "power_on_time", _one("hours", _raw(rows[9].raw) if 9 in rows else None)
    yield "power_cycle_count", _raw(rows[12].raw) if 12 in rows else None
    table = [_attribute(row) for row in rows.values()]
    yield "ata_smart_attributes", {"table": table} if table else None
    tests = [
        {
            "status": {"value": code << 4, "string": str(test.status)},
            "lifetime_hours": _digits(test.hours),
        }
        for test, code in _tests(device, "ATA")
    ]
    yield "ata_smart_self_test_log", {"standard": {"table": tests}} if tests else None


def _attribute(row: Any) -> dict[str, Any]:
    return {
        "id": row.num,
        "name": row.name,
        "value": row.value_int,
        "worst": row.worst,
        "thresh": row.thresh,
        "when_failed": _WHEN_FAILED.get(row.when_failed, ""),
        "flags": {"prefailure": row.type == "Pre-fail"},
        "raw": {"value": _raw(row.raw), "string": row.raw},
    }


def _raw(text: str) -> int | None:
    """The number in "7", "31 (Min/Max 20/45)" and "0x000100000007"; None for others.

    Of packed values that is the low word, which is what they are known by.
    """
    if _HEX.fullmatch(text):
        return int(text, 16)
    found = _LEADING_NUMBER.match(text)
    return int(found[1]) if found else None


def _nvme(device: Any) -> _Pairs:
    log = device.if_attributes
    yield "temperature", _one("current", log.temperature)
    yield "power_on_time", _one("hours", log.powerOnHours)
    yield "power_cycle_count", log.powerCycles
    known = {
        "critical_warning": log.criticalWarning,
        "temperature": log.temperature,
        "available_spare": log.availableSpare,
        "available_spare_threshold": log.availableSpareThreshold,
        "percentage_used": log.percentageUsed,
        "data_units_read": log.dataUnitsRead,
        "data_units_written": log.dataUnitsWritten,
        "host_reads": log.hostReadCommands,
        "host_writes": log.hostWriteCommands,
        "controller_busy_time": log.controllerBusyTime,
        "power_cycles": log.powerCycles,
        "power_on_hours": log.powerOnHours,
        "unsafe_shutdowns": log.unsafeShutdowns,
        "media_errors": log.integrityErrors,
        "num_err_log_entries": log.errorEntries,
        "warning_temp_time": log.warningTemperatureTime,
        "critical_comp_time": log.criticalTemperatureTime,
    }
    sensors = [device.temperatures.get(number) for number in range(1, 9)]
    if any(sensor is not None for sensor in sensors):
        known["temperature_sensors"] = sensors
    there = {key: value for key, value in known.items() if value is not None}
    yield "nvme_smart_health_information_log", there
    # smartctl reads an NVMe drive's self-test log since 7.4, which prints JSON.


def _scsi(device: Any) -> _Pairs:
    counts = device.if_attributes.diagnostics
    yield "scsi_vendor", device._vendor  # noqa: SLF001  its property guesses one from the model
    yield "temperature", _one("current", device.temperature)
    yield "power_on_time", _one("hours", counts.Power_On_Hours)
    yield "scsi_grown_defect_list", counts.Reallocated_Sector_Ct
    if counts.Life_Left is not None:
        yield "scsi_percentage_used_endurance_indicator", 100 - counts.Life_Left
    errors = {
        "read": _errors(counts.Uncorrected_Reads, counts.Reads_GB),
        "write": _errors(counts.Uncorrected_Writes, counts.Writes_GB),
        "verify": _errors(counts.Uncorrected_Verifies, counts.Verifies_GB),
    }
    yield "scsi_error_counter_log", {key: value for key, value in errors.items() if value}
    for number, (test, code) in enumerate(_tests(device, "SCSI")):
        result = {"value": code, "string": str(test.status)}
        hours = _digits(test.hours)
        yield f"scsi_self_test_{number}", {"result": result, "power_on_time": {"hours": hours}}


def _errors(uncorrected: int | None, gigabytes: float | None) -> dict[str, Any]:
    if uncorrected is None or gigabytes is None:
        return {}
    return {"total_uncorrected_errors": uncorrected, "gigabytes_processed": f"{gigabytes:.3f}"}


def _tests(device: Any, protocol: str) -> Iterator[tuple[Any, int]]:
    """The self-test log, newest first, each entry with the protocol's code of its result."""
    for test in device.tests:
        code = self_tests.code(protocol, str(test.status))
        if code is not None:
            yield test, code


def _digits(text: object) -> int | None:
    digits = str(text)
    return int(digits) if digits.isdecimal() and len(digits) < 20 else None


def _one(key: str, value: object) -> dict[str, object] | None:
    return None if value is None else {key: value}


_READERS: Mapping[str, Callable[[Any], _Pairs]] = {"ATA": _ata, "NVMe": _nvme, "SCSI": _scsi}
