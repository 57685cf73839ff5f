"""The health values of NVMe drives."""

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
from tests.drives.reports import Report, nvme, nvme_test, with_value

LOG = "nvme_smart_health_information_log"


def logged(**changes: Any) -> DriveHealth:
    """The health of the example drive with other values in its health log. None removes a field."""
    report = nvme()
    report[LOG] |= changes
    report[LOG] = {key: value for key, value in report[LOG].items() if value is not None}
    return parse_report(report).health


def test_every_field_of_a_report_is_parsed() -> None:
    report = parse_report(nvme())
    assert (
        DriveIdentity(
            protocol=Protocol.NVME,
            model="Example Datacenter NVMe 960",
            serial="EXN0960A0001",
            firmware="EXF1.2",
            wwn="eui.00a1b20c0d0e0f10",
            capacity_bytes=960_197_124_096,
            logical_block_bytes=4096,
            rotational=False,
        )
        == report.identity
    )
    assert (
        DriveHealth(
            healthy=True,
            endurance=Endurance(0.42, EnduranceSource.NVME_LOG),
            spare_ratio=0.97,
            spare_threshold_ratio=0.10,
            temperatures={"drive": 44.0, "1": 44.0, "3": 51.0},
            temperature_warning_celsius=75.0,
            temperature_critical_celsius=80.0,
            over_temperature_warning_seconds=300.0,
            over_temperature_critical_seconds=60.0,
            critical_warnings={
                "spare": False,
                "temperature": False,
                "reliability": False,
                "read_only": False,
                "volatile_backup": False,
                "persistent_memory": False,
            },
            host_read=WrittenBytes(1_024_000_000_000, 512_000, UnitSource.STANDARD),
            host_written=WrittenBytes(1_536_000_000_000, 512_000, UnitSource.STANDARD),
            media_errors=2,
            error_log_entries=90,
            power_on_seconds=8760 * 3600.0,
            power_cycles=31,
            unsafe_shutdowns=7,
            controller_busy_seconds=36_000.0,
            self_test=SelfTest(passed=True, completed_power_on_seconds=8000 * 3600.0),
        )
        == report.health
    )
    assert () == report.faults


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        (1, "spare"),
        (2, "temperature"),
        (4, "reliability"),
        (8, "read_only"),
        (16, "volatile_backup"),
        (32, "persistent_memory"),
    ],
)
def test_each_bit_of_the_critical_warning_has_a_name(value: int, warning: str) -> None:
    health = logged(critical_warning=value)
    assert [warning] == [name for name, is_set in health.critical_warnings.items() if is_set]


def test_reserved_bits_of_the_critical_warning_have_a_name_only_if_they_are_set() -> None:
    assert 6 == len(logged(critical_warning=0).critical_warnings)
    warnings = logged(critical_warning=0xC0).critical_warnings
    assert {"reserved_6", "reserved_7"} == {name for name, is_set in warnings.items() if is_set}


def test_a_failed_backup_of_volatile_memory_is_failed_power_loss_protection() -> None:
    assert logged(critical_warning=16).plp_healthy is False


def test_a_clear_critical_warning_does_not_imply_power_loss_protection() -> None:
    assert logged().plp_healthy is None


def test_the_overall_health_takes_precedence_over_the_warning_bits() -> None:
    assert logged(critical_warning=2).healthy is True


@pytest.mark.parametrize(("warning", "healthy"), [(0, True), (2, False), (None, None)])
def test_the_critical_warning_is_the_fallback_for_overall_health(
    warning: int | None, healthy: bool | None
) -> None:
    report = nvme()
    del report["smart_status"]
    report[LOG]["critical_warning"] = warning
    assert parse_report(report).health.healthy is healthy


@pytest.mark.parametrize(("percent", "ratio"), [(0, 0.0), (100, 1.0), (130, 1.3), (255, 2.55)])
def test_used_endurance_can_exceed_100_percent(percent: int, ratio: float) -> None:
    assert Endurance(ratio, EnduranceSource.NVME_LOG) == logged(percentage_used=percent).endurance


def test_an_emulated_drive_has_no_spare_and_no_wear() -> None:
    """QEMU reports 0 for spare, threshold, percentage used and data units."""
    health = logged(
        available_spare=0, available_spare_threshold=0, percentage_used=0, data_units_written=0
    )
    assert (None, None, None, None) == (
        health.spare_ratio,
        health.spare_threshold_ratio,
        health.endurance,
        health.host_written,
    )


def test_a_spare_of_0_is_reported() -> None:
    health = logged(available_spare=0)
    assert (0.0, 0.1) == (health.spare_ratio, health.spare_threshold_ratio)


def test_a_spare_threshold_of_0_is_valid_with_a_spare() -> None:
    """Optane drives report this."""
    health = logged(available_spare=100, available_spare_threshold=0)
    assert (1.0, 0.0) == (health.spare_ratio, health.spare_threshold_ratio)


