"""What the pages of machines whose drives tell of their health must show."""

import pytest

from tests.hosts.page import Page, Pages

HOUR = 3600.0
YEAR = 365 * 24 * HOUR


def hours(page: Page, device: str) -> float | None:
    seconds = page.value("ssd_smart_power_on_seconds_total", device=device)
    return None if seconds is None else seconds / HOUR


def up(page: Page) -> dict[tuple[str, str], float]:
    """Whether each drive answers, by device and serial number."""
    return {
        (s.labels["device"], s.labels["serial"]): s.value
        for s in page.samples
        if s.name == "ssd_device_up"
    }


def test_a_drive_has_its_own_serial_number_under_the_block_devices_name(page: Pages) -> None:
    nvme = page("smart-nvme")
    assert {("nvme0n1", "FW9A00000012"): 1, ("nvme1n1", "FW9B00000077"): 1} == up(nvme)
    names = nvme.rows("ssd_device_info", "device", "serial")
    assert set(up(nvme)) == names, "and one description, the kernel's"


def test_wear_spare_and_lost_data_are_seen_at_a_glance(page: Pages) -> None:
    """Data units are 1,000 times 512 bytes; the controller counts minutes of work."""
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


def test_a_drive_that_is_too_hot_says_so_by_its_own_limit(page: Pages) -> None:
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


def test_what_is_asked_for_once_a_day_stays_on_the_page(page: Pages) -> None:
    nvme = page("smart-nvme")
    tests = [nvme.value("ssd_smart_self_test_passed", device=f"nvme{n}n1") for n in (0, 1)]
    assert [1, 0] == tests
    sata = page("smart-sata")
    assert 61 == sata.value("ssd_smart_error_log_entries_total", device="sdb")
    assert 1 == sata.value("ssd_smart_exit_bit", device="sdb", bit="error_log_entries")


def test_wear_is_one_metric_wherever_a_sata_drive_counts_it(page: Pages) -> None:
    sata = page("smart-sata")
    used = [sata.value("ssd_smart_endurance_used_ratio", device=d) for d in ("sda", "sdb")]
    assert [0.07, 0.63] == used
    sources = {("sda", "ata_devstat"), ("sdb", "family_rule")}
    assert sources == sata.rows("ssd_smart_endurance_source_info", "device", "source")


def test_bytes_are_bytes_whatever_the_drive_counts_in(page: Pages) -> None:
    """Both count sectors of 512 bytes."""
    sata = page("smart-sata")
    written = [sata.value("ssd_smart_host_written_bytes_total", device=d) for d in ("sda", "sdb")]
    assert [400e9 * 512, 180e9 * 512] == written


def test_a_temperature_is_not_what_is_packed_beside_it(page: Pages) -> None:
    sata = page("smart-sata")
    assert 38 == sata.value("ssd_smart_temperature_celsius", device="sdb")
    packed = sata.value("ssd_ata_attribute_raw", device="sdb", id="194")
    assert (58 << 32) + (19 << 16) + 38 == packed


def test_a_limit_of_temperature_is_the_drives_own(page: Pages) -> None:
    """sda has been above its limit for three minutes of its life; sdb has none to tell."""
    sata = page("smart-sata")
    limits = [
        sata.value("ssd_smart_temperature_warning_celsius", device=device)
        for device in ("sda", "sdb")
    ]
    assert [70, None] == limits
    over = sata.value("ssd_smart_over_temperature_seconds_total", device="sda", level="warning")
    assert 3 * 60 == over


def test_a_bad_cable_is_seen_by_speed_and_errors(page: Pages) -> None:
    sata = page("smart-sata")
    assert 150e6 == sata.value("ssd_link_speed_bytes_per_second", device="sdb")
    assert 600e6 == sata.value("ssd_link_speed_max_bytes_per_second", device="sdb")
    assert 61 == sata.value("ssd_smart_interface_errors_total", device="sdb")


def test_what_a_drive_does_not_count_is_not_there(page: Pages) -> None:
    sata = page("smart-sata")
    for name in (
        "ssd_smart_host_read_bytes_total",
        "ssd_smart_spare_ratio",
        "ssd_smart_self_test_passed",
        "ssd_smart_temperature_critical_celsius",
    ):
        assert sata.value(name, device="sdb") is None, name


def test_drives_behind_a_controller_are_joined_to_what_stands_on_them(page: Pages) -> None:
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


def test_a_drive_seen_twice_is_shown_once_and_a_volume_is_no_drive(page: Pages) -> None:
    raid = page("smart-megaraid")
    expected = {
        ("bus/0:megaraid,0", "X7MADEUP0000"): 1,
        ("bus/0:megaraid,1", "X7MADEUP0001"): 1,
        ("bus/0:megaraid,4", "S5MADEUP0404"): 1,
    }
    assert expected == up(raid)


