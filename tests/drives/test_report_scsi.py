"""What a SCSI or SAS drive's report means."""

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


def test_every_field_of_a_report_is_understood() -> None:
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


def test_start_stop_cycles_are_no_power_cycles() -> None:
    assert health().power_cycles is None


def test_errors_add_up_over_what_the_drive_counts() -> None:
    report = scsi()
    del report["scsi_error_counter_log"]["verify"]
    assert 5 == parse_report(report).health.media_errors


def test_a_sum_with_a_part_that_is_not_usable_is_unknown() -> None:
    """Without that part it would read as a counter that was set back."""
    path = ("scsi_error_counter_log", "write", "total_uncorrected_errors")
    report = parse_report(with_value(scsi(), path, "many"))
    assert (None, 1) == (report.health.media_errors, len(report.faults))


def test_a_drive_without_error_counters_has_no_0_errors() -> None:
    report = parse_report(
        without(scsi(), "scsi_error_counter_log", "scsi_sas_port_0", "scsi_sas_port_1")
    )
    assert (None, None) == (report.health.media_errors, report.health.interface_errors)


@pytest.mark.parametrize(
    ("text", "bytes_"), [("0.001", 10**6), ("292086.584", 292_086_584 * 10**6)]
)
def test_gigabytes_processed_stand_as_text(text: str, bytes_: int) -> None:
    path = ("scsi_error_counter_log", "write", "gigabytes_processed")
    assert WrittenBytes(bytes_, 10**6, UnitSource.STANDARD) == (
        parse_report(with_value(scsi(), path, text)).health.host_written
    )


@pytest.mark.parametrize("text", ["0.000", "", "nan", "inf", "-1.000", None, [1]])
def test_a_drive_that_does_not_count_what_it_processes_has_written_nothing_known(
    text: object,
) -> None:
    path = ("scsi_error_counter_log", "write", "gigabytes_processed")
    assert parse_report(with_value(scsi(), path, text)).health.host_written is None


def test_the_temperature_may_stand_where_7_3_put_it() -> None:
    report = without(scsi(), "temperature") | {
        "scsi_temperature": {"current": 41, "drive_trip": 65}
    }
    found = parse_report(report).health
    assert ({"drive": 41.0}, 65.0) == (found.temperatures, found.temperature_warning_celsius)


def test_7_3_prints_the_trip_temperature_apart() -> None:
    found = health(temperature={"current": 41}, scsi_temperature={"drive_trip": 65})
    assert ({"drive": 41.0}, 65.0) == (found.temperatures, found.temperature_warning_celsius)


def test_the_environmental_report_serves_where_no_other_page_has_a_temperature() -> None:
    environment = {"temperature_1": {"parameter_code": 0, "current": 38}}
    found = health(temperature={"current": 0}, scsi_environmental_reports=environment)
    assert {"drive": 38.0} == found.temperatures


def test_an_environmental_report_may_not_know_the_temperature() -> None:
    environment = {"temperature_1": {"parameter_code": 0, "current": "unknown"}}
    report = parse_report(
        scsi() | {"temperature": {"current": 0}, "scsi_environmental_reports": environment}
    )
    assert ({}, ()) == (report.health.temperatures, report.faults)


def test_0_degrees_are_unknown() -> None:
    found = health(temperature={"current": 0}, scsi_temperature={"drive_trip": 0})
    assert ({}, None) == (found.temperatures, found.temperature_warning_celsius)


def test_a_rotating_drive_has_no_endurance() -> None:
    assert health(rotation_rate=10_000).endurance is None


@pytest.mark.parametrize(("percent", "ratio"), [(0, 0.0), (100, 1.0), (255, 2.55)])
def test_more_than_all_of_the_endurance_can_be_used(percent: int, ratio: float) -> None:
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
    ],
)
def test_a_link_carries_what_its_code_leaves(words: str, rate: float | None) -> None:
    found = health(scsi_sas_port_0={"phy_0": phy(words, 0, 0, 0, 0)})
    assert pytest.approx(rate) == found.link_bytes_per_second


def test_the_slowest_of_two_connected_ports_counts() -> None:
    port = {"phy_0": phy("phy enabled; 3 Gbps", 0, 0, 0, 0)}
    assert 300e6 == health(scsi_sas_port_1=port).link_bytes_per_second


def test_a_drive_that_predicts_its_failure_says_why() -> None:
    words = "DATA CHANNEL IMPENDING FAILURE GENERAL HARD DRIVE FAILURE"
    found = health(smart_status={"passed": False, "scsi": {"ie_string": words}})
    assert (False, (words,)) == (found.healthy, found.messages)


def last_verdict(*results: Report) -> SelfTest | None:
    report = without(scsi(), "scsi_self_test_0")
    return parse_report(
        report | {f"scsi_self_test_{number}": each for number, each in enumerate(results)}
    ).health.self_test


@pytest.mark.parametrize("result", [3, 4, 5, 6, 7])
def test_a_self_test_that_found_a_fault_failed(result: int) -> None:
    assert SelfTest(passed=False, completed_power_on_seconds=3600.0) == last_verdict(
        scsi_test(result, 1)
    )


@pytest.mark.parametrize("result", [1, 2, 8, 14, 15])
def test_a_self_test_without_a_verdict_leaves_it_to_the_one_before(result: int) -> None:
    found = last_verdict(scsi_test(result, 9), scsi_test(4, 8))
    assert SelfTest(passed=False, completed_power_on_seconds=8 * 3600.0) == found


def test_the_last_of_twenty_entries_counts_too() -> None:
    found = last_verdict(*(scsi_test(1, 30 - number) for number in range(19)), scsi_test(0, 2))
    assert SelfTest(passed=True, completed_power_on_seconds=7200.0) == found


def test_a_timestamp_that_has_run_full_is_no_time() -> None:
    """SPC: 65,535 hours or more."""
    assert SelfTest(passed=True) == last_verdict(scsi_test(0, 65_535))


def test_names_before_7_3_are_known() -> None:
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
