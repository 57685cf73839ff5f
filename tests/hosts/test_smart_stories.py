"""SMART metrics on the pages of recorded hosts."""

import pytest

from tests.hosts.page import Page, Pages

HOUR = 3600.0
YEAR = 365 * 24 * HOUR


def hours(page: Page, device: str) -> float | None:
    seconds = page.value("ssd_smart_power_on_seconds_total", device=device)
    return None if seconds is None else seconds / HOUR


def up(page: Page) -> dict[tuple[str, str], float]:
    """Returns `ssd_device_up` by device and serial number."""
    return {
        (s.labels["device"], s.labels["serial"]): s.value
        for s in page.samples
        if s.name == "ssd_device_up"
    }


def test_smart_series_have_the_name_of_the_block_device(page: Pages) -> None:
    nvme = page("smart-nvme")
    assert {("nvme0n1", "FW9A00000012"): 1, ("nvme1n1", "FW9B00000077"): 1} == up(nvme)
    names = nvme.rows("ssd_device_info", "device", "serial")
    assert set(up(nvme)) == names, "each drive must have one ssd_device_info"


def test_nvme_health_values(page: Pages) -> None:
    """A data unit is 512,000 bytes; the controller counts busy minutes."""
    nvme = page("smart-nvme")
    expected = {
        "ssd_smart_endurance_used_ratio": 0.91,
        "ssd_smart_spare_ratio": 0.12,
        "ssd_smart_spare_threshold_ratio": 0.1,
        "ssd_smart_media_errors_total": 3,
        "ssd_smart_host_written_bytes_total": 80_530_636 * 512_000,
        "ssd_smart_power_on_seconds_total": 3 * YEAR,
        "ssd_smart_controller_busy_seconds_total": 31_000 * 60,
        "ssd_smart_healthy": 0,
    }
    assert expected == {name: nvme.value(name, device="nvme1n1") for name in expected}


def test_overheated_drive_exceeds_its_own_limit(page: Pages) -> None:
    nvme = page("smart-nvme")
    sensors = {
        sensor: nvme.value("ssd_smart_temperature_celsius", device="nvme1n1", sensor=sensor)
        for sensor in ("drive", "1", "2", "3")
    }
    assert {"drive": 78, "1": 78, "2": None, "3": 91} == sensors
    assert 77 == nvme.value("ssd_smart_temperature_warning_celsius", device="nvme1n1")
    assert {("nvme1n1", "temperature")} == nvme.rows(
        "ssd_smart_critical_warning", "device", "warning"
    )
    over = nvme.value("ssd_smart_over_temperature_seconds_total", device="nvme1n1", level="warning")
    assert 125 * 60 == over


def test_daily_logs_remain_on_the_page(page: Pages) -> None:
    nvme = page("smart-nvme")
    tests = [nvme.value("ssd_smart_self_test_passed", device=f"nvme{n}n1") for n in (0, 1)]
    assert [1, 0] == tests
    sata = page("smart-sata")
    assert 61 == sata.value("ssd_smart_error_log_entries_total", device="sdb")
    assert 1 == sata.value("ssd_smart_exit_bit", device="sdb", bit="error_log_entries")


def test_sata_wear_has_one_metric_for_all_sources(page: Pages) -> None:
    sata = page("smart-sata")
    used = [sata.value("ssd_smart_endurance_used_ratio", device=d) for d in ("sda", "sdb")]
    assert [0.07, 0.63] == used
    sources = {("sda", "ata_devstat"), ("sdb", "family_rule")}
    assert sources == sata.rows("ssd_smart_endurance_source_info", "device", "source")


def test_written_bytes_are_converted(page: Pages) -> None:
    """Both drives count sectors of 512 bytes."""
    sata = page("smart-sata")
    written = [sata.value("ssd_smart_host_written_bytes_total", device=d) for d in ("sda", "sdb")]
    assert [400e9 * 512, 180e9 * 512] == written


def test_temperature_without_other_packed_values(page: Pages) -> None:
    sata = page("smart-sata")
    assert 38 == sata.value("ssd_smart_temperature_celsius", device="sdb")
    packed = sata.value("ssd_ata_attribute_raw", device="sdb", id="194")
    assert (58 << 32) + (19 << 16) + 38 == packed


