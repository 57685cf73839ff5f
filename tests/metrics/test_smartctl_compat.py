"""Tests of `metrics.smartctl_compat`: the families of smartctl_exporter, and queries of them."""

import json
import subprocess
from pathlib import Path

import pytest

from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity, Protocol
from exporter.drives.watched_drive import WatchedDrive
from exporter.metrics import smartctl_compat
from tests.end_to_end.programs import need
from tests.metrics.page import page
from tests.metrics.test_smart_collector import NVME, written

NVME_DRIVE = WatchedDrive(
    "nvme0n1",
    "FW1",
    "/dev/nvme0 -d nvme",
    DriveIdentity(
        Protocol.NVME, "Flashworks F900", None, "FW1", "1.0", None, 1_920_383_410_176, 512, False
    ),
    up=True,
    health=NVME,
)
SATA_DRIVE = WatchedDrive(
    "sda",
    "S1",
    "/dev/sda -d sat",
    DriveIdentity(
        Protocol.ATA, "Flashworks S500", "Flashworks", "S1", "2.0", None, 480_103_981_056, 512
    ),
    up=True,
    health=DriveHealth(
        healthy=True,
        temperatures={"drive": 31.0},
        power_on_seconds=7200.0,
        power_cycles=9,
        host_written=written(1000, 512),
        attributes=(
            AtaAttribute(177, "Wear_Leveling_Count", 120, "120", 97, 97, 5),
            AtaAttribute(241, "Total_LBAs_Written", 1000, "1000", 99, 99, 0),
        ),
    ),
)
DRIVES = (NVME_DRIVE, SATA_DRIVE)


def test_an_nvme_drive_has_the_values_of_its_smart_log_in_percent() -> None:
    found = page(smartctl_compat.samples([NVME_DRIVE]))
    assert {("nvme0n1",): 4.0} == found["smartctl_device_percentage_used"]
    assert {("nvme0n1",): 100.0} == found["smartctl_device_available_spare"]
    assert {("nvme0n1",): 10.0} == found["smartctl_device_available_spare_threshold"]
    assert {("nvme0n1",): 0} == found["smartctl_device_critical_warning"]
    assert {("nvme0n1",): 80_000 * 512_000} == found["smartctl_device_bytes_written"]
    assert {("nvme0n1", "current"): 38.0} == found["smartctl_device_temperature"]


def test_the_identity_has_the_interface_that_smartctl_uses() -> None:
    found = page(smartctl_compat.samples(DRIVES))["smartctl_device"]
    assert {("nvme", "NVMe"), ("sat", "ATA")} == {labels[1:3] for labels in found}
    assert {"Flashworks F900", "Flashworks S500"} == {labels[4] for labels in found}


def test_a_sata_drive_has_its_attributes_and_no_zeros_of_nvme() -> None:
    found = page(smartctl_compat.samples([SATA_DRIVE]))
    wear = {
        labels[4]: n for labels, n in found["smartctl_device_attribute"].items() if "177" in labels
    }
    assert {"raw": 120, "value": 97, "worst": 97, "thresh": 5} == wear
    for name in ("percentage_used", "available_spare", "media_errors", "critical_warning"):
        assert f"smartctl_device_{name}" not in found


def test_the_grown_defect_list_is_that_of_a_sas_drive() -> None:
    drive = WatchedDrive(
        "sdb",
        "K1",
        "/dev/sdb",
        DriveIdentity(Protocol.SCSI, "Spinner"),
        up=True,
        health=DriveHealth(reallocated_sectors=3),
    )
    found = page(smartctl_compat.samples([drive]))
    assert {("sdb", "", "Spinner", "K1"): 3} == found["smartctl_scsi_grown_defect_list"]


def test_a_critical_warning_is_a_bit_field() -> None:
    health = DriveHealth(critical_warnings={"spare": True, "temperature": False, "read_only": True})
    drive = WatchedDrive("nvme0n1", "", "", DriveIdentity(Protocol.NVME), up=True, health=health)
    found = page(smartctl_compat.samples([drive]))
    assert {("nvme0n1",): 0b1001} == found["smartctl_device_critical_warning"]


def test_a_missing_drive_has_no_samples() -> None:
    drive = WatchedDrive("sda", "S1", "/dev/sda", is_missing=True, health=DriveHealth())
    assert {"smartctl_version"} == page(smartctl_compat.samples([drive])).keys()


_OF = "* on (instance, device) group_left (interface, serial_number, model_name) smartctl_device"

#: What the panels and variables of dashboard 22604 of grafana.com select, in our own words.
QUERIES_22604 = (
    "smartctl_version",
    "sum by (interface) (smartctl_device)",
    "count(count by (instance) (smartctl_device))",
    f"avg by (instance, device, model_name) (smartctl_device_temperature {_OF})",
    f"smartctl_device_media_errors {_OF}",
    f"smartctl_device_critical_warning {_OF}",
    f"smartctl_device_smart_status {_OF}",
    f"max by (instance, device, model_name) (smartctl_device_power_on_seconds {_OF})",
    f"max by (instance, device, model_name) (smartctl_device_power_cycle_count {_OF})",
    f"max by (device, instance, model_name, serial_number) (smartctl_device_bytes_written {_OF})",
    (
        '100 - smartctl_device_attribute{attribute_name="Wear_Leveling_Count",'
        f'attribute_value_type="value"}} {_OF}{{interface="sat"}}'
    ),
    f'smartctl_device_percentage_used {_OF}{{interface=~"nvme"}}',
    (
        'smartctl_device_attribute{attribute_name="Total_LBAs_Written",attribute_value_type="raw"}'
        f' * on (instance, device) smartctl_device_block_size{{blocks_type="physical"}} {_OF}'
    ),
)
#: Without an answer: the exporter does not know the physical block size here. The result would be
#: wrong in any case, because the attribute counts logical blocks. smartctl_device_bytes_written has
#: the bytes of SATA drives, too.
UNANSWERED_22604 = {QUERIES_22604[-1]}

#: Alerts that are commonly used with smartctl_exporter.
COMMON_ALERTS = (
    "smartctl_device_smart_status == 1",
    'smartctl_device_temperature{temperature_type="current"} > 30',
    "smartctl_device_available_spare >= smartctl_device_available_spare_threshold",
    "smartctl_device_smartctl_exit_status == 0",
    (
        'smartctl_device_attribute{attribute_value_type="value"} > '
        "on (instance, device, attribute_id) "
        'smartctl_device_attribute{attribute_value_type="thresh"}'
    ),
)


@pytest.mark.real
def test_the_queries_of_dashboards_and_common_alerts_are_answered(tmp_path: Path) -> None:
    need("promtool")
    series = [
        {
            "series": f"{desc.name}{{"
            + ",".join(
                f"{name}={json.dumps(value)}"
                for name, value in zip(("instance", *desc.labels), ("db1", *labels), strict=True)
            )
            + "}",
            "values": f"{value}x5",
        }
        for desc, labels, value in smartctl_compat.samples(DRIVES)
    ]
    checks = [
        {
            "expr": f"count({query}) > bool 0",
            "eval_time": "3m",
            "exp_samples": [] if query in UNANSWERED_22604 else [{"labels": "{}", "value": 1}],
        }
        for query in (*QUERIES_22604, *COMMON_ALERTS)
    ]
    story = {"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": checks}]}
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps(story))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stdout + done.stderr
