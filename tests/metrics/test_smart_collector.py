"""Tests of `metrics.smart_collector`: drive health, polls, identity, and the cache of samples."""

import dataclasses
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    Protocol,
    RejectedValue,
    RejectionKind,
    SelfTest,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import catalogue
from exporter.families import smart_families as metrics
from exporter.metrics import smart_collector
from exporter.metrics.exposition import render
from exporter.metrics.smart_collector import SmartCollector
from exporter.smart.polling.poll_result import EXIT_BITS, PollResult
from tests.hosts.host import FOLDERS, Host
from tests.metrics.page import Values, page

HOUR = 3600.0
WHO = ("nvme0n1", "FW9A01")
ALL = {"raw_attributes": True, "attribute_values": True}

WARNINGS = (
    *("spare", "temperature", "reliability", "read_only"),
    *("volatile_backup", "persistent_memory"),
)


def written(count: int, unit: int = 512_000) -> WrittenBytes:
    return WrittenBytes(count * unit, unit, UnitSource.STANDARD)


#: The complete report of a data-centre NVMe drive with two sensors (smartctl 7.5).
NVME = DriveHealth(
    healthy=True,
    endurance=Endurance(0.04, EnduranceSource.NVME_LOG),
    spare_ratio=1.0,
    spare_threshold_ratio=0.1,
    temperatures={"drive": 38.0, "1": 38.0, "2": 51.0},
    temperature_warning_celsius=77.0,
    temperature_critical_celsius=85.0,
    over_temperature_warning_seconds=0.0,
    over_temperature_critical_seconds=0.0,
    critical_warnings=dict.fromkeys(WARNINGS, False),
    host_read=written(50_000),
    host_written=written(80_000),
    media_errors=0,
    error_log_entries=12,
    power_on_seconds=9000 * HOUR,
    power_cycles=30,
    unsafe_shutdowns=4,
    controller_busy_seconds=60.0,
    self_test=SelfTest(passed=True, completed_power_on_seconds=8999 * HOUR),
)

#: The attributes of a data-centre SATA drive.
TABLE = tuple(
    AtaAttribute(number, f"Attribute_{number}", number, str(number), 100, 99, 0)
    for number in (5, 9, 12, 170, 171, 172, 174, 183, 184, 187, 190, 197, 199, 226, 233, 241)
)

#: The complete report of such a drive, with device statistics.
SATA = DriveHealth(
    healthy=True,
    endurance=Endurance(0.57, EnduranceSource.ATA_DEVSTAT),
    temperatures={"drive": 31.0},
    temperature_critical_celsius=70.0,
    over_temperature_critical_seconds=0.0,
    host_read=written(1 << 30, 512),
    host_written=written(1 << 31, 512),
    nand_written=written(1 << 10, 32 << 20),
    media_errors=0,
    reallocated_sectors=3,
    pending_sectors=0,
    program_failures=0,
    erase_failures=0,
    interface_errors=2,
    power_on_seconds=20_000 * HOUR,
    power_cycles=41,
    unsafe_shutdowns=7,
    self_test=SelfTest(passed=False, completed_power_on_seconds=19_000 * HOUR),
    plp_healthy=True,
    power_mode="active",
    attributes=TABLE,
    exit_status=0b1100_0100,
)

#: The complete report of a SAS drive.
SAS = DriveHealth(
    healthy=True,
    endurance=Endurance(0.02, EnduranceSource.SCSI_LOG),
    temperatures={"drive": 33.0},
    temperature_critical_celsius=70.0,
    host_read=written(1000, 10**9),
    host_written=written(2000, 10**9),
    media_errors=0,
    reallocated_sectors=0,
    power_on_seconds=15_000 * HOUR,
    power_cycles=12,
    self_test=SelfTest(passed=True, completed_power_on_seconds=3 * HOUR),
)


def watched(health: DriveHealth | None, label: str = WHO[0], serial: str = WHO[1]) -> WatchedDrive:
    """Return a drive that was polled for months, with some failed polls."""
    return WatchedDrive(
        label=label,
        serial=serial,
        address=f"/dev/{label}",
        up=True,
        health=health,
        last_success_unix_time=1.8e9,
        poll_seconds=0.04,
        polls={"success": 90_000, "timed_out": 3},
        wearout_seconds=(1e7, 2e7, 3e7),
        wearout_method="steps",
    )


def samples(
    drive: WatchedDrive, *, raw_attributes: bool = True, attribute_values: bool = False
) -> dict[str, Values]:
    return page(
        smart_collector.drive_samples(
            drive, raw_attributes=raw_attributes, attribute_values=attribute_values
        )
    )