def test_temperature_limit_is_the_drives_own(page: Pages) -> None:
    """sda has exceeded its limit for three minutes in total; sdb reports no limit."""
    sata = page("smart-sata")
    limits = [
        sata.value("ssd_smart_temperature_warning_celsius", device=device)
        for device in ("sda", "sdb")
    ]
    assert [70, None] == limits
    over = sata.value("ssd_smart_over_temperature_seconds_total", device="sda", level="warning")
    assert 3 * 60 == over


def test_bad_cable_reduces_speed_and_adds_errors(page: Pages) -> None:
    sata = page("smart-sata")
    assert 150e6 == sata.value("ssd_link_speed_bytes_per_second", device="sdb")
    assert 600e6 == sata.value("ssd_link_speed_max_bytes_per_second", device="sdb")
    assert 61 == sata.value("ssd_smart_interface_errors_total", device="sdb")


def test_unknown_values_are_omitted(page: Pages) -> None:
    sata = page("smart-sata")
    for name in (
        "ssd_smart_host_read_bytes_total",
        "ssd_smart_spare_ratio",
        "ssd_smart_self_test_passed",
        "ssd_smart_temperature_critical_celsius",
    ):
        assert sata.value(name, device="sdb") is None, name


def test_drives_behind_a_controller_have_their_block_devices(page: Pages) -> None:
    raid = page("smart-megaraid")
    expected = {
        ("bus/0:megaraid,0", "sda"),
        ("bus/0:megaraid,1", "sda"),
        ("bus/0:megaraid,4", "sdb"),
    }
    assert expected == raid.rows("ssd_device_block_info", "device", "block")
    used = {
        device: raid.value("ssd_smart_endurance_used_ratio", device=device)
        for device, _ in expected
    }
    assert {
        "bus/0:megaraid,0": 0.21,
        "bus/0:megaraid,1": 0.22,
        "bus/0:megaraid,4": 0.05,
    } == used


def test_duplicate_drives_and_volumes_are_omitted(page: Pages) -> None:
    raid = page("smart-megaraid")
    expected = {
        ("bus/0:megaraid,0", "X7MADEUP0000"): 1,
        ("bus/0:megaraid,1", "X7MADEUP0001"): 1,
        ("bus/0:megaraid,4", "S5MADEUP0404"): 1,
    }
    assert expected == up(raid)


def test_hanging_drive_does_not_delay_others(page: Pages) -> None:
    host = page("smart-one-hangs")
    assert {
        ("sda", "S5MADEUP0100"): 1,
        ("sdb", "S5MADEUP0101"): 0,
        ("sdc", "S5MADEUP0102"): 1,
    } == up(host)
    now = host.value("ssd_sampler_last_sample_timestamp_seconds")
    assert now is not None
    for device in ("sda", "sdc"):
        last = host.value("ssd_smart_last_success_timestamp_seconds", device=device)
        assert last is not None
        assert now - last <= 60
    temperatures = [
        host.value("ssd_smart_temperature_celsius", device=device) for device in ("sda", "sdc")
    ]
    assert [40, 42] == temperatures


def test_hanging_drive_keeps_its_last_values_and_their_time(page: Pages) -> None:
    host = page("smart-one-hangs")
    assert 31 == host.value("ssd_smart_temperature_celsius", device="sdb")
    assert 1_700_000_000 == host.value("ssd_smart_last_success_timestamp_seconds", device="sdb")
    assert 1 == host.value("ssd_smart_polls_total", device="sdb", result="success")
    assert 1 <= (host.value("ssd_smart_polls_total", device="sdb", result="timed_out") or 0)


def test_replaced_drive_has_new_series(page: Pages) -> None:
    """The old drive had 17 media errors and 900 log entries."""
    host = page("smart-drive-swapped")
    assert 1 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000099")
    assert 0 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000022")
    names = {
        s.labels["serial"]
        for s in host.samples
        if s.name.startswith("ssd_smart_") and s.labels.get("device") == "nvme1n1"
    }
    assert {"FW9B00000099"} == names
    assert 0 == host.value("ssd_smart_media_errors_total", device="nvme1n1")
    assert 2 == hours(host, "nvme1n1")
    assert {("nvme1n1", "FW9B00000099")} == {
        row for row in host.rows("ssd_device_info", "device", "serial") if row[0] == "nvme1n1"
    }


def test_removed_drive_is_down_without_other_series(page: Pages) -> None:
    host = page("smart-drive-vanishes")
    assert 0 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000022")
    named = {s.name for s in host.samples if s.labels.get("device") == "nvme1n1"}
    assert {"ssd_device_up"} == named


