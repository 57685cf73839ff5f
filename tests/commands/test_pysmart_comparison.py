"""Our parsing of smartctl's output compared with pySMART's."""

import contextlib
import re
from typing import Any

import pytest

from exporter.commands.pysmart_comparison import Difference, find_differences
from exporter.drives.smart_report import parse_report
from exporter.runtime.errors import ParseError
from exporter.smart.second_opinion import second_opinion
from tests.smart import smartctl_texts


def compared(report: dict[str, Any]) -> list[Difference]:
    return find_differences(parse_report(report), second_opinion(report))


def unexplained(report: dict[str, Any]) -> list[str]:
    return [each.field for each in compared(report) if not each.known_cause]


@pytest.mark.parametrize("protocol", smartctl_texts.PAIRS)
def test_both_parsers_agree_on_one_drive(protocol: str) -> None:
    assert [] == unexplained(smartctl_texts.pair(protocol))
    assert len(second_opinion(smartctl_texts.pair(protocol))) >= 15


#: A change of the JSON that the text does not have, by what must be noticed.
WRONG = {
    "endurance_used_ratio": ("NVMe", ("nvme_smart_health_information_log", "percentage_used"), 8),
    "media_errors": ("NVMe", ("nvme_smart_health_information_log", "media_errors"), 0),
    "host_written_bytes": ("NVMe", ("nvme_smart_health_information_log", "data_units_written"), 9),
    "spare_ratio": ("NVMe", ("nvme_smart_health_information_log", "available_spare"), 97),
    "power_on_seconds": ("ATA", ("power_on_time", "hours"), 21901),
    "power_cycles": ("ATA", ("power_cycle_count",), None),
    "serial": ("ATA", ("serial_number",), "EXA480000018"),
    "healthy": ("ATA", ("smart_status", "passed"), False),
    "rotational": ("ATA", ("rotation_rate",), 7200),
    "attribute 199 raw": (
        "ATA",
        ("ata_smart_attributes", "table", 6, "raw"),
        {"value": 1, "string": "1"},
    ),
    "reallocated_sectors": ("SCSI", ("scsi_grown_defect_list",), 5),
    "temperature_celsius": ("SCSI", ("temperature", "current"), 39),
    "self_test_passed": ("SCSI", ("scsi_self_test_0", "result", "value"), 5),
    "capacity_bytes": ("SCSI", ("user_capacity", "bytes"), 512),
}


@pytest.mark.parametrize("field", WRONG)
def test_a_value_that_differs_is_named(field: str) -> None:
    protocol, path, value = WRONG[field]
    report = smartctl_texts.pair(protocol)
    place: Any = report
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert field in unexplained(report)


def known(report: dict[str, Any], field: str) -> str:
    return next(each.known_cause for each in compared(report) if each.field == field)


def test_a_serial_number_cut_at_a_space_is_a_known_defect() -> None:
    report = smartctl_texts.pair("ATA")
    report["serial_number"] = "EXA4 80000017"
    lines = report["smartctl"]["output"]
    report["smartctl"]["output"] = [line.replace("EXA48", "EXA4 8") for line in lines]
    assert "pySMART cuts a serial number at its first space" == known(report, "serial")


def test_a_name_cut_at_a_colon_is_a_known_defect() -> None:
    report = smartctl_texts.pair("ATA")
    report["firmware_version"] = "EX:01"
    lines = report["smartctl"]["output"]
    report["smartctl"]["output"] = [line.replace("EX01", "EX:01") for line in lines]
    assert "pySMART cuts a name at its first colon" == known(report, "firmware")


def test_a_scsi_model_without_vendor_is_a_known_defect() -> None:
    assert "omits the vendor" in known(smartctl_texts.pair("SCSI"), "model")


def test_the_size_of_a_namespace_is_a_known_defect() -> None:
    report = smartctl_texts.pair("NVMe")
    report["nvme_total_capacity"] *= 2
    assert "namespace 1" in known(report, "capacity_bytes")


def test_zero_for_not_reported_is_a_known_defect() -> None:
    report = smartctl_texts.pair("NVMe")
    log = report["nvme_smart_health_information_log"]
    log["data_units_read"] = log["data_units_written"] = 0
    text = (
        smartctl_texts.nvme()
        .replace("12,345,678 [6.32 TB]", "0")
        .replace("87,654,321 [44.8 TB]", "0")
    )
    report["smartctl"]["output"] = text.splitlines()
    assert "not reported" in known(report, "host_read_bytes")
    assert [] == unexplained(report)


def test_failed_health_by_an_attribute_is_a_known_defect() -> None:
    report = smartctl_texts.pair("ATA")
    report["ata_smart_attributes"]["table"][4]["when_failed"] = "now"
    report["smartctl"]["output"] = smartctl_texts.ata(when_hot="FAILING_NOW").splitlines()
    assert "below its threshold" in known(report, "healthy")


def test_another_sensor_explains_only_a_few_degrees() -> None:
    report = smartctl_texts.pair("ATA")
    report["temperature"]["current"] = 38
    assert "the source that smartctl prefers" in known(report, "temperature_celsius")
    report["temperature"]["current"] = 49
    assert ["temperature_celsius"] == unexplained(report)


@pytest.mark.parametrize("protocol", smartctl_texts.PAIRS)
@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_a_number_of_any_length_from_a_drive_is_compared(protocol: str, digits: int) -> None:
    """pySMART accepts such a number. Before, its difference to ours raised OverflowError."""
    report = smartctl_texts.pair(protocol)
    lines: list[str] = report["smartctl"]["output"]
    differing: set[str] = set()
    for place, line in enumerate(lines):
        for number in re.finditer(r"\d[\d,]*", line):
            long = line[: number.start()] + digits * "9" + line[number.end() :]
            report["smartctl"]["output"] = [*lines[:place], long, *lines[place + 1 :]]
            # ParseError: the line is too long, or pySMART refuses the number.
            with contextlib.suppress(ParseError):
                differing |= set(unexplained(report))
    assert "power_on_seconds" in differing