def count(drive: WatchedDrive) -> int:
    return len(smart_collector.drive_samples(drive, raw_attributes=True, attribute_values=False))


def test_all_samples_of_an_nvme_drive() -> None:
    """Every field of the report is exposed with the drive's name and serial number."""
    expected: dict[str, Values] = {
        "ssd_device_up": {WHO: 1},
        "ssd_smart_last_success_timestamp_seconds": {WHO: 1.8e9},
        "ssd_smart_poll_duration_seconds": {WHO: 0.04},
        "ssd_smart_polls_total": {(*WHO, "success"): 90_000, (*WHO, "timed_out"): 3},
        "ssd_smart_available": {WHO: 1},
        "ssd_smart_exit_bit": {(*WHO, bit): 0 for bit in EXIT_BITS},
        "ssd_smart_healthy": {WHO: 1},
        "ssd_smart_endurance_used_ratio": {WHO: 0.04},
        "ssd_smart_endurance_source_info": {(*WHO, "nvme_log"): 1},
        "ssd_smart_spare_ratio": {WHO: 1.0},
        "ssd_smart_spare_threshold_ratio": {WHO: 0.1},
        "ssd_smart_temperature_celsius": {
            (*WHO, "drive"): 38.0,
            (*WHO, "1"): 38.0,
            (*WHO, "2"): 51.0,
        },
        "ssd_smart_temperature_warning_celsius": {WHO: 77.0},
        "ssd_smart_temperature_critical_celsius": {WHO: 85.0},
        "ssd_smart_over_temperature_seconds_total": {
            (*WHO, "warning"): 0.0,
            (*WHO, "critical"): 0.0,
        },
        "ssd_smart_critical_warning": {(*WHO, warning): 0 for warning in WARNINGS},
        "ssd_smart_host_read_bytes_total": {WHO: 25_600_000_000},
        "ssd_smart_host_written_bytes_total": {WHO: 40_960_000_000},
        "ssd_smart_media_errors_total": {WHO: 0},
        "ssd_smart_error_log_entries_total": {WHO: 12},
        "ssd_smart_power_on_seconds_total": {WHO: 32_400_000.0},
        "ssd_smart_power_cycles_total": {WHO: 30},
        "ssd_smart_unsafe_shutdowns_total": {WHO: 4},
        "ssd_smart_controller_busy_seconds_total": {WHO: 60.0},
        "ssd_smart_self_test_passed": {WHO: 1},
        "ssd_smart_self_test_completed_power_on_seconds": {WHO: 32_396_400.0},
        "ssd_smart_wearout_eta_seconds": {
            (*WHO, "low"): 1e7,
            (*WHO, "mid"): 2e7,
            (*WHO, "high"): 3e7,
        },
        "ssd_smart_wearout_method_info": {(*WHO, "steps"): 1},
    }
    assert expected == samples(watched(NVME))


def test_additional_samples_of_a_sata_drive() -> None:
    found = samples(watched(SATA))
    expected: dict[str, Values] = {
        "ssd_smart_nand_written_bytes_total": {WHO: 1 << 35},
        "ssd_smart_reallocated_sectors_total": {WHO: 3},
        "ssd_smart_pending_sectors": {WHO: 0},
        "ssd_smart_program_failures_total": {WHO: 0},
        "ssd_smart_erase_failures_total": {WHO: 0},
        "ssd_smart_interface_errors_total": {WHO: 2},
        "ssd_smart_plp_healthy": {WHO: 1},
        "ssd_smart_power_mode": {(*WHO, "active"): 1},
        "ssd_ata_attribute_raw": {(*WHO, str(row.id), row.name): row.raw for row in TABLE},
    }
    assert expected == {name: found[name] for name in found.keys() - samples(watched(NVME)).keys()}
    assert {WHO: 0} == found["ssd_smart_self_test_passed"]


def test_the_bits_of_the_exit_status_are_named() -> None:
    found = samples(watched(SATA))["ssd_smart_exit_bit"]
    assert 8 == len(found)
    set_bits = {bit for (_, _, bit), value in found.items() if value}
    assert {"command_failed", "error_log_entries", "self_test_errors"} == set_bits


def test_log_exit_bits_have_no_sample_before_the_logs_are_read() -> None:
    drive = dataclasses.replace(watched(NVME), has_log_data=False)
    shown = {labels[2] for labels in samples(drive)["ssd_smart_exit_bit"]}
    assert {"error_log_entries", "self_test_errors"} == set(EXIT_BITS) - shown