def test_a_busy_time_of_0_is_none() -> None:
    assert logged(controller_busy_time=0).controller_busy_seconds is None


def test_0_degrees_are_none_in_every_field() -> None:
    report = nvme()
    report["temperature"]["current"] = 0
    report[LOG] |= {"temperature": 0, "temperature_sensors": [0, 48]}
    report["nvme_composite_temperature_threshold"]["warning"] = 0
    report["temperature"]["op_limit_max"] = 0
    health = parse_report(report).health
    assert ({"2": 48.0}, None) == (health.temperatures, health.temperature_warning_celsius)


@pytest.mark.parametrize("celsius", [-273, -41, 151, 65262])
def test_an_impossible_temperature_is_a_fault(celsius: int) -> None:
    report = parse_report(with_value(nvme(), (LOG, "temperature_sensors"), [44, celsius]))
    assert {"drive": 44.0, "1": 44.0} == report.health.temperatures
    assert 1 == len(report.faults)


def test_a_temperature_below_0_is_valid() -> None:
    assert -8.0 == logged(temperature_sensors=[-8]).temperatures["1"]


@pytest.mark.parametrize("key", ["{}", "sensor_{}", "temperature_sensor_{}"])
def test_sensors_may_be_an_object(key: str) -> None:
    health = logged(temperature_sensors={key.format(2): 40, key.format(7): 41, "other": 99})
    assert {"drive": 44.0, "2": 40.0, "7": 41.0} == health.temperatures


@pytest.mark.parametrize("sensors", [44, "44", True])
def test_invalid_sensors_affect_only_themselves(sensors: object) -> None:
    report = parse_report(with_value(nvme(), (LOG, "temperature_sensors"), sensors))
    assert ({"drive": 44.0}, 1) == (report.health.temperatures, len(report.faults))


def test_a_drive_has_at_most_8_sensors() -> None:
    assert {"drive", *"12345678"} == set(logged(temperature_sensors=[30] * 20).temperatures)


def test_the_limits_are_also_read_from_the_temperature_object() -> None:
    report = nvme()
    del report["nvme_composite_temperature_threshold"]
    health = parse_report(report).health
    assert (75.0, 80.0) == (health.temperature_warning_celsius, health.temperature_critical_celsius)


def test_a_report_before_7_5_has_no_limits() -> None:
    report = nvme()
    del report["nvme_composite_temperature_threshold"]
    report["temperature"] = {"current": 44}
    health = parse_report(report).health
    assert (None, None) == (health.temperature_warning_celsius, health.temperature_critical_celsius)


def test_a_counter_whose_bytes_exceed_53_bits_stays_exact() -> None:
    units = 35_184_372_089
    health = logged(data_units_written=units, data_units_written_s=str(units))
    assert WrittenBytes(units * 512_000, 512_000, UnitSource.STANDARD) == health.host_written


def test_a_counter_printed_only_as_text_is_read() -> None:
    health = logged(data_units_written=None, data_units_written_s="35184372089")
    assert health.host_written is not None
    assert 35_184_372_089 * 512_000 == health.host_written.bytes


def test_general_keys_are_the_fallback_for_counters_of_the_log() -> None:
    health = logged(power_on_hours=None, power_cycles=None, temperature=None)
    assert (8760 * 3600.0, 31, 44.0) == (
        health.power_on_seconds,
        health.power_cycles,
        health.temperatures["drive"],
    )


def last_verdict(*table: Report | None) -> SelfTest | None:
    return parse_report(
        with_value(nvme(), ("nvme_self_test_log", "table"), list(table))
    ).health.self_test


@pytest.mark.parametrize("result", [5, 6, 7])
def test_a_self_test_with_an_error_failed(result: int) -> None:
    assert SelfTest(passed=False, completed_power_on_seconds=3600.0) == last_verdict(
        nvme_test(result, 1)
    )


@pytest.mark.parametrize("result", [1, 2, 3, 4, 8, 9, 15])
def test_self_tests_without_a_result_are_skipped(result: int) -> None:
    before = nvme_test(7, 100)
    assert SelfTest(passed=False, completed_power_on_seconds=360_000.0) == last_verdict(
        nvme_test(result, 200), before
    )


def test_unused_entries_between_self_tests_are_skipped() -> None:
    assert SelfTest(passed=True, completed_power_on_seconds=7200.0) == last_verdict(
        None, None, nvme_test(0, 2)
    )


def test_without_a_self_test_the_result_is_none() -> None:
    assert last_verdict() is None


def test_an_nvme_drive_behind_a_usb_bridge_is_an_nvme_drive() -> None:
    report = nvme()
    report["device"]["type"] = "sntasmedia"
    assert parse_report(nvme()).health == parse_report(report).health
