"""The health values of SCSI and SAS drives."""

from collections.abc import Callable
from typing import Any

import pytest

from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    Protocol,
    SelfTest,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.smart_report import parse_report
from tests.drives.reports import Report, phy, scsi, scsi_test, with_value, without


def test_every_field_of_a_report_is_parsed() -> None:
    report = parse_report(scsi())
    assert (
        DriveIdentity(
            protocol=Protocol.SCSI,
            model="EXAMPLE SASSSD800",
            serial="EXC800C0003",
            firmware="EX03",
            wwn="naa.500a1b2c03040506",
            capacity_bytes=800_166_076_416,
            logical_block_bytes=512,
            rotational=False,
        )
        == report.identity
    )
    assert (
        DriveHealth(
            healthy=True,
            endurance=Endurance(0.13, EnduranceSource.SCSI_LOG),
            temperatures={"drive": 36.0},
            temperature_warning_celsius=70.0,
            host_read=WrittenBytes(123_456_789_000_000, 10**6, UnitSource.STANDARD),
            host_written=WrittenBytes(65_432_100_000_000, 10**6, UnitSource.STANDARD),
            media_errors=9,
            corrected_errors={},
            reallocated_sectors=4,
            pending_sectors=1,
            interface_errors=4321,
            power_on_seconds=12_345 * 3600.0 + 360,
            self_test=SelfTest(passed=True, completed_power_on_seconds=12_000 * 3600.0),
            link_bytes_per_second=1.2e9,
        )
        == report.health
    )
    assert () == report.faults


def health(**changes: Any) -> DriveHealth:
    return parse_report(scsi() | changes).health


def test_start_stop_cycles_are_not_power_cycles() -> None:
    assert health().power_cycles is None


def test_errors_of_all_counters_are_added() -> None:
    report = scsi()
    del report["scsi_error_counter_log"]["verify"]
    assert 5 == parse_report(report).health.media_errors


def _corrections(**counts: object) -> dict[str, object]:
    keys = {
        "fast": "errors_corrected_by_eccfast",
        "delayed": "errors_corrected_by_eccdelayed",
        "retries": "errors_corrected_by_rereads_rewrites",
    }
    return {keys[name]: count for name, count in counts.items()}


def test_corrected_errors_are_added_over_all_operations() -> None:
    log = {
        "read": _corrections(fast=1_000_000, delayed=20, retries=3),
        "write": _corrections(fast=0, delayed=0, retries=4),
        "verify": _corrections(fast=5, delayed=1),
    }
    assert {"ecc_fast": 1_000_005, "ecc_delayed": 21, "retry": 7} == health(
        scsi_error_counter_log=log
    ).corrected_errors


def test_the_total_of_corrected_errors_is_not_used() -> None:
    """Some drives report a total of 0 and more than 0 in its parts."""
    log = {"read": {**_corrections(delayed=9), "total_errors_corrected": 0}}
    assert {"ecc_delayed": 9} == health(scsi_error_counter_log=log).corrected_errors


def test_corrected_errors_with_an_invalid_part_are_missing() -> None:
    log = {"read": _corrections(fast=1, retries=2), "write": _corrections(fast=3, retries="many")}
    assert {"ecc_fast": 4} == health(scsi_error_counter_log=log).corrected_errors


def test_a_sum_with_an_invalid_part_is_none() -> None:
    """A sum without that part would be a counter that goes backward."""
    path = ("scsi_error_counter_log", "write", "total_uncorrected_errors")
    report = parse_report(with_value(scsi(), path, "many"))
    assert (None, 1) == (report.health.media_errors, len(report.faults))


def test_without_error_counters_the_errors_are_none() -> None:
    report = parse_report(
        without(scsi(), "scsi_error_counter_log", "scsi_sas_port_0", "scsi_sas_port_1")
    )
    assert (None, None) == (report.health.media_errors, report.health.interface_errors)


@pytest.mark.parametrize(
    ("text", "bytes_"), [("0.001", 10**6), ("292086.584", 292_086_584 * 10**6)]
)
def test_gigabytes_processed_are_parsed_from_text(text: str, bytes_: int) -> None:
    path = ("scsi_error_counter_log", "write", "gigabytes_processed")
    assert WrittenBytes(bytes_, 10**6, UnitSource.STANDARD) == (
        parse_report(with_value(scsi(), path, text)).health.host_written
    )


