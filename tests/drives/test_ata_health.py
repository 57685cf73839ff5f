"""The health values of ATA drives, apart from vendor attributes."""

import copy

import pytest

from exporter.drives.ata import ata_health
from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveIdentity, Protocol, SelfTest
from exporter.drives.smart_report import parse_report
from tests.drives.ata_reports import drive
from tests.drives.reports import Report, ata, ata_test, attribute, with_value, without


def test_identity_of_an_ata_drive() -> None:
    assert (
        DriveIdentity(
            protocol=Protocol.ATA,
            model="EXAMPLE SATA SSD 480",
            serial="EXS480B0002",
            firmware="EXS2.0",
            wwn="naa.500a1b2304050607",
            capacity_bytes=480_103_981_056,
            logical_block_bytes=512,
            rotational=False,
            physical_block_bytes=4096,
        )
        == parse_report(ata()).identity
    )


def test_common_ata_fields_are_parsed() -> None:
    report = parse_report(ata())
    health = report.health
    assert () == report.faults
    assert (True, {"drive": 33.0}, 70.0, 85.0, 720.0) == (
        health.healthy,
        health.temperatures,
        health.temperature_warning_celsius,
        health.temperature_critical_celsius,
        health.over_temperature_warning_seconds,
    )
    assert (70_000 * 3600.0 + 1800, 55, 17) == (
        health.power_on_seconds,
        health.power_cycles,
        health.error_log_entries,
    )
    assert (150e6, 600e6) == (health.link_bytes_per_second, health.link_max_bytes_per_second)


def test_all_attributes_are_kept() -> None:
    table = parse_report(ata()).health.attributes
    assert [9, 12, 194] == [each.id for each in table]
    assert (
        AtaAttribute(
            id=194,
            name="Temperature_Celsius",
            raw=0x0032_000F_0021,
            raw_text=str(0x0032_000F_0021),
            value=67,
            worst=50,
            threshold=0,
            flags="-O--CK",
        )
        == table[2]
    )


def table_of(*rows: object) -> Report:
    return with_value(ata(), ("ata_smart_attributes", "table"), list(rows))


def test_a_missing_normalized_value_is_none() -> None:
    """smartctl omits value, worst and threshold if the drive database formats them as "---"."""
    row = attribute(5, "Reallocated_Sector_Ct", 3)
    del row["value"], row["worst"], row["thresh"], row["when_failed"]
    (kept,) = parse_report(table_of(row)).health.attributes
    assert (None, None, None, "") == (kept.value, kept.worst, kept.threshold, kept.failed)


def test_a_failing_attribute_is_marked() -> None:
    row = attribute(5, "Reallocated_Sector_Ct", 3)
    row["when_failed"] = "now"
    row["flags"]["prefailure"] = True
    (kept,) = parse_report(table_of(row)).health.attributes
    assert ("now", True) == (kept.failed, kept.prefailure)


@pytest.mark.parametrize(
    "broken",
    [
        42,
        "row",
        {"id": 0, "raw": {"value": 1}},
        {"id": 256, "raw": {"value": 1}},
        {"id": "x", "raw": {"value": 1}},
        {"id": 7, "raw": {"value": -1}},
        {"id": 7, "raw": {"value": 1 << 64}},
        {"id": 7, "raw": 12},
    ],
)
def test_an_invalid_row_affects_only_itself(broken: object) -> None:
    report = parse_report(table_of(attribute(5, "a", 1), broken, attribute(9, "b", 2)))
    assert [5, 9] == [each.id for each in report.health.attributes]


def test_the_first_of_two_rows_with_the_same_id_is_used() -> None:
    """Two rows would be one time series with two values."""
    report = parse_report(table_of(attribute(5, "a", 1), attribute(5, "b", 2)))
    assert ["a"] == [each.name for each in report.health.attributes]
    assert 1 == len(report.faults)


def test_a_row_without_a_name_gets_the_default_name() -> None:
    row = attribute(250, "", 1)
    assert ["Unknown_Attribute"] == [
        each.name for each in parse_report(table_of(row)).health.attributes
    ]


def test_the_temperature_is_never_read_from_a_packed_raw_value() -> None:
    report = ata()
    del report["temperature"]["current"]
    assert {} == parse_report(report).health.temperatures


def test_the_summary_error_log_is_used_without_an_extended_one() -> None:
    report = ata()
    del report["ata_smart_error_log"]["extended"]
    assert 5 == parse_report(report).health.error_log_entries


def test_without_an_error_log_the_count_is_none() -> None:
    assert parse_report(without(ata(), "ata_smart_error_log")).health.error_log_entries is None


def test_invalid_minutes_leave_the_hours() -> None:
    assert (
        70_000 * 3600.0
        == parse_report(with_value(ata(), ("power_on_time", "minutes"), 99)).health.power_on_seconds
    )


