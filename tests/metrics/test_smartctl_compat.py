"""Tests of `metrics.smartctl_compat`: the families of smartctl_exporter, and queries of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity, Protocol
from exporter.drives.smart_report import parse_report
from exporter.drives.watched_drive import WatchedDrive
from exporter.metrics import smartctl_compat
from rigs.corpus.documents import CORPUS, NO_CORPUS, document, paths
from tests.end_to_end.programs import need
from tests.metrics import smartctl_queries
from tests.metrics.page import page
from tests.metrics.test_smart_collector import NVME, written
from tests.processes import run_program

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
        Protocol.ATA,
        "Flashworks S500",
        "Flashworks",
        "S1",
        "2.0",
        None,
        480_103_981_056,
        512,
        physical_block_bytes=4096,
    ),
    up=True,
    health=DriveHealth(
        healthy=True,
        temperatures={"drive": 31.0},
        power_on_seconds=7200.0,
        power_cycles=9,
        error_log_entries=2,
        host_written=written(1000, 512),
        attributes=(
            AtaAttribute(5, "Reallocated_Sector_Ct", 0, "0", 100, 100, 10, flags="PO--CK"),
            AtaAttribute(177, "Wear_Leveling_Count", 120, "120", 97, 97, 5),
            AtaAttribute(197, "Current_Pending_Sector", 0, "0", 100, 100, 0),
            AtaAttribute(198, "Offline_Uncorrectable", 0, "0", 100, 100, 0),
            AtaAttribute(233, "Media_Wearout_Indicator", 3, "3", 97, 97, 0),
            AtaAttribute(241, "Total_LBAs_Written", 1000, "1000", 99, 99, 0),
        ),
    ),
)
SAS_DRIVE = WatchedDrive(
    "sdb",
    "K1",
    "/dev/sdb -d scsi",
    DriveIdentity(Protocol.SCSI, "Spinner"),
    up=True,
    health=DriveHealth(
        healthy=True,
        temperatures={"drive": 36.0},
        temperature_warning_celsius=65.0,
        reallocated_sectors=3,
    ),
)
DRIVES = (NVME_DRIVE, SATA_DRIVE, SAS_DRIVE)


def test_an_nvme_drive_has_the_values_of_its_smart_log_in_percent() -> None:
    found = page(smartctl_compat.samples([NVME_DRIVE]))
    assert {("nvme0",): 4.0} == found["smartctl_device_percentage_used"]
    assert {("nvme0",): 100.0} == found["smartctl_device_available_spare"]
    assert {("nvme0",): 10.0} == found["smartctl_device_available_spare_threshold"]
    assert {("nvme0",): 0} == found["smartctl_device_critical_warning"]
    assert {("nvme0",): 80_000 * 512_000} == found["smartctl_device_bytes_written"]
    assert {("nvme0", "current"): 38.0} == found["smartctl_device_temperature"]


def test_the_identity_has_the_interface_that_smartctl_uses() -> None:
    found = page(smartctl_compat.samples((NVME_DRIVE, SATA_DRIVE)))["smartctl_device"]
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


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/dev/nvme0 -d nvme", "nvme0"),
        ("/dev/sda -d sat", "sda"),
        ("/dev/sdb", "sdb"),
        ("/dev/bus/0 -d megaraid,3", "bus_0_megaraid_3"),
        ("/dev/bus/0 -d sat+megaraid,3", "bus_0_sat+megaraid_3"),
        ("/dev/disk/by-id/wwn-0x5000 -d scsi", "wwn-0x5000"),
        ("", "label"),
    ],
)
def test_the_label_device_is_that_of_smartctl_exporter(address: str, expected: str) -> None:
    assert expected == smartctl_compat.device_name(WatchedDrive("label", "", address))


def test_an_attribute_has_its_flags() -> None:
    row = AtaAttribute(5, "Reallocated_Sector_Ct", 0, value=100, flags="PO--CK")
    drive = WatchedDrive("sda", "", "/dev/sda", up=True, health=DriveHealth(attributes=(row,)))
    found = page(smartctl_compat.samples([drive]))["smartctl_device_attribute"]
    names = "prefailure,updated_online,event_count,auto_keep"
    assert {
        ("sda", "Reallocated_Sector_Ct", "PO--CK", names, kind, "5") for kind in ("raw", "value")
    } == set(found)


def test_the_error_log_is_that_of_a_sata_drive() -> None:
    for protocol, expected in ((Protocol.ATA, {("sda", "summary"): 7}), (Protocol.NVME, None)):
        health = DriveHealth(error_log_entries=7)
        drive = WatchedDrive("sda", "", "/dev/sda", DriveIdentity(protocol), up=True, health=health)
        found = page(smartctl_compat.samples([drive]))
        assert expected == found.get("smartctl_device_error_log_count")


def test_the_warning_limit_of_a_sas_drive_is_its_trip_temperature() -> None:
    found = page(smartctl_compat.samples([SAS_DRIVE]))["smartctl_device_temperature"]
    assert {("sdb", "current"): 36.0, ("sdb", "drive_trip"): 65.0} == found


def test_the_grown_defect_list_is_that_of_a_sas_drive() -> None:
    found = page(smartctl_compat.samples([SAS_DRIVE]))
    assert {("sdb", "", "Spinner", "K1"): 3} == found["smartctl_scsi_grown_defect_list"]


def test_a_critical_warning_is_a_bit_field() -> None:
    health = DriveHealth(critical_warnings={"spare": True, "temperature": False, "read_only": True})
    drive = WatchedDrive("nvme0", "", "", DriveIdentity(Protocol.NVME), up=True, health=health)
    found = page(smartctl_compat.samples([drive]))
    assert {("nvme0",): 0b1001} == found["smartctl_device_critical_warning"]


def test_a_critical_warning_includes_the_reserved_bits() -> None:
    health = DriveHealth(critical_warnings={"spare": False, "reserved_6": True})
    drive = WatchedDrive("nvme0", "", "", DriveIdentity(Protocol.NVME), up=True, health=health)
    found = page(smartctl_compat.samples([drive]))
    assert {("nvme0",): 0b100_0000} == found["smartctl_device_critical_warning"]


def test_a_missing_drive_has_no_samples() -> None:
    drive = WatchedDrive("sda", "S1", "/dev/sda", is_missing=True, health=DriveHealth())
    assert {"smartctl_version"} == page(smartctl_compat.samples([drive])).keys()


def _answers(hosts: Mapping[str, Sequence[WatchedDrive]], directory: Path) -> None:
    """AssertionError with promtool's output if a query has no answer on the pages of the hosts."""
    series = [
        {
            "series": f"{desc.name}{{"
            + ",".join(
                f"{name}={json.dumps(value, ensure_ascii=False)}"
                for name, value in zip(("instance", *desc.labels), (host, *labels), strict=True)
            )
            + "}",
            "values": f"{value}x1",
        }
        for host, drives in hosts.items()
        for desc, labels, value in smartctl_compat.samples(drives)
    ]
    checks = [
        {
            "expr": f"count({query}) > bool 0",
            "eval_time": "1m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for query in smartctl_queries.QUERIES
    ]
    story = {"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": checks}]}
    file = directory / "queries.yml"
    file.write_text(json.dumps(story))
    done = run_program(["promtool", "test", "rules", str(file)])
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.real
def test_the_queries_of_dashboards_and_alerts_are_answered(tmp_path: Path) -> None:
    need("promtool")
    _answers({"db1": DRIVES}, tmp_path)


