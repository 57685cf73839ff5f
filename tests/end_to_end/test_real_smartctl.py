"""Debian's smartctl reads simulated drives, and their values are exported."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.devices import drive_shim, nvme_shim
from rigs.devices.nvme_shim import Health
from rigs.smartctl_versions.scenes import SAS, SATA
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.host import Host
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need
from tests.end_to_end.waiting import SOON, await_page

pytestmark = pytest.mark.real

UNIT = 512_000  # 1000 blocks of 512 bytes, independent of the drive's block size
CAPACITY = 1_920_383_410_176
#: A number that exists on no machine.
DEVICE = "nvme1657"
WHO = {"serial": "SHIM00SERIAL01"}

#: All numbers differ. The critical warnings are spare, reliability and volatile backup.
HEALTH = Health(
    critical_warning=0b10101,
    temperature=37,
    available_spare=83,
    available_spare_threshold=11,
    percentage_used=129,
    data_units_read=1_000_003,
    data_units_written=2_000_005,
    host_reads=3_000_007,
    host_writes=4_000_009,
    controller_busy_minutes=5_011,
    power_cycles=613,
    power_on_hours=7_017,
    unsafe_shutdowns=819,
    media_errors=921,
    error_log_entries=300_000_023,
    warning_minutes=127,
    critical_minutes=31,
    sensors=(41, 43, 47, 53, 59, 61, 67, 71),
)

PAGE = {
    "ssd_device_up": 1,
    "ssd_smart_available": 1,
    "ssd_smart_healthy": 0,
    "ssd_smart_spare_ratio": 0.83,
    "ssd_smart_spare_threshold_ratio": 0.11,
    "ssd_smart_endurance_used_ratio": 1.29,
    "ssd_smart_host_read_bytes_total": 1_000_003 * UNIT,
    "ssd_smart_host_written_bytes_total": 2_000_005 * UNIT,
    "ssd_smart_controller_busy_seconds_total": 5_011 * 60,
    "ssd_smart_power_cycles_total": 613,
    "ssd_smart_power_on_seconds_total": 7_017 * 3600,
    "ssd_smart_unsafe_shutdowns_total": 819,
    "ssd_smart_media_errors_total": 921,
    "ssd_smart_error_log_entries_total": 300_000_023,
    "ssd_smart_plp_healthy": 0,
}
WARNINGS = {
    "spare": 1,
    "temperature": 0,
    "reliability": 1,
    "read_only": 0,
    "volatile_backup": 1,
    "persistent_memory": 0,
}


def test_every_field_of_an_nvme_drive_reaches_the_page(tmp_path: Path) -> None:
    need("smartctl", "cc")
    answers = {
        "identify-1": nvme_shim.controller("SHIM EXAMPLE 1920", WHO["serial"], "SH1.7", CAPACITY),
        "identify-0": nvme_shim.namespace(CAPACITY, 4096, 0x00A1B2_0C0D0E0F10),
        "log-1": bytes(4 * 64),
        "log-2": HEALTH.encoded(),
    }
    page = page_of(tmp_path, answers, DEVICE, "nvme")

    who = {"device": DEVICE, **WHO}
    assert PAGE == {name: float(page.value(name, **who)) for name in PAGE}
    warnings = page.find("ssd_smart_critical_warning", **who)
    assert WARNINGS == {labels["warning"]: value for labels, value in warnings}
    celsius = page.find("ssd_smart_temperature_celsius", **who)
    sensors = {str(number + 1): degrees for number, degrees in enumerate(HEALTH.sensors)}
    assert {"drive": 37, **sensors} == {labels["sensor"]: value for labels, value in celsius}
    over = page.find("ssd_smart_over_temperature_seconds_total", **who)
    assert {"warning": 127 * 60, "critical": 31 * 60} == {
        labels["level"]: value for labels, value in over
    }
    assert "nvme_log" in page.labels("ssd_smart_endurance_source_info", "source")
    bits = {labels["bit"] for labels, value in page.find("ssd_smart_exit_bit", **who) if value}
    assert {"disk_failing"} == bits
    (described,) = [
        labels for labels, _ in page.find("ssd_device_info") if labels["device"] == DEVICE
    ]
    assert ("SHIM EXAMPLE 1920", WHO["serial"], "SH1.7", "nvme") == tuple(
        described[name] for name in ("model", "serial", "firmware", "protocol")
    )
    assert "eui.00a1b20c0d0e0f10" == described["wwn"]
    assert CAPACITY == page.value("ssd_device_capacity_bytes", device=DEVICE)


def test_a_sas_drive_with_pending_defects_is_read(tmp_path: Path) -> None:
    """smartctl up to 7.3 ends with an exception instead of the JSON of such a drive."""
    need("smartctl", "cc")
    drive = replace(SAS, pending_defects=((100, 12_345), (101, 23_456)))
    expected = {
        "ssd_device_up": 1,
        "ssd_smart_healthy": 1,
        "ssd_smart_endurance_used_ratio": 0.29,
        "ssd_smart_pending_sectors": 2,
        "ssd_smart_reallocated_sectors_total": 30,
        "ssd_smart_media_errors_total": 3,
        "ssd_smart_host_written_bytes_total": 14_000_000 * 10**6,
        "ssd_smart_power_on_seconds_total": (7_017 * 60 + 13) * 60,
    }
    page = page_of(tmp_path, drive.answers(), "sdzzz1657", "scsi")
    assert expected == {name: page.value(name, device="sdzzz1657") for name in expected}


def test_a_sata_drive_behind_a_sas_controller_is_read(tmp_path: Path) -> None:
    need("smartctl", "cc")
    expected = {
        "ssd_device_up": 1,
        "ssd_smart_healthy": 1,
        "ssd_smart_endurance_used_ratio": 0.29,
        "ssd_smart_reallocated_sectors_total": 17,
        "ssd_smart_interface_errors_total": 9,
        "ssd_smart_host_written_bytes_total": 4_000_000_000 * 512,
        "ssd_smart_power_on_seconds_total": 7_017 * 3600,
    }
    page = page_of(tmp_path, SATA.answers(), "sdzzz1657", "sat")
    assert expected == {name: page.value(name, device="sdzzz1657") for name in expected}


def page_of(tmp_path: Path, answers: Mapping[str, bytes], device: str, kind: str) -> Page:
    """The page of a daemon that polls this simulated drive with Debian's smartctl."""
    path = f"/dev/{device}"
    real = shutil.which("smartctl", path=f"{os.environ['PATH']}:/usr/sbin")
    assert real is not None
    program = drive_shim.smartctl_under(drive_shim.build(tmp_path), answers, path, real)
    host = Host(tmp_path / "host")
    host.disk("vda", 0)
    host.diskstats(["vda"])
    config = f"""
        smart.source = "exec"
        smart.nvme_interval_seconds = 10
        [[smart.drive]]
        path = "{path}"
        type = "{kind}"
    """
    flags = (*host.flags, f"--smartctl.path={program}")
    with Daemon(tmp_path / "daemon", *flags, config=config) as daemon:
        page = await_page(daemon, lambda page: bool(list(page.find("ssd_device_up"))), 2 * SOON)
        assert [] == daemon.complaints
    return page