@pytest.mark.parametrize("text", ["0.000", "", "nan", "inf", "-1.000", None, [1]])
def test_0_gigabytes_processed_are_none(
    text: object,
) -> None:
    path = ("scsi_error_counter_log", "write", "gigabytes_processed")
    assert parse_report(with_value(scsi(), path, text)).health.host_written is None


def test_the_temperature_field_of_smartctl_7_3_is_read() -> None:
    report = without(scsi(), "temperature") | {
        "scsi_temperature": {"current": 41, "drive_trip": 65}
    }
    found = parse_report(report).health
    assert ({"drive": 41.0}, 65.0) == (found.temperatures, found.temperature_warning_celsius)


def test_the_trip_temperature_field_of_smartctl_7_3_is_read() -> None:
    found = health(temperature={"current": 41}, scsi_temperature={"drive_trip": 65})
    assert ({"drive": 41.0}, 65.0) == (found.temperatures, found.temperature_warning_celsius)


def test_the_environmental_report_is_the_fallback_for_the_temperature() -> None:
    environment = {"temperature_1": {"parameter_code": 0, "current": 38}}
    found = health(temperature={"current": 0}, scsi_environmental_reports=environment)
    assert {"drive": 38.0} == found.temperatures


def test_an_unknown_temperature_in_the_environmental_report_is_none() -> None:
    environment = {"temperature_1": {"parameter_code": 0, "current": "unknown"}}
    report = parse_report(
        scsi() | {"temperature": {"current": 0}, "scsi_environmental_reports": environment}
    )
    assert ({}, ()) == (report.health.temperatures, report.faults)


def test_0_degrees_are_none() -> None:
    found = health(temperature={"current": 0}, scsi_temperature={"drive_trip": 0})
    assert ({}, None) == (found.temperatures, found.temperature_warning_celsius)


def test_a_rotating_drive_has_no_endurance() -> None:
    assert health(rotation_rate=10_000).endurance is None


@pytest.mark.parametrize(("percent", "ratio"), [(0, 0.0), (100, 1.0), (255, 2.55)])
def test_used_endurance_can_exceed_100_percent(percent: int, ratio: float) -> None:
    found = health(scsi_percentage_used_endurance_indicator=percent)
    assert Endurance(ratio, EnduranceSource.SCSI_LOG) == found.endurance


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        ("phy enabled; 1.5 Gbps", 150e6),
        ("phy enabled; 3 Gbps", 300e6),
        ("phy enabled; 6 Gbps", 600e6),
        ("phy enabled; 12 Gbps", 1.2e9),
        ("phy enabled; 22.5 Gbps", 2.4e9),
        ("phy enabled; unknown", None),
        ("reserved [13]", None),
        ("phy enabled; 0 Gbps", None),
        ("phy enabled; 2112 Gbps", None),
        ("phy enabled; 12.125 Gbps", None),
        ("phy enabled; 1,5 Gbps", None),
        ("phy enabled; 6 Gbpsx", None),
    ],
)
def test_the_line_rate_excludes_the_encoding(words: str, rate: float | None) -> None:
    found = health(scsi_sas_port_0={"phy_0": phy(words, 0, 0, 0, 0)})
    assert pytest.approx(rate) == found.link_bytes_per_second


def test_a_part_of_a_rate_is_a_fault() -> None:
    report = scsi() | {"scsi_sas_port_0": {"phy_0": phy("phy enabled; 1,5 Gbps", 0, 0, 0, 0)}}
    expected = "negotiated_logical_link_rate: 'phy enabled; 1,5 Gbps' is not usable"
    assert [f"scsi_sas_port_0.phy_0.{expected}"] == list(parse_report(report).faults)


def test_link_errors_that_are_all_ones_are_rejected() -> None:
    """A counter of SPL has 32 bits. A bridge without the log page returns all ones, for example."""
    for counts in ((0xFFFFFFFF,) * 4, (3, 0xFFFFFFFF, 0, 0)):
        found = health(scsi_sas_port_0={"phy_0": phy("phy enabled; 6 Gbps", *counts)})
        assert found.interface_errors is None
        assert ["interface_errors_total"] == [each.metric for each in found.rejected]
    above = health(scsi_sas_port_0={"phy_0": phy("phy enabled; 6 Gbps", 1 << 32, 0, 0, 0)})
    assert above.interface_errors is None