#: The drives of the corpus, keyed by file; empty without the corpus.
REPORTS = {
    file: report
    for file in (sorted(paths()) if CORPUS.is_dir() else ())
    if (report := parse_report(document(file))).identity.protocol is not None
}


def _of_corpus(file: str) -> WatchedDrive:
    """The drive of a file as if it were polled at the address in the file."""
    report, fields = REPORTS[file], Fields(document(file))
    path, kind = fields.text("device", "name"), fields.text("device", "type")
    address = f"{path or '/dev/sda'} -d {kind or 'auto'}"
    return WatchedDrive(
        "disk",
        report.identity.serial or "",
        address,
        report.identity,
        up=True,
        health=report.health,
    )


#: Drives that have two attributes with the name Total_LBAs_Written. With them, Prometheus rejects
#: the query of dashboard 22604 that selects this name, with either exporter.
NAMED_TWICE = {
    "ata/intel-SSDSCKJB240G7R-1.json",
    "ata/intel-SSDSCKKB240G8R-1.json",
}


@pytest.mark.real
@pytest.mark.skipif(not REPORTS, reason=NO_CORPUS)
def test_the_queries_are_answered_by_the_pages_of_the_corpus(tmp_path: Path) -> None:
    """Each drive is a host of its own, because most files have the same device path."""
    need("promtool")
    _answers({file: [_of_corpus(file)] for file in REPORTS if file not in NAMED_TWICE}, tmp_path)


