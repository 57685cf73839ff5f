"""The log pages of NVMe drives in a drive's health."""

from typing import Any

import pytest

from exporter.drives.health import DriveHealth, UnitSource, WrittenBytes
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.latency_growth import LatencyGrowth
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs
from exporter.drives.smart_report import parse_report
from tests.drives import reports
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import REAL_PAGES, RealPage

AT = 1_700_000_000.0


def health(
    controller: Controller, content: dict[int, bytes], missing: dict[int, str] | None = None
) -> DriveHealth:
    """The health from smartctl's report with these pages."""
    read = {number: (AT, data) for number, data in content.items()}
    report: dict[str, Any] = {
        **reports.nvme(),
        LOGS_KEY: encode_logs(controller, read, missing or {}),
    }
    parsed = parse_report(report)
    assert () == parsed.faults
    return parsed.health


def test_a_report_without_log_pages_has_none() -> None:
    assert parse_report(reports.nvme()).health.logs is None


def test_values_that_sata_drives_have_too_are_in_the_same_fields() -> None:
    content = pages.ocp(
        (0, 16, 5_000_000_000), (32, 6, 7), (40, 6, 2), (48, 8, 11), (64, 8, 12), (128, 2, 130)
    )
    found = health(pages.MICRON_7450, {192: content})
    assert WrittenBytes(5_000_000_000, 1, UnitSource.STANDARD) == found.nand_written
    assert 9 == found.reallocated_sectors
    assert {"soft_ecc": 12, "xor": 11} == found.corrected_errors
    assert found.plp_healthy is True


@pytest.mark.parametrize(
    ("percent", "works"), [(0, False), (1, True), (100, True), (250, True), (0xFFFF, None)]
)
def test_the_capacitor_tells_whether_the_protection_works(percent: int, works: bool | None) -> None:
    found = health(pages.MICRON_7450, {192: pages.ocp((128, 2, percent))})
    assert works is found.plp_healthy


def test_the_warning_of_the_smart_log_is_stronger_than_the_capacitor() -> None:
    logs = encode_logs(pages.MICRON_7450, {192: (AT, pages.ocp((128, 2, 120)))}, {})
    report = {**reports.nvme(), LOGS_KEY: logs}
    report["nvme_smart_health_information_log"]["critical_warning"] = 1 << 4
    assert parse_report(report).health.plp_healthy is False


def test_crc_errors_of_the_link_are_interface_errors() -> None:
    found = health(pages.INTEL, {202: pages.items(pages.item(0xC7, 3))})
    assert 3 == found.interface_errors


def test_the_bytes_of_the_endurance_group_are_used_if_there_are_no_others() -> None:
    group = pages.page([(3, 1, 100), (80, 16, 12)])
    assert WrittenBytes(12 * 10**9, 10**9, UnitSource.STANDARD) == (
        health(Controller(), {9: group}).nand_written
    )
    both = health(pages.MICRON_7450, {9: group, 192: pages.ocp((0, 16, 77))})
    assert both.nand_written is not None
    assert 77 == both.nand_written.bytes


def test_the_thermal_management_is_read_from_newer_versions_of_smartctl_too() -> None:
    report = reports.nvme()
    report["nvme_smart_health_information_log"] |= {
        "thermal_mgmt_temperature_1_transition_count": 5,
        "thermal_mgmt_temperature_2_transition_count": 2,
        "thermal_mgmt_temperature_1_total_time": 70,
    }
    logs = parse_report(report).health.logs
    assert logs is not None
    assert 5 == logs.values.thermal_management_1_transitions
    assert 2 == logs.values.thermal_management_2_transitions
    assert 70 == logs.values.thermal_management_1_seconds
    assert logs.values.thermal_management_2_seconds is None


def test_a_page_that_is_missing_costs_only_its_values() -> None:
    group = pages.page([(3, 1, 100), (80, 16, 12)])
    found = health(pages.MICRON_7450, {9: group}, {192: "timeout: no answer within 30 s"})
    assert found.logs is not None
    assert {192: "timeout: no answer within 30 s"} == found.logs.missing
    assert "timeout" == found.logs.reason(192).value
    assert found.nand_written is not None
    assert found.endurance is not None


def test_pages_that_were_not_read_again_are_not_decoded_again() -> None:
    def report(at: float, content: bytes) -> dict[str, Any]:
        read = {192: (at, content)}
        return {**reports.nvme(), LOGS_KEY: encode_logs(pages.MICRON_7450, read, {})}

    first = parse_report(report(AT, pages.ocp((128, 2, 130)))).health
    same = parse_report(report(AT, pages.ocp((128, 2, 130))), first).health
    assert first.logs is same.logs
    later = parse_report(report(AT + 900, pages.ocp((128, 2, 125))), same).health
    assert later.logs is not None
    assert 125 == later.logs.values.capacitor_health_percent


def test_two_readings_of_the_latency_monitor_are_compared() -> None:
    def report(at: float, content: bytes, smart_at: float = AT) -> dict[str, Any]:
        read = {192: (smart_at, pages.ocp((128, 2, 130))), 195: (at, content)}
        return {**reports.nvme(), LOGS_KEY: encode_logs(pages.MICRON_7450, read, {})}

    def growth(health: DriveHealth) -> LatencyGrowth | None:
        assert health.logs is not None
        return health.logs.growth

    first = parse_report(report(AT, pages.slow_reads(4, 60))).health
    assert growth(first) is None
    second = parse_report(report(AT + 900, pages.slow_reads(9, 75)), first).health
    between = LatencyGrowth(AT, AT + 900, 0.03, 5, 0)
    assert between == growth(second)
    other_page = report(AT + 900, pages.slow_reads(9, 75), AT + 60)
    assert between == growth(parse_report(other_page, second).health)
    off = parse_report(report(AT + 1800, pages.ocp_latency(status=6)), second).health
    assert growth(off) is None


def test_a_page_of_another_layout_is_invalid() -> None:
    found = health(pages.MICRON_7450, {192: b"\x01" * 512})
    assert found.logs is not None
    assert "invalid" == found.logs.reason(192).value
    assert found.nand_written is None
    assert found.plp_healthy is None


@pytest.mark.parametrize("logs", [None, [], "x", {"pages": {"192": {"hex": "zz"}}}, {"pages": 3}])
def test_rubbish_in_place_of_the_pages_costs_nothing_else(logs: Any) -> None:
    found = parse_report({**reports.nvme(), LOGS_KEY: logs})
    assert parse_report(reports.nvme()).health.endurance == found.health.endurance


@pytest.mark.parametrize("real", REAL_PAGES, ids=lambda real: f"{real.source}-{real.page:02X}h")
def test_pages_of_real_drives_give_plausible_health(real: RealPage) -> None:
    found = health(real.controller, {real.page: real.data})
    expected = real.expected.get("nand_written_bytes")
    if expected:
        assert found.nand_written is not None
        assert expected == found.nand_written.bytes
    assert found.plp_healthy is not False