def test_disk_in_standby_is_up(page: Pages) -> None:
    host = page("smart-standby")
    assert {("sda", "WMADEUP0001"): 1, ("sdb", "WMADEUP0002"): 1} == up(host)
    modes = {("sda", "standby"), ("sdb", "standby")}
    assert modes == host.rows("ssd_smart_power_mode", "device", "mode")


def test_disk_in_standby_keeps_constant_values(page: Pages) -> None:
    host = page("smart-standby")
    assert 40_000 == hours(host, "sda")
    assert host.value("ssd_smart_temperature_celsius", device="sda") is None
    names = {s.name for s in host.samples if s.labels.get("serial") == "WMADEUP0002"}
    assert {
        "ssd_device_info",
        "ssd_device_up",
        "ssd_smart_power_mode",
        "ssd_smart_poll_duration_seconds",
        "ssd_smart_polls_total",
    } == names


@pytest.mark.parametrize("device", ["sda", "sdb"])
def test_unreadable_output_is_a_drive_that_is_down(page: Pages, device: str) -> None:
    host = page("smart-garbage")
    assert 0 == host.value("ssd_device_up", device=device)
    assert 1 == host.value("ssd_smart_polls_total", device=device, result="unreadable")
    assert host.value("ssd_smart_healthy", device=device) is None


def test_malformed_field_affects_only_itself(page: Pages) -> None:
    host = page("smart-garbage")
    assert 0.12 == host.value("ssd_smart_endurance_used_ratio", device="sdc")
    assert 5000 == hours(host, "sdc")
    assert host.value("ssd_smart_temperature_celsius", device="sdc") is None
    assert host.value("ssd_smart_reallocated_sectors_total", device="sdc") is None


def test_drive_without_smart_data_is_up_and_unavailable(page: Pages) -> None:
    host = page("smart-garbage")
    assert 1 == host.value("ssd_device_up", device="sdd", serial="S5MADEUP0203")
    assert 0 == host.value("ssd_smart_available", device="sdd")


def test_drives_with_equal_serial_numbers_are_distinguished(page: Pages) -> None:
    host = page("smart-equal-serials")
    expected = {"sda": 100, "sdb": 200, "sdc": 300, "sdc:usbjmicron,1": 400}
    assert expected == {device: hours(host, device) for device in expected}
    assert 4 == len(up(host))


def test_emmc_has_the_wear_families_of_other_drives(page: Pages) -> None:
    board = page("emmc-board")
    assert {("mmcblk0", "0x1a2b3c4d"): 1} == up(board)
    assert 0.1 == board.value("ssd_smart_endurance_used_ratio", device="mmcblk0")
    sources = {("mmcblk0", "mmc_life_time")}
    assert sources == board.rows("ssd_smart_endurance_source_info", "device", "source")
    names = {s.name for s in board.samples if s.labels.get("serial") == "0x1a2b3c4d"}
    assert {
        "ssd_device_info",
        "ssd_device_up",
        "ssd_smart_endurance_used_ratio",
        "ssd_smart_endurance_source_info",
    } == names


def test_worn_emmc_has_used_all_and_has_no_spare(page: Pages) -> None:
    board = page("emmc-worn-out")
    assert 1 == board.value("ssd_smart_endurance_used_ratio", device="mmcblk0")
    spare = board.value("ssd_smart_spare_ratio", device="mmcblk0")
    assert spare == board.value("ssd_smart_spare_threshold_ratio", device="mmcblk0") == 0.1


@pytest.mark.parametrize("name", ["emmc-board", "emmc-worn-out"])
def test_card_without_valid_wear_has_no_health(page: Pages, name: str) -> None:
    host = page(name)
    assert {"mmcblk0"} == host.devices("ssd_smart_") == {device for device, _ in up(host)}
    assert {"mmcblk0", "mmcblk1"} == host.devices("ssd_device_info")


def test_number_of_smart_series_per_drive_is_limited(page: Pages) -> None:
    """The median with raw attributes is at most 60."""
    costs = []
    for name in ("smart-nvme", "smart-sata", "smart-megaraid"):
        for device, _ in up(page(name)):
            smart = [s for s in page(name).samples if s.labels.get("device") == device]
            costs.append(sum(s.name.startswith(("ssd_smart_", "ssd_ata_")) for s in smart))
    assert sorted(costs)[len(costs) // 2] <= 60, costs
