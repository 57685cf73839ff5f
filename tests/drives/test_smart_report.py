"""Any smartctl output: a field that cannot be parsed affects only itself."""

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth, DriveIdentity, DriveReport, SelfTest, WrittenBytes
from exporter.drives.smart_report import parse_report
from tests.drives.reports import JSON, ata, nvme, paths, scsi, with_value

EXAMPLES = (nvme(), ata(), scsi())

#: Fields that all others depend on: with a wrong protocol or power mode, every other field is
#: wrong too.
OF_THE_WHOLE = {("device",), ("device", "protocol"), ("smartctl",)}


def fields_of(report: DriveReport) -> dict[str, Any]:
    return {
        f"{type(part).__name__}.{each.name}": getattr(part, each.name)
        for part in (report.identity, report.health)
        for each in dataclasses.fields(part)
    }


@given(JSON)
def test_any_json_value_yields_a_report(value: Any) -> None:
    report = parse_report(value)
    if not isinstance(value, dict):
        assert (DriveIdentity(), DriveHealth()) == (report.identity, report.health)
        assert 1 == len(report.faults)


@given(st.data())
def test_any_value_at_any_path_affects_only_dependent_fields(data: st.DataObject) -> None:
    good = data.draw(st.sampled_from(EXAMPLES))
    path = data.draw(st.sampled_from(list(paths(good))))
    broken = parse_report(with_value(good, path, data.draw(JSON)))
    is_sound(broken)
    if path not in OF_THE_WHOLE:
        before, after = fields_of(parse_report(good)), fields_of(broken)
        changed = {name for name in before if before[name] != after[name]}
        assert changed <= depends_on(path), f"{path} cost {changed}"


@given(st.dictionaries(st.sampled_from([str(p[0]) for e in EXAMPLES for p in paths(e)]), JSON))
def test_known_keys_with_any_values_yield_valid_records(report: dict[str, Any]) -> None:
    is_sound(parse_report(report))


def is_sound(report: DriveReport) -> None:
    """True if there is no negative count, no NaN, no sensor without a value and no empty name."""
    for name, value in fields_of(report).items():
        if isinstance(value, int | float):
            assert not math.isnan(value), name
            assert value < math.inf, name
            assert value >= 0 or "celsius" in name, name
        assert value != "" or name == "DriveHealth.unreadable"
    assert all(-40 <= each <= 150 and each != 0 for each in report.health.temperatures.values())


#: Fields that depend on the make of the drive.
OF_THE_MAKE = {
    *("endurance", "spare_ratio", "spare_threshold_ratio", "host_read", "host_written"),
    *("nand_written", "media_errors", "reallocated_sectors", "pending_sectors", "plp_healthy"),
    *("program_failures", "erase_failures", "interface_errors", "unsafe_shutdowns"),
}

#: Counters that are not used if they do not fit to the power-on time, and the record of that.
FIT_TO_THE_AGE = {
    *("host_read", "host_written", "nand_written", "media_errors", "error_log_entries"),
    *("power_cycles", "unsafe_shutdowns", "over_temperature_warning_seconds", "rejected"),
}