#: The place of each family's value in smartctl's JSON, and the factor between the two.
_NVME_LOG = "nvme_smart_health_information_log"
IN_JSON: tuple[tuple[str, tuple[str | int, ...], float], ...] = (
    ("temperature", ("temperature", "current"), 1),
    ("temperature", ("temperature", "drive_trip"), 1),
    ("smart_status", ("smart_status", "passed"), 1),
    ("smartctl_exit_status", ("smartctl", "exit_status"), 1),
    ("power_on_seconds", ("power_on_time", "hours"), 3600),
    ("power_cycle_count", ("power_cycle_count",), 1),
    ("capacity_bytes", ("user_capacity", "bytes"), 1),
    ("block_size", ("logical_block_size",), 1),
    ("block_size", ("physical_block_size",), 1),
    ("error_log_count", ("ata_smart_error_log", "summary", "count"), 1),
    ("percentage_used", (_NVME_LOG, "percentage_used"), 1),
    ("available_spare", (_NVME_LOG, "available_spare"), 1),
    ("available_spare_threshold", (_NVME_LOG, "available_spare_threshold"), 1),
    ("critical_warning", (_NVME_LOG, "critical_warning"), 1),
    ("media_errors", (_NVME_LOG, "media_errors"), 1),
    ("num_err_log_entries", (_NVME_LOG, "num_err_log_entries"), 1),
    ("bytes_read", (_NVME_LOG, "data_units_read"), 512_000),
    ("bytes_written", (_NVME_LOG, "data_units_written"), 512_000),
)


#: The families for which 0 means that the drive does not know the value.
UNKNOWN_IF_ZERO = ("temperature", "capacity_bytes")


@pytest.mark.skipif(not REPORTS, reason=NO_CORPUS)
def test_the_pages_of_the_corpus_have_the_values_of_smartctls_json() -> None:
    different = set()
    for file in REPORTS:
        fields, found = Fields(document(file)), page(smartctl_compat.samples([_of_corpus(file)]))
        for family, place, factor in IN_JSON:
            value = fields.get(*place)
            if not isinstance(value, int | float) or (value == 0 and family in UNKNOWN_IF_ZERO):
                continue
            shown = found.get(f"smartctl_device_{family}", {}).values()
            # The exporter adds the minutes to the hours of the power-on time.
            if not any(0 <= number - value * factor < factor for number in shown):
                different.add((file, family, value))
        table = fields.get("ata_smart_attributes", "table")
        rows = table if isinstance(table, list) else []
        kinds = {labels[4:] for labels in found.get("smartctl_device_attribute", {})}
        for row in rows:
            if ("raw", str(row["id"])) not in kinds:
                different.add((file, "attribute", row["id"]))
    assert set() == different