def test_a_critical_warning_is_named() -> None:
    health = dataclasses.replace(
        NVME, healthy=False, critical_warnings={**NVME.critical_warnings, "temperature": True}
    )
    found = samples(watched(health))["ssd_smart_critical_warning"]
    assert {"temperature"} == {warning for (_, _, warning), value in found.items() if value}


def test_raw_and_normalised_attributes_are_enabled_separately() -> None:
    row = AtaAttribute(5, "Reallocated_Sector_Ct", 3, value=100, threshold=10)
    drive = watched(DriveHealth(attributes=(row,)))
    name = (*WHO, "5", "Reallocated_Sector_Ct")
    neither = samples(drive, raw_attributes=False)
    assert not [family for family in neither if family.startswith("ssd_ata_")]
    both = samples(drive, attribute_values=True)
    expected: dict[str, Values] = {
        "ssd_ata_attribute_raw": {name: 3},
        "ssd_ata_attribute_value": {name: 100},
        "ssd_ata_attribute_threshold": {name: 10},  # The drive reported no worst value.
    }
    assert expected == {f: both[f] for f in both if f.startswith("ssd_ata_")}


def test_an_attribute_that_failed_has_a_sample_even_without_the_attribute_tables() -> None:
    rows = (
        AtaAttribute(5, "Reallocated_Sector_Ct", 3, failed="now", prefailure=True),
        AtaAttribute(194, "Temperature_Celsius", 31, failed="past"),
        AtaAttribute(9, "Power_On_Hours", 1),
        AtaAttribute(12, "Power_Cycle_Count", 1, failed="soon"),
    )
    found = samples(watched(DriveHealth(attributes=rows)), raw_attributes=False)
    expected: Values = {
        (*WHO, "5", "Reallocated_Sector_Ct", "1"): 1,
        (*WHO, "194", "Temperature_Celsius", "0"): 0,
    }
    assert expected == found["ssd_ata_attribute_failed"]


def test_a_sas_drive_has_its_corrected_errors_by_method() -> None:
    health = dataclasses.replace(SAS, corrected_errors={"ecc_fast": 5, "retry": 0})
    found = samples(watched(health))["ssd_smart_corrected_errors_total"]
    assert {(*WHO, "ecc_fast"): 5, (*WHO, "retry"): 0} == found


def test_a_duplicate_attribute_is_exposed_once() -> None:
    rows = (AtaAttribute(5, "Again", 1), AtaAttribute(5, "Again", 2), AtaAttribute(5, "Other", 3))
    found = samples(watched(DriveHealth(attributes=rows)))["ssd_ata_attribute_raw"]
    assert {(*WHO, "5", "Again"): 2, (*WHO, "5", "Other"): 3} == found


def test_unreported_values_have_no_sample() -> None:
    drive = WatchedDrive("sda", "S1", "/dev/sda", up=True, health=DriveHealth(healthy=True))
    expected = {
        *("ssd_device_up", "ssd_smart_available", "ssd_smart_exit_bit"),
        "ssd_smart_healthy",
    }
    assert expected == set(samples(drive))


def test_a_drive_without_smart_is_up_and_has_no_health() -> None:
    drive = watched(DriveHealth(unreadable="the drive says that it has no SMART"))
    drive = dataclasses.replace(drive, wearout_seconds=None, wearout_method="")
    found = samples(drive)
    assert {WHO: 1} == found["ssd_device_up"]
    assert {WHO: 0} == found["ssd_smart_available"]
    assert "ssd_smart_healthy" not in found
    assert 8 == len(found["ssd_smart_exit_bit"])


def test_values_that_are_not_used_are_counted_by_reason() -> None:
    kinds = (RejectionKind.FELL, RejectionKind.FELL, RejectionKind.LOG_INVALID)
    rejected = tuple(RejectedValue("media_errors_total", 1.0, "x", "y", kind) for kind in kinds)
    found = samples(watched(dataclasses.replace(NVME, rejected=rejected)))
    assert {(*WHO, "fell"): 2, (*WHO, "log_invalid"): 1} == found["ssd_smart_rejected_values"]
    assert "ssd_smart_rejected_values" not in samples(watched(NVME))