def test_the_slowest_of_two_connected_ports_is_used() -> None:
    port = {"phy_0": phy("phy enabled; 3 Gbps", 0, 0, 0, 0)}
    assert 300e6 == health(scsi_sas_port_1=port).link_bytes_per_second


@pytest.mark.parametrize("as_printed", [str.upper, str.capitalize], ids=["7.0 to 7.4", "7.5"])
def test_a_predicted_failure_has_its_reason_in_the_messages(
    as_printed: Callable[[str], str],
) -> None:
    words = "Data channel impending failure general hard drive failure"
    found = health(smart_status={"passed": False, "scsi": {"ie_string": as_printed(words)}})
    assert (False, (words,)) == (found.healthy, found.messages)


@pytest.mark.parametrize("key", ["pending_defects", "scsi_pending_defects"])
def test_pending_defects_are_read_under_their_key_of_each_version(key: str) -> None:
    report = {**without(scsi(), "scsi_pending_defects"), key: {"count": 3}}
    assert 3 == parse_report(report).health.pending_sectors


def last_verdict(*results: Report, age_hours: int = 12_345) -> SelfTest | None:
    report = without(scsi(), "scsi_self_test_0") | {"power_on_time": {"hours": age_hours}}
    return parse_report(
        report | {f"scsi_self_test_{number}": each for number, each in enumerate(results)}
    ).health.self_test


@pytest.mark.parametrize("result", [3, 4, 5, 6, 7])
def test_a_self_test_with_an_error_failed(result: int) -> None:
    assert SelfTest(passed=False, completed_power_on_seconds=3600.0) == last_verdict(
        scsi_test(result, 1)
    )


@pytest.mark.parametrize("result", [1, 2, 15])
def test_self_tests_without_a_result_are_skipped(result: int) -> None:
    found = last_verdict(scsi_test(result, 9), scsi_test(4, 8))
    assert SelfTest(passed=False, completed_power_on_seconds=8 * 3600.0) == found


def test_the_last_of_twenty_entries_is_read() -> None:
    found = last_verdict(*(scsi_test(1, 30 - number) for number in range(19)), scsi_test(0, 2))
    assert SelfTest(passed=True, completed_power_on_seconds=7200.0) == found


def test_a_saturated_timestamp_is_none() -> None:
    """In SPC, 65,535 means "65,535 hours or more"."""
    assert SelfTest(passed=True) == last_verdict(scsi_test(0, 65_535), age_hours=70_000)


def test_field_names_before_smartctl_7_3_are_read() -> None:
    report = without(scsi(), "scsi_vendor", "scsi_product", "scsi_model_name", "scsi_revision")
    report |= {
        "vendor": "EXAMPLE",
        "product": "SASSSD800",
        "model_name": "EXAMPLE SASSSD800",
        "revision": "EX03",
    }
    assert parse_report(scsi()).identity == parse_report(report).identity


def test_a_sas_drive_behind_a_raid_controller_is_a_scsi_drive() -> None:
    report = scsi()
    report["device"]["type"] = "megaraid,3"
    assert parse_report(scsi()) == parse_report(report)


@pytest.mark.parametrize(
    ("version", "printed", "elements"),
    [
        ([7, 0], 240, 30),
        ([7, 1], 240, 30),
        ([7, 1], 12, 3),
        ([7, 1], 0, 0),
        ([7, 1], 7, None),
        ([7, 2], 240, 240),
        ([7, 5], 240, 240),
        (None, 0, 0),
        (None, 240, None),
    ],
)
def test_grown_defects_are_elements_whatever_the_version_of_smartctl(
    version: list[int] | None, printed: int, elements: int | None
) -> None:
    """Versions 7.0 and 7.1 print the length of the list in bytes, but not in their text."""
    smartctl = {} if version is None else {"version": version}
    report = {**scsi(), "json_format_version": [1, 0], "smartctl": smartctl}
    health = parse_report({**report, "scsi_grown_defect_list": printed}).health
    assert elements == health.reallocated_sectors
    assert (elements is None) == ("reallocated_sectors" in {r.metric for r in health.rejected})
    del report["json_format_version"]
    health = parse_report({**report, "scsi_grown_defect_list": printed}).health
    assert printed == health.reallocated_sectors
