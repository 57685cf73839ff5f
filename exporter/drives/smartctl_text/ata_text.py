"""Parses the identity, self-assessment and attribute table of an ATA drive from smartctl's text."""

import re
from collections.abc import Iterator, Mapping, Sequence

from exporter.drives.smartctl_text.raw_text import leading_number, power_on_time, raw_value
from exporter.drives.smartctl_text.text_lines import Report, put, whole_integer

#: The letters of the brief format, lowest bit first: prefailure, updated online, performance, error
#: rate, event count, auto keep.
_FLAG_LETTERS = "POSRCK"

#: The largest number of attributes that are read. The table of the standard has 30.
_MAX_ATTRIBUTES = 256

_NUMBER = r"([0-9]{1,3}|0x[0-9a-f]{2})"
_VALUE = r"([0-9]{3}|0x[0-9a-f]{2}|-{3,4})"

#: A row of the table of `smartctl -a`. A long name touches the flags.
_ROW = re.compile(
    rf"{_NUMBER} +(\S+?) *0x([0-9a-f]{{4}}) +{_VALUE} +{_VALUE} +{_VALUE} +(?:Pre-fail|Old_age) +"
    r"(?:Always|Offline) +(-|FAILING_NOW|In_the_past) +(\S.*)",
    re.ASCII,
)
#: A row of the table of `smartctl -x`, which is that of `-f brief`.
_BRIEF_ROW = re.compile(
    rf"{_NUMBER} +(\S+?) *([P-][O-][S-][R-][C-][K-]\+?) +{_VALUE} +{_VALUE} +{_VALUE} +"
    r"(-|NOW|Past) +(\S.*)",
    re.ASCII,
)
_ROW_START = re.compile(rf"{_NUMBER} +[A-Za-z]", re.ASCII)
_FAILED = {"FAILING_NOW": "now", "NOW": "now", "In_the_past": "past", "Past": "past"}

_TABLE = "Vendor Specific SMART Attributes with Thresholds:"

#: The attributes that contain the temperature, in the order in which smartctl tries them.
_TEMPERATURES = (194, 190)

_RATE = r"([0-9]\.[0-9]) Gb/s"
_SPEEDS = re.compile(rf"[^,]*(?:, {_RATE})?(?: \(current: {_RATE}\))?", re.ASCII)
_SECTORS = re.compile(
    r"([0-9]{1,9}) bytes logical(?:/physical|, ([0-9]{1,9}) bytes physical)"
    r"(?: \(offset [0-9]{1,9} bytes\))?"
)


def parse_ata(lines: Sequence[str], values: Mapping[str, str]) -> Report:
    """Returns the part of the report that ATA drives have, without the logs.

    lines: the lines of the text, as `text_report` prepares them. values: the named values in them.
    """
    report: Report = {"device": {"type": "sat", "protocol": "ATA"}}
    put(report, values.get("Model Family"), "model_family")
    put(report, values.get("Device Model"), "model_name")
    put(report, values.get("Serial Number"), "serial_number")
    put(report, values.get("Firmware Version"), "firmware_version")
    put(report, whole_integer(values.get("User Capacity")), "user_capacity", "bytes")
    put(report, _wwn(values.get("LU WWN Device Id", "")), "wwn")
    put(report, _rotation_rate(values.get("Rotation Rate", "")), "rotation_rate")
    put(report, values.get("ATA Version is"), "ata_version", "string")
    known = values.get("Device is", "")
    if "smartctl database" in known:
        report["in_smartctl_database"] = known.startswith("In ")
    sizes = values.get("Sector Size", values.get("Sector Sizes"))
    sectors = _SECTORS.fullmatch(sizes or "")
    if sectors is None:
        put(report, sizes, "logical_block_size")
    else:
        report["logical_block_size"] = int(sectors[1])
        report["physical_block_size"] = int(sectors[2] or sectors[1])
    version = values.get("SATA Version is", "")
    speeds = _SPEEDS.fullmatch(version)
    if speeds is not None:
        put(report, _speed(speeds[1]), "interface_speed", "max")
        put(report, _speed(speeds[2]), "interface_speed", "current")
    elif "b/s" in version:
        put(report, version, "interface_speed", "max", "units_per_second")
    put(report, _passed(values), "smart_status", "passed")
    mode = values.get("Power mode is", values.get("Power mode was"))
    put(report, mode, "power_mode", "name")
    _put_attributes(report, lines)
    return report


