"""Parses smartctl's text with pySMART, as an independent check of the values from its JSON.

The JSON of `smartctl --json=co` also contains the text, in `smartctl.output`. One process therefore
provides both.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from exporter.drives.fields import Json
from exporter.runtime.errors import NotAvailable, ParseError
from exporter.smart import pysmart, self_tests

Value: TypeAlias = str | float | bool

#: The values that pySMART parses, in base units (bytes, seconds, ratios, degrees Celsius), keyed by
#: name. A name is a field of `DriveIdentity` or `DriveHealth`, or formed from one, such as
#: "host_read_bytes". For the ATA attribute 5 the names are "attribute 5 raw", "attribute 5 value",
#: "attribute 5 worst" and "attribute 5 threshold".
Opinion: TypeAlias = Mapping[str, Value]

_PLAIN_NUMBER = re.compile(r"\d+")

#: The unit of NVMe's data units read and written: 1000 blocks of 512 bytes.
_DATA_UNIT_BYTES = 512_000


def second_opinion(report: Json) -> Opinion:
    """Returns the values that pySMART parses from the text of a report, keyed by name.

    Unknown values are left out.

    report: the JSON output of `smartctl --json=co` or `--json=o`.

    Raises:
        NotAvailable: the report has no text, or pySMART is not installed.
        ParseError: pySMART cannot parse the text, or the report does not contain the protocol.
    """
    run, drive = report.get("smartctl"), report.get("device")
    output = run.get("output") if isinstance(run, Mapping) else None
    if not isinstance(output, list) or not output:
        raise NotAvailable("smartctl's report has no text; run smartctl with --json=co")
    protocol = drive.get("protocol") if isinstance(drive, Mapping) else None
    if not isinstance(protocol, str):
        raise ParseError("smartctl's report does not contain the drive's protocol")
    device = pysmart.parse_device([line for line in output if isinstance(line, str)], protocol)
    return pysmart.call(lambda: dict(_known(_values(device, protocol))))


def _known(pairs: Iterator[tuple[str, Value | None]]) -> Iterator[tuple[str, Value]]:
    """Yields the pairs of name and value whose value is known."""
    for name, value in pairs:
        if value is not None and value != "":
            yield name, value


def _values(device: Any, protocol: str) -> Iterator[tuple[str, Value | None]]:
    yield "model", device.model
    yield "serial", device.serial
    yield "firmware", device.firmware
    yield "family", device.family
    yield "capacity_bytes", device.size or None
    yield "logical_block_bytes", device.logical_sector_size
    yield "rotational", _rotational(device)
    # pySMART's assessment WARN means that an attribute failed in the past. It replaces the drive's
    # own PASS or FAIL, which is then unknown.
    yield "healthy", {"PASS": True, "FAIL": False}.get(device.assessment)
    for test in device.tests:
        verdict = self_tests.passed(protocol, str(test.status))
        if verdict is not None:
            yield "self_test_passed", verdict
            break
    if device.if_attributes is not None:
        yield from _READERS[protocol](device)


def _rotational(device: Any) -> bool | None:
    if device.is_ssd:
        return False
    return None if device.rotation_rate is None else True


def _nvme(device: Any) -> Iterator[tuple[str, Value | None]]:
    log = device.if_attributes
    yield "temperature_celsius", log.temperature
    yield "spare_ratio", _scaled(log.availableSpare, 0.01)
    yield "spare_threshold_ratio", _scaled(log.availableSpareThreshold, 0.01)
    yield "endurance_used_ratio", _scaled(log.percentageUsed, 0.01)
    # bytesRead is not used: pySMART parses it from the text in brackets, which has only three
    # digits.
    yield "host_read_bytes", _scaled(log.dataUnitsRead, _DATA_UNIT_BYTES)
    yield "host_written_bytes", _scaled(log.dataUnitsWritten, _DATA_UNIT_BYTES)
    yield "controller_busy_seconds", _scaled(log.controllerBusyTime, 60)
    yield "power_on_seconds", _scaled(log.powerOnHours, 3600)
    yield "power_cycles", log.powerCycles
    yield "unsafe_shutdowns", log.unsafeShutdowns
    yield "media_errors", log.integrityErrors
    yield "error_log_entries", log.errorEntries
    yield "over_temperature_warning_seconds", _scaled(log.warningTemperatureTime, 60)
    yield "over_temperature_critical_seconds", _scaled(log.criticalTemperatureTime, 60)


def _ata(device: Any) -> Iterator[tuple[str, Value | None]]:
    rows = {row.num: row for row in device.attributes if row is not None}
    for number, row in rows.items():
        yield f"attribute {number} raw", " ".join(row.raw.split())
        yield f"attribute {number} value", row.value_int
        yield f"attribute {number} worst", row.worst
        yield f"attribute {number} threshold", row.thresh
    # pySMART's `temperature` is not used: it prefers attribute 190, which is the airflow
    # temperature on many drives.
    yield "temperature_celsius", _first_digits(rows.get(194, rows.get(190)))
    yield "reallocated_sectors", _number(rows.get(5))
    yield "pending_sectors", _number(rows.get(197))
    yield "power_cycles", _number(rows.get(12))
    yield "power_on_seconds", _scaled(_first_digits(rows.get(9)), 3600)


def _number(row: Any) -> int | None:
    """Returns the raw value of an attribute if it is a plain number, else None.

    Some raw values contain several numbers. pySMART's own number would be only a part of these.
    """
    return int(row.raw) if row is not None and _PLAIN_NUMBER.fullmatch(row.raw) else None


def _first_digits(row: Any) -> int | None:
    """Returns the first number in the raw value of an attribute; None for a hexadecimal number.

    It is 34 for "34 (Min/Max 18/52)", and 123 for "123h+45m".
    """
    return None if row is None or row.raw.startswith("0x") else row.raw_int


def _scsi(device: Any) -> Iterator[tuple[str, Value | None]]:
    counts = device.if_attributes.diagnostics
    yield "temperature_celsius", device.temperature
    yield "reallocated_sectors", counts.Reallocated_Sector_Ct
    yield "power_on_seconds", _scaled(counts.Power_On_Hours, 3600)
    if counts.Life_Left is not None:
        yield "endurance_used_ratio", (100 - counts.Life_Left) * 0.01
    counters = (counts.Uncorrected_Reads, counts.Uncorrected_Writes, counts.Uncorrected_Verifies)
    known = [count for count in counters if count is not None]
    yield "media_errors", sum(known) if known else None
    yield "host_read_bytes", _scaled(counts.Reads_GB, 1e9)
    yield "host_written_bytes", _scaled(counts.Writes_GB, 1e9)


_READERS: Mapping[str, Callable[[Any], Iterator[tuple[str, Value | None]]]] = {
    "NVMe": _nvme,
    "ATA": _ata,
    "SCSI": _scsi,
}


def _scaled(number: float | None, unit: float) -> float | None:
    return None if number is None else number * unit