@pytest.mark.parametrize(
    ("bit", "cause"),
    [
        ("spare", "failing"),
        ("temperature", "temperature"),
        ("persistent_memory", "no_failure"),
        ("reserved_6", "no_failure"),
    ],
)
def test_a_reported_failure_has_a_cause(bit: str, cause: str) -> None:
    warnings = dict.fromkeys(WARNINGS, False) | {bit: True}
    failed = dataclasses.replace(NVME, healthy=False, critical_warnings=warnings)
    found = samples(watched(failed))
    assert {(*WHO, cause): 1} == found["ssd_smart_failure_cause"]
    assert {WHO: 0} == found["ssd_smart_healthy"]
    assert [1] == [n for labels, n in found["ssd_smart_critical_warning"].items() if bit in labels]
    assert "ssd_smart_failure_cause" not in samples(watched(NVME))


def test_a_drive_in_standby_is_up_and_has_only_a_power_mode() -> None:
    """Its exit status is the configured one and not a bit field."""
    drive = WatchedDrive("sda", "S1", "/dev/sda", up=True, health=DriveHealth(power_mode="standby"))
    expected: dict[str, Values] = {
        "ssd_device_up": {("sda", "S1"): 1},
        "ssd_smart_power_mode": {("sda", "S1", "standby"): 1},
    }
    assert expected == samples(drive)


def test_stale_health_is_omitted_and_the_last_success_is_exposed() -> None:
    drive = dataclasses.replace(watched(None), up=False, message="no answer within 30 s")
    found = samples(drive)
    expected = {
        "ssd_device_up": {WHO: 0},
        "ssd_smart_last_success_timestamp_seconds": {WHO: 1.8e9},
        "ssd_smart_poll_duration_seconds": {WHO: 0.04},
        "ssd_smart_polls_total": {(*WHO, "success"): 90_000, (*WHO, "timed_out"): 3},
    }
    assert expected == found


def test_a_drive_without_a_poll_is_neither_up_nor_down() -> None:
    assert {} == samples(WatchedDrive("sda", "S1", "/dev/sda"))


def test_a_missing_or_unprivileged_smartctl_is_not_a_drive_failure() -> None:
    drive = WatchedDrive("sda", "S1", "/dev/sda", was_reached=False, polls={"not_started": 1})
    families = {sample.desc for sample in smart_collector.drive_samples(drive, **ALL)}
    assert metrics.UP not in families
    assert metrics.POLLS in families


@pytest.mark.parametrize(
    "change",
    [{"is_missing": True}, {"is_stuck": True}, {"polls": {PollResult.NO_ANSWER.value: 1}}],
    ids=lambda change: next(iter(change)),
)
def test_a_missing_hanging_or_silent_drive_is_down(
    change: dict[str, object],
) -> None:
    drive = dataclasses.replace(WatchedDrive("sda", "S1", "/dev/sda"), **change)  # type: ignore[arg-type]
    assert {("sda", "S1"): 0} == samples(drive)["ssd_device_up"]


def test_a_replaced_drive_has_new_series() -> None:
    """The missing and the new drive have the same name and no common series."""
    old = dataclasses.replace(watched(NVME), up=False, is_missing=True)
    new = watched(NVME, serial="FW9A02")
    both = [
        s
        for drive in (old, new)
        for s in smart_collector.drive_samples(drive, raw_attributes=True, attribute_values=True)
    ]
    found = page(both)
    assert {WHO: 0, ("nvme0n1", "FW9A02"): 1} == found["ssd_device_up"]


def test_a_firmware_issue_is_exposed_with_the_remaining_time() -> None:
    issues = (
        FirmwareIssue("sas-32768-hours", "update", 100.5, "a vendor's bulletin"),
        FirmwareIssue("turns-read-only", "update", None, "a vendor's bulletin"),
    )
    found = samples(dataclasses.replace(watched(NVME), firmware_issues=issues))
    assert {(*WHO, issue.name): 1 for issue in issues} == found["ssd_smart_firmware_issue"]
    left = found["ssd_smart_firmware_issue_left_seconds"]
    assert {(*WHO, "sas-32768-hours"): 361_800.0} == left


def test_a_median_drive_has_at_most_60_series_with_its_raw_attributes() -> None:
    by_kind = [count(watched(health)) for health in (NVME, SATA, SAS)]
    assert median(by_kind) <= 60
    assert max(by_kind) <= 65, by_kind


def test_a_drive_behind_a_controller_has_identity_and_volume() -> None:
    drive = WatchedDrive(
        "bus/0:megaraid,3",
        "S9",
        "/dev/bus/0 -d megaraid,3",
        DriveIdentity(
            Protocol.ATA,
            "Flashworks S500",
            "Flashworks S Series",
            "S9",
            "1.0",
            "naa.5002538f00000009",
            capacity_bytes=480_103_981_056,
            rotational=False,
        ),
        blocks=("sda", "sdb"),
    )
    info = (
        *("bus/0:megaraid,3", "", "Flashworks S500", "Flashworks S Series", "S9", "1.0"),
        *("naa.5002538f00000009", "", "ata", "0"),
    )
    expected: dict[str, Values] = {
        "ssd_device_block_info": {("bus/0:megaraid,3", "sda"): 1, ("bus/0:megaraid,3", "sdb"): 1},
        "ssd_device_info": {info: 1},
        "ssd_device_capacity_bytes": {("bus/0:megaraid,3",): 480_103_981_056},
    }
    assert expected == page(smart_collector.identity_samples(drive, {"sda", "sdb"}))