def test_a_drive_that_hangs_costs_no_other_its_freshness(page: Pages) -> None:
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
    warmth = [
        host.value("ssd_smart_temperature_celsius", device=device) for device in ("sda", "sdc")
    ]
    assert [40, 42] == warmth


def test_how_old_the_word_of_a_drive_that_hangs_is_can_be_seen(page: Pages) -> None:
    host = page("smart-one-hangs")
    assert 31 == host.value("ssd_smart_temperature_celsius", device="sdb")
    assert 1_700_000_000 == host.value("ssd_smart_last_success_timestamp_seconds", device="sdb")
    assert 1 == host.value("ssd_smart_polls_total", device="sdb", result="success")
    assert 1 <= (host.value("ssd_smart_polls_total", device="sdb", result="timed_out") or 0)


def test_a_swapped_drive_begins_series_of_its_own(page: Pages) -> None:
    """The old one had lost data 17 times and made 900 log entries."""
    host = page("smart-drive-swapped")
    assert 1 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000099")
    assert 0 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000022")
    told = {
        s.labels["serial"]
        for s in host.samples
        if s.name.startswith("ssd_smart_") and s.labels.get("device") == "nvme1n1"
    }
    assert {"FW9B00000099"} == told
    assert 0 == host.value("ssd_smart_media_errors_total", device="nvme1n1")
    assert 2 == hours(host, "nvme1n1")
    assert {("nvme1n1", "FW9B00000099")} == {
        row for row in host.rows("ssd_device_info", "device", "serial") if row[0] == "nvme1n1"
    }


def test_a_drive_that_vanished_is_missed_and_nothing_else_is_said_of_it(page: Pages) -> None:
    host = page("smart-drive-vanishes")
    assert 0 == host.value("ssd_device_up", device="nvme1n1", serial="FW9B00000022")
    named = {s.name for s in host.samples if s.labels.get("device") == "nvme1n1"}
    assert {"ssd_device_up"} == named


def test_a_disk_that_sleeps_has_not_failed(page: Pages) -> None:
    host = page("smart-standby")
    assert {("sda", "WMADEUP0001"): 1, ("sdb", "WMADEUP0002"): 1} == up(host)
    modes = {("sda", "standby"), ("sdb", "standby")}
    assert modes == host.rows("ssd_smart_power_mode", "device", "mode")


def test_of_a_disk_that_sleeps_stays_what_stands_still(page: Pages) -> None:
    host = page("smart-standby")
    assert 40_000 == hours(host, "sda")
    assert host.value("ssd_smart_temperature_celsius", device="sda") is None
    told = {s.name for s in host.samples if s.labels.get("serial") == "WMADEUP0002"}
    assert {
        "ssd_device_info",
        "ssd_device_up",
        "ssd_smart_power_mode",
        "ssd_smart_poll_duration_seconds",
        "ssd_smart_polls_total",
    } == told


@pytest.mark.parametrize("device", ["sda", "sdb"])
def test_nonsense_is_a_drive_that_did_not_answer(page: Pages, device: str) -> None:
    host = page("smart-garbage")
    assert 0 == host.value("ssd_device_up", device=device)
    assert 1 == host.value("ssd_smart_polls_total", device=device, result="unreadable")
    assert host.value("ssd_smart_healthy", device=device) is None


def test_a_broken_field_costs_itself(page: Pages) -> None:
    host = page("smart-garbage")
    assert 0.12 == host.value("ssd_smart_endurance_used_ratio", device="sdc")
    assert 5000 == hours(host, "sdc")
    assert host.value("ssd_smart_temperature_celsius", device="sdc") is None
    assert host.value("ssd_smart_reallocated_sectors_total", device="sdc") is None


def test_a_drive_that_answers_and_says_nothing_is_said_to_have_no_smart(page: Pages) -> None:
    host = page("smart-garbage")
    assert 1 == host.value("ssd_device_up", device="sdd", serial="S5MADEUP0203")
    assert 0 == host.value("ssd_smart_available", device="sdd")


def test_drives_with_one_serial_number_are_told_apart(page: Pages) -> None:
    host = page("smart-equal-serials")
    expected = {"sda": 100, "sdb": 200, "sdc": 300, "sdc:usbjmicron,1": 400}
    assert expected == {device: hours(host, device) for device in expected}
    assert 4 == len(up(host))


def test_no_drive_costs_more_smart_series_than_the_contract_allows(page: Pages) -> None:
    """60 in the median, with raw attributes."""
    costs = []
    for name in ("smart-nvme", "smart-sata", "smart-megaraid"):
        for device, _ in up(page(name)):
            smart = [s for s in page(name).samples if s.labels.get("device") == device]
            costs.append(sum(s.name.startswith(("ssd_smart_", "ssd_ata_")) for s in smart))
    assert sorted(costs)[len(costs) // 2] <= 60, costs