def last_verdict(*table: Report, log: str = "standard", hours: int = 900) -> SelfTest | None:
    report = ata()
    report["power_on_time"] = {"hours": hours}
    report["ata_smart_self_test_log"] = {log: {"count": len(table), "table": list(table)}}
    return parse_report(report).health.self_test


@pytest.mark.parametrize("log", ["standard", "extended"])
def test_either_log_yields_the_last_self_test(log: str) -> None:
    assert SelfTest(passed=True, completed_power_on_seconds=3600.0) == last_verdict(
        ata_test(0x00, 1), log=log
    )


@pytest.mark.parametrize("status", range(0x30, 0x90, 0x10))
def test_a_self_test_with_an_error_failed(status: int) -> None:
    """Also a test that a fatal error ended, for which smartctl prints no `passed`."""
    found = last_verdict(ata_test(status | 9, 2), ata_test(0x00, 1))
    assert SelfTest(passed=False, completed_power_on_seconds=7200.0) == found


@pytest.mark.parametrize("status", [0x19, 0x29, 0xF5])
def test_aborted_interrupted_and_running_self_tests_are_skipped(
    status: int,
) -> None:
    """A running test has `passed` true in the report."""
    found = last_verdict(ata_test(status, 5), ata_test(0x75, 4))
    assert SelfTest(passed=False, completed_power_on_seconds=4 * 3600.0) == found


def test_the_extended_self_test_log_is_used_first() -> None:
    report = ata()
    report["ata_smart_self_test_log"]["extended"] = {"table": [ata_test(0x75, 60_000)]}
    found = parse_report(report).health.self_test
    assert found is not None
    assert not found.passed


@pytest.mark.parametrize(
    ("age", "logged", "hours"),
    [
        (900, 800, 800),
        (65_535, 65_535, 65_535),
        (65_536, 0, 65_536),
        (70_000, 4_464, 70_000),
        (70_000, 4_465, 4_465),
        (140_000, 100, 131_172),
    ],
)
def test_a_wrapped_timestamp_is_extended_by_the_power_on_time(
    age: int, logged: int, hours: int
) -> None:
    found = last_verdict(ata_test(0x00, logged), hours=age)
    assert SelfTest(passed=True, completed_power_on_seconds=hours * 3600.0) == found


@pytest.mark.parametrize(("units", "rate"), [(15, 150e6), (30, 300e6), (60, 600e6)])
def test_the_sata_line_rate_is_8_of_10_bits(units: int, rate: float) -> None:
    path = ("interface_speed", "current", "units_per_second")
    assert rate == parse_report(with_value(ata(), path, units)).health.link_bytes_per_second


def test_a_speed_unknown_to_smartctl_is_none() -> None:
    report = ata()
    report["interface_speed"]["current"] = {"sata_value": 9}
    health = parse_report(report).health
    assert (None, 600e6) == (health.link_bytes_per_second, health.link_max_bytes_per_second)


@pytest.mark.parametrize("type_", ["sat", "ata", "sat+megaraid,3", "usbjmicron"])
def test_an_ata_drive_behind_a_bridge_is_an_ata_drive(type_: str) -> None:
    report = ata()
    report["device"]["type"] = type_
    assert parse_report(ata()).health == parse_report(report).health


@pytest.mark.parametrize(
    "name", ["nvme_smart_health_information_log", "scsi_grown_defect_list", "anything"]
)
def test_fields_of_other_protocols_are_ignored(name: str) -> None:
    report = ata() | {name: {"temperature": 99}}
    assert parse_report(ata()).health == parse_report(report).health


def test_parsing_does_not_change_the_report() -> None:
    report = ata()
    before = copy.deepcopy(report)
    parse_report(report)
    assert before == report


@pytest.mark.parametrize(
    ("reported", "raw", "published"),
    [
        (35, 35, 35.0),
        (27, 38, 27.0),  # Intel's attribute is up to 11 °C higher
        (-89, 40, 40.0),  # random values in SCT
        (104, 36, 36.0),
        (8, 31, 31.0),
        (1, 0, None),  # always 1: no sensor
        (35, 0, 35.0),
    ],
)
def test_the_temperature_of_an_ssd_is_compared_with_attribute_194(
    reported: int, raw: int, published: float | None
) -> None:
    fields = Fields(
        {
            "temperature": {"current": reported},
            "ata_smart_attributes": {
                "table": [{"id": 194, "name": "Temperature_Celsius", "raw": {"value": raw}}]
            },
        }
    )
    temperatures = ata_health(fields, drive("Samsung based SSDs")).temperatures
    assert published == temperatures.get("drive")
    turning = drive("Samsung based SSDs", rotational=True)
    if -40 <= reported:
        assert float(reported) == ata_health(fields, turning).temperatures["drive"]