def _wwn(text: str) -> Report | None:
    match = re.fullmatch(r"([0-9a-f]) ([0-9a-f]{6}) ([0-9a-f]{9})", text, re.ASCII)
    if match is None:
        return {"naa": text} if text else None
    naa, oui, unique = (int(part, 16) for part in match.groups())
    return {"naa": naa, "oui": oui, "id": unique}


def _rotation_rate(text: str) -> int | str | None:
    return 0 if text == "Solid State Device" else whole_integer(text)


def _speed(rate: str | None) -> Report | None:
    if rate is None:
        return None
    tenths = int(rate.replace(".", ""))
    return {"string": f"{rate} Gb/s", "units_per_second": tenths, "bits_per_unit": 100_000_000}


def _passed(values: Mapping[str, str]) -> bool | None:
    result = values.get("SMART overall-health self-assessment test result", "")
    return {"PASSED": True, "FAILED!": False}.get(result)


def _put_attributes(report: Report, lines: Sequence[str]) -> None:
    table = list(_attributes(lines))[:_MAX_ATTRIBUTES]
    if not table:
        return
    put(report, table, "ata_smart_attributes", "table")
    rows = {row["id"]: row for row in reversed(table)}
    power_on = rows.get(9)
    if power_on is not None and power_on["name"].startswith("Power_On_"):
        found = power_on_time(power_on["raw"]["string"])
        if found is not None:
            put(report, found.hours, "power_on_time", "hours")
            put(report, found.minutes, "power_on_time", "minutes")
    cycles = rows.get(12)
    if cycles is not None and cycles["name"] == "Power_Cycle_Count":
        number = cycles["raw"]["value"]
        if isinstance(number, int) and number < 1 << 24:
            report["power_cycle_count"] = number
    for number in _TEMPERATURES:
        text = rows[number]["raw"]["string"] if number in rows else ""
        celsius = leading_number(text)
        if celsius is not None and 0 < celsius < 128:
            put(report, celsius, "temperature", "current")
            break


def _attributes(lines: Sequence[str]) -> Iterator[Report]:
    """Yields the rows of the attribute table. A row that cannot be parsed becomes a fault.

    A drive that fails has a second table before it, with the failed attributes only. It is not
    used if the whole table is there.
    """
    starts = [number for number, line in enumerate(lines) if line == _TABLE]
    is_table = bool(starts)
    for line in lines[starts[0] if starts else 0 :]:
        # An empty line ends the table.
        is_table = is_table and line != ""
        if not line[:1].isdecimal():
            continue
        row = _ROW.fullmatch(line)
        if row is not None:
            yield _attribute(row, int(row[3], 16))
            continue
        row = _BRIEF_ROW.fullmatch(line)
        if row is not None:
            yield _attribute(row, _flags(row[3]))
            continue
        damaged = _ROW_START.match(line) if is_table else None
        if damaged is not None:
            number = int(damaged[1], 0 if "x" in damaged[1] else 10)
            yield {"id": number, "name": "", "raw": {"value": line, "string": ""}}


def _attribute(row: re.Match[str], flags: int) -> Report:
    number, name, _, value, worst, threshold, failed, raw = row.groups()
    attribute: Report = {"id": int(number, 0 if "x" in number else 10), "name": name}
    put(attribute, _normalized(value), "value")
    put(attribute, _normalized(worst), "worst")
    if (limit := _normalized(threshold)) is not None:
        attribute["thresh"] = limit
        attribute["when_failed"] = _FAILED.get(failed, "")
    letters = "".join(
        letter if flags >> bit & 1 else "-" for bit, letter in enumerate(_FLAG_LETTERS)
    )
    attribute["flags"] = {
        "value": flags,
        "string": f"{letters} ",
        "prefailure": bool(flags & 1),
        "updated_online": bool(flags & 2),
    }
    # A text without a number is passed on as the value, so that it is reported as a fault.
    computed = raw_value(raw, name)
    attribute["raw"] = {"value": raw if computed is None else computed, "string": raw}
    return attribute


def _flags(letters: str) -> int:
    return sum(1 << bit for bit, letter in enumerate(_FLAG_LETTERS) if letters[bit] == letter)


def _normalized(text: str) -> int | None:
    return None if text.startswith("-") else int(text, 16 if "x" in text else 10)