def test_a_drive_with_a_block_device_is_not_described_twice() -> None:
    drive = watched(NVME)
    assert {} == page(smart_collector.identity_samples(drive, {"nvme0n1"}))
    assert {} == page(
        smart_collector.identity_samples(
            dataclasses.replace(drive, is_missing=True, blocks=("sda",)), ()
        )
    )


def test_an_unknown_drive_has_empty_labels_and_no_capacity() -> None:
    found = page(smart_collector.identity_samples(WatchedDrive("sg3", "", "/dev/sg3"), ()))
    assert {"ssd_device_info": {("sg3", *[""] * 9): 1}} == found


def test_stuck_programs_and_the_agents_heartbeat_are_exposed() -> None:
    expected: dict[str, Values] = {
        "ssd_command_stuck": {("smartctl",): 1},
        "ssd_smart_agent_heartbeat_timestamp_seconds": {(): 1.8e9},
    }
    assert expected == page(smart_collector.agent_samples({"smartctl": 1}, 1.8e9))
    assert {"ssd_command_stuck": {("smartctl",): 0}} == page(
        smart_collector.agent_samples({"smartctl": 0}, None)
    )


numbers = st.none() | st.floats(0, 1e18) | st.integers(0, 1 << 64)
healths = st.builds(
    DriveHealth,
    healthy=st.none() | st.booleans(),
    endurance=st.none() | st.builds(Endurance, st.floats(0, 3), st.sampled_from(EnduranceSource)),
    spare_ratio=st.none() | st.floats(0, 1),
    temperatures=st.dictionaries(st.text(), st.floats(-50, 150), max_size=9),
    critical_warnings=st.dictionaries(st.sampled_from(WARNINGS), st.booleans()),
    media_errors=st.none() | st.integers(0, 1 << 128),
    power_on_seconds=st.none() | st.floats(0, 1e18),
    power_mode=st.none() | st.text(),
    attributes=st.lists(
        st.builds(AtaAttribute, st.integers(0, 255), st.text(), st.integers(0, 1 << 56))
    ).map(tuple),
    exit_status=st.integers(0, 255),
    unreadable=st.text(),
)


@given(healths)
def test_any_report_gives_a_valid_page(
    health: DriveHealth,
) -> None:
    found = smart_collector.drive_samples(
        watched(health), raw_attributes=True, attribute_values=True
    )
    declared = set(catalogue.families(metrics))
    assert {sample.desc for sample in found} <= declared
    assert len({(sample.desc, sample.labels) for sample in found}) == len(found)
    assert render(found, openmetrics=True).endswith(b"# EOF\n")


def collector(host: Host) -> SmartCollector:
    assert host.monitor.health is not None
    return SmartCollector(host.monitor.health)


def test_samples_of_an_unchanged_drive_come_from_the_cache(tmp_path: Path) -> None:
    smart = collector(Host(FOLDERS / "smart-nvme", tmp_path).play())
    first, second = smart.samples(set()), smart.samples(set())
    assert first == second
    assert first
    first_ids = {id(sample) for sample in first}
    assert {True} == {id(s) in first_ids for s in second if s.desc.name.startswith("ssd_smart_")}


def test_the_identity_of_a_described_device_is_left_to_the_device_collector(
    tmp_path: Path,
) -> None:
    smart = collector(Host(FOLDERS / "smart-nvme", tmp_path).play())
    smart.samples(set())
    described = smart.samples({"nvme0n1", "nvme1n1"})
    assert described
    assert [] == [s for s in described if s.desc.name == "ssd_device_info"]


def test_a_drive_whose_values_became_stale_is_rendered_again(tmp_path: Path) -> None:
    host = Host(FOLDERS / "smart-nvme", tmp_path).play()
    smart = collector(host)
    before = {s.desc.name for s in smart.samples(set())}
    host.clock.advance(7 * 86_400.0)
    after = {s.desc.name for s in smart.samples(set())}
    assert "ssd_smart_healthy" in before
    assert "ssd_smart_healthy" not in after