#: The fields that depend on each key of a report.
RESTS_ON = {
    "nvme_smart_health_information_log": {
        *("healthy", "endurance", "spare_ratio", "spare_threshold_ratio", "temperatures"),
        *("over_temperature_warning_seconds", "over_temperature_critical_seconds"),
        *("critical_warnings", "host_read", "host_written", "media_errors", "error_log_entries"),
        *("power_on_seconds", "power_cycles", "unsafe_shutdowns", "controller_busy_seconds"),
        *("plp_healthy", "rejected", "unreadable"),
        # No value is used if the log is invalid.
        *("self_test", "temperature_warning_celsius", "temperature_critical_celsius"),
    },
    "nvme_version": {"self_test", "rejected"},
    "nvme_composite_temperature_threshold": {
        *("temperature_warning_celsius", "temperature_critical_celsius"),
    },
    "nvme_self_test_log": {"self_test", "rejected"},
    "nvme_namespaces": {"wwn", "logical_block_bytes"},
    "nvme_total_capacity": {"capacity_bytes", "host_written", "rejected"},
    "user_capacity": {"capacity_bytes", "host_written", "rejected"},
    "logical_block_size": {
        *("logical_block_bytes", "host_read", "host_written", "nand_written", "rejected"),
    },
    "physical_block_size": {"physical_block_bytes"},
    "model_name": {"model", *OF_THE_MAKE},
    "serial_number": {"serial"},
    "firmware_version": {"firmware"},
    "wwn": {"wwn"},
    "smart_status": {"healthy", "messages", "sense_code"},
    "temperature": {
        *(
            "temperatures",
            "rejected",
            "unreadable",
            "healthy",
            "temperature_warning_celsius",
            "temperature_critical_celsius",
        ),
        "over_temperature_warning_seconds",
    },
    "power_on_time": {"power_on_seconds", "self_test", *FIT_TO_THE_AGE},
    "power_cycle_count": {"power_cycles", "rejected"},
    "interface_speed": {
        *("link_bytes_per_second", "link_max_bytes_per_second"),
        *("host_read", "host_written", "rejected"),
    },
    "ata_smart_attributes": {
        *("attributes", "temperatures", "rejected", "healthy", "power_on_seconds", "power_cycles"),
        *OF_THE_MAKE,
    },
    "ata_smart_error_log": {"error_log_entries", "rejected"},
    "ata_smart_self_test_log": {"self_test", "rejected"},
    "rotation_rate": {"rotational", "endurance", "power_on_seconds", *FIT_TO_THE_AGE},
    "scsi_vendor": {"model", "unreadable"},
    "scsi_product": {"model"},
    "scsi_model_name": {"model"},
    "scsi_revision": {"firmware"},
    "logical_unit_id": {"wwn"},
    "scsi_percentage_used_endurance_indicator": {"endurance"},
    "scsi_grown_defect_list": {"reallocated_sectors"},
    "scsi_pending_defects": {"pending_sectors"},
    "scsi_error_counter_log": {"host_read", "host_written", "media_errors", "rejected"},
    "scsi_sas_port_0": {"link_bytes_per_second", "interface_errors", "rejected"},
    "scsi_sas_port_1": {"link_bytes_per_second", "interface_errors", "rejected"},
    "scsi_self_test_0": {"self_test", "rejected"},
    "smartctl": {"exit_status", "messages", "reallocated_sectors", "rejected"},
    "json_format_version": {"reallocated_sectors", "rejected"},
}


def depends_on(path: tuple[str | int, ...]) -> set[str]:
    names = {each.name for each in dataclasses.fields(DriveIdentity)}
    return {
        f"{'DriveIdentity' if name in names else 'DriveHealth'}.{name}"
        for name in RESTS_ON.get(str(path[0]), set())
    }


@pytest.mark.parametrize("text", ["1_000.5", "1,5", "1.5 GB", "0x10", "", "-"])
def test_a_part_of_a_number_is_a_fault(text: str) -> None:
    path = ("scsi_error_counter_log", "write", "gigabytes_processed")
    report = parse_report(with_value(scsi(), path, text))
    assert (None, 1) == (report.health.host_written, len(report.faults))


@pytest.mark.parametrize("example", EXAMPLES)
def test_unknown_keys_are_ignored(example: dict[str, Any]) -> None:
    future = example | {"json_format_version": [9, 9], "spare_available": {"current_percent": 3}}
    assert parse_report(example) == parse_report(future)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_report_truncated_after_any_key_keeps_the_rest(example: dict[str, Any]) -> None:
    keys = list(example)
    for end in range(len(keys)):
        report = parse_report({key: example[key] for key in keys[:end]})
        assert () == report.faults


@pytest.mark.parametrize("depth", [100, 900])
def test_a_deeply_nested_value_is_a_fault(depth: int) -> None:
    nested = json.loads("[" * depth + "]" * depth)
    report = parse_report(with_value(nvme(), ("serial_number",), nested))
    assert (None, 1) == (report.identity.serial, len(report.faults))


def test_a_fault_is_reported_once() -> None:
    log = ("nvme_smart_health_information_log", "available_spare")
    assert 1 == len(parse_report(with_value(nvme(), log, "all")).faults)


def test_a_fault_contains_path_and_value() -> None:
    report = parse_report(with_value(ata(), ("smart_status", "passed"), "yes"))
    assert ("smart_status.passed: 'yes' is not usable",) == report.faults


@pytest.mark.parametrize("value", [[], None, 12, "text", True, 1.5])
def test_a_report_that_is_not_an_object_is_only_a_fault(value: Any) -> None:
    report = parse_report(value)
    assert (DriveIdentity(), DriveHealth(), 1) == (
        report.identity,
        report.health,
        len(report.faults),
    )


def test_equal_reports_yield_equal_records() -> None:
    """Equal reports yield equal records, so that a change can be detected."""
    assert parse_report(nvme()) == parse_report(nvme())
    assert WrittenBytes is type(parse_report(nvme()).health.host_written)
    assert SelfTest is type(parse_report(nvme()).health.self_test)
