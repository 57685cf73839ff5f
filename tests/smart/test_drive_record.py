"""Tests of the values kept from earlier documents of a drive: daily logs, units, wear."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs
from exporter.drives.wearout import WearoutRules
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.presence import HostContext
from exporter.wear.wear_history import WearHistory
from tests.drives import reports
from tests.drives.nvme_logs import pages
from tests.drives.reports import Report
from tests.smart import scripted_smartctl
from tests.smart.drive_documents import DAY, NVME, SDA, Known, kept
from tests.smart.scripted_smartctl import ata, nvme


def test_daily_logs_are_read_and_kept(known: Known) -> None:
    """The regular set of a SATA drive has neither self-tests nor errors of the interface."""
    daily = ata("S00001", ata_smart_self_test_log=reports.ata()["ata_smart_self_test_log"])
    regular = reports.without(
        daily, "ata_smart_self_test_log", "ata_smart_error_log", "sata_phy_event_counters"
    )
    known.answer(SDA, daily, is_daily=True).call(SDA)
    entries = []
    for _ in range(200):
        known.clock.advance(900)
        known.answer(SDA, regular).live()
        health = known.health("sda")
        entries.append((health.error_log_entries, health.self_test is not None))
    assert {(17, True), (None, False)} == set(entries)
    assert 192 == entries.index((None, False)), "two days"


def test_a_replacement_drive_has_no_logs_of_the_old_drive(known: Known) -> None:
    known.answer(SDA, ata("S00001"), is_daily=True).call(SDA)
    known.clock.advance(900)
    other = reports.without(ata("S00002"), "ata_smart_self_test_log", "ata_smart_error_log")
    known.answer(SDA, other).live()
    health = known.health("sda")
    assert (None, None) == (health.error_log_entries, health.self_test)


def written(lbas: int, **keys: Any) -> Report:
    """Returns a drive whose vendor counts the written bytes in a vendor attribute."""
    table = [
        reports.attribute(241, "Host_Writes_32MiB", lbas),
        reports.attribute(242, "Host_Reads_32MiB", 5),
    ]
    report = ata("S00001", **keys)
    family = {"model_family": "Silicon Motion based SSDs"}
    return {**report, **family, "ata_smart_attributes": {"revision": 1, "table": table}}


@pytest.mark.parametrize(("lbas", "is_right"), [(1, False), (32, True)])
def test_a_byte_count_that_the_kernels_count_proves_wrong_is_left_out(
    known: Known, lbas: int, is_right: bool
) -> None:
    """The kernel wrote a GiB in each round, which is 32 steps of 32 MiB."""
    known.kernel_written["sda"] = 0
    known.answer(SDA, written(1000)).call(SDA)
    shown = []
    for number in range(1, 41):
        known.clock.advance(900)
        known.kernel_written["sda"] = number << 30
        known.answer(SDA, written(1000 + lbas * number)).live()
        health = known.health("sda")
        shown.append(health.host_written is not None)
    assert shown[0], "in a quarter of an hour nothing is proven"
    assert is_right == shown[-1]


@pytest.mark.parametrize("wwn", ["0001", "0002"])
def test_a_proof_for_one_drive_does_not_apply_to_its_replacement(known: Known, wwn: str) -> None:
    """Drives of one batch can have the same WWN: the serial number tells them apart."""
    known.kernel_written["sda"] = 0
    known.answer(SDA, written(1000)).call(SDA)
    known.clock.advance(4 * 3600)
    known.kernel_written["sda"] = 40 << 30
    known.answer(SDA, written(1001))
    known.answer(SDA, written(5, serial_number="S00002", wwn=scripted_smartctl.wwn(wwn))).live()
    health = known.health("sda")
    assert health.host_written is not None


def worn(percent: int, written_units: int, hours: int) -> Mapping[str, Any]:
    log = {
        **reports.nvme()["nvme_smart_health_information_log"],
        "percentage_used": percent,
        "data_units_written": written_units,
        "power_on_hours": hours,
    }
    return {"nvme_smart_health_information_log": log, "power_on_time": {"hours": hours}}


def test_over_a_year_the_wear_out_is_estimated_ever_better(tmp_path: Path) -> None:
    """20 % a year: at 30 % three and a half years are left."""
    known = Known(tmp_path, history=lambda: WearHistory.open(tmp_path / "history.sqlite"))
    known.call(NVME)
    methods: dict[str, float] = {}
    for hours in range(0, 365 * 24, 12):
        age = hours + 365 * 12
        report = nvme("FW000000", **worn(int(age / 24 / 18.25), age * 3600, age))
        known.answer(NVME, report).live()
        drive = known.watched()["nvme0n1"]
        if drive.wearout_method:
            methods.setdefault(drive.wearout_method, hours / 24)
        known.clock.advance(12 * 3600)
    assert ["lifetime_ratio", "steps"] == list(methods)
    assert methods["lifetime_ratio"] <= 2
    assert methods["steps"] <= 80
    assert drive.wearout_seconds is not None
    low, mid, high = (seconds / DAY / 365 for seconds in drive.wearout_seconds)
    assert pytest.approx(3.5, abs=0.1) == mid
    # A load that is constant for a year has the narrowest bounds.
    factor = WearoutRules().least_factor
    assert pytest.approx((mid / factor, mid * factor), rel=0.05) == (low, high)


def test_the_estimate_goes_on_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    known = Known(tmp_path, history=lambda: WearHistory.open(file))
    known.call(NVME)
    for day in range(120):
        known.answer(NVME, nvme("FW000000", **worn(10 + day // 10, day, 24 * day))).live()
        known.clock.advance(DAY)
    before = known.watched()
    assert {} == before, "a day without a poll"
    again = Known(tmp_path, history=lambda: WearHistory.open(file))
    again.clock = known.clock
    again.drives = DriveRegistry(
        known.clock,
        tmp_path / "sys",
        tmp_path,
        HostContext(dict, lambda _: None),
        inventory=kept(known),
        wear=again.wear,
        max_age_intervals=4.0,
    )
    again.answer(NVME, nvme("FW000000", **worn(22, 120, 24 * 120))).call(NVME)
    assert "steps" == again.watched()["nvme0n1"].wearout_method


def test_a_replacement_drive_has_no_estimate_of_the_old_drive(tmp_path: Path) -> None:
    known = Known(tmp_path, history=lambda: WearHistory.open(tmp_path / "history.sqlite"))
    known.call(NVME)
    for day in range(120):
        known.answer(NVME, nvme("FW000000", **worn(10 + day // 10, day, 24 * day))).live()
        known.clock.advance(DAY)
    known.answer(NVME, nvme("FW000001", **worn(0, 0, 1))).live()
    assert "" == known.watched()["nvme0n1"].wearout_method
    known.clock.advance(60)
    known.answer(NVME, nvme("FW000000", **worn(22, 120, 24 * 120))).live()
    assert "steps" == known.watched()["nvme0n1"].wearout_method
    known.clock.advance(60)
    known.answer(NVME, nvme("FW000001", **worn(0, 0, 1))).live()
    assert "" == known.watched()["nvme0n1"].wearout_method


def test_a_gauge_that_has_stopped_yields_no_date(tmp_path: Path) -> None:
    """At the value 1 the gauge of the drive stops, so that it would seem to last for ever."""
    known = Known(tmp_path, history=lambda: WearHistory.open(tmp_path / "history.sqlite"))
    known.call(SDA)
    has_date = []
    for day in range(140):
        gauge = reports.attribute(177, "Wear_Leveling_Count", 9, value=max(100 - day, 1))
        report = reports.without(ata("S00001"), "ata_device_statistics")
        table = {"revision": 1, "table": [gauge]}
        family = {"model_family": "Samsung based SSDs"}
        times = {"power_on_time": {"hours": 24 * day}}
        known.answer(SDA, {**report, **family, **times, "ata_smart_attributes": table}).live()
        drive = known.watched()["sda"]
        has_date.append(bool(drive.wearout_method))
        known.clock.advance(DAY)
    assert drive.health is not None
    assert drive.health.endurance is not None
    assert (0.99, True) == (
        drive.health.endurance.used_ratio,
        drive.health.endurance.is_lower_bound,
    )
    assert has_date[98]
    assert not any(has_date[99:])


def test_the_configured_rating_is_used_if_the_drive_reports_no_wear(tmp_path: Path) -> None:
    known = Known(tmp_path, history=lambda: WearHistory.open(tmp_path / "history.sqlite"))
    known.rated["nvme0n1"] = 600 * 10**12
    known.call(NVME)
    for day in range(10):
        # 100 GB a day, in data units of 512,000 bytes.
        log = {"data_units_written": 200_000 * day, "power_on_hours": 24 * day}
        known.answer(NVME, nvme("FW000000", nvme_smart_health_information_log=log)).live()
        drive = known.watched()["nvme0n1"]
        known.clock.advance(DAY)
    assert "rated_tbw" == drive.wearout_method
    assert drive.wearout_seconds is not None
    assert 10.0 == pytest.approx(drive.wearout_seconds[1] / DAY / 365, abs=0.1), "capped"


LOG = "nvme_smart_health_information_log"

#: An NVMe log whose bits are all 1, and one that another drive could have written.
ONES = {
    **dict.fromkeys(reports.nvme()[LOG], (1 << 128) - 1),
    "critical_warning": 255,
    "available_spare": 255,
    "available_spare_threshold": 255,
    "percentage_used": 255,
    "temperature": 65_262,
    "temperature_sensors": [65_262] * 8,
}
OTHER = {**reports.nvme()[LOG], "media_errors": 0, "power_cycles": 1, "percentage_used": 3}


@pytest.mark.parametrize("log", [ONES, OTHER], ids=["ones", "other"])
def test_an_invalid_log_enters_neither_the_history_nor_a_counter(
    tmp_path: Path, log: Report
) -> None:
    file = tmp_path / "history.sqlite"
    known = Known(tmp_path, history=lambda: WearHistory.open(file))
    known.call(NVME)
    good = nvme("FW000000")
    known.answer(NVME, good, is_daily=True).live()
    before = known.health("nvme0n1")
    known.clock.advance(DAY)
    known.answer(NVME, {**good, LOG: log}).live()
    drive = known.watched()["nvme0n1"]
    assert drive.up
    assert drive.health is not None
    assert "the SMART log is invalid" in drive.health.unreadable
    assert (None, None, None, {}) == (
        drive.health.healthy,
        drive.health.media_errors,
        drive.health.self_test,
        drive.health.temperatures,
    )
    known.clock.advance(DAY)
    known.answer(NVME, good).live()
    after = known.health("nvme0n1")
    assert (2, before.host_written) == (after.media_errors, after.host_written)
    with closing(sqlite3.connect(file)) as history:
        rows = history.execute("SELECT used_ratio FROM observation").fetchall()
    assert {(0.42,)} == set(rows)


def test_an_invalid_daily_log_does_not_replace_the_daily_values(known: Known) -> None:
    good = nvme("FW000000")
    known.answer(NVME, good, is_daily=True).call(NVME)
    known.clock.advance(60)
    known.answer(NVME, {**good, LOG: ONES}, is_daily=True)
    known.clock.advance(60)
    known.answer(NVME, reports.without(good, "nvme_self_test_log")).live()
    health = known.health("nvme0n1")
    assert health.self_test is not None


def test_another_drive_at_the_address_is_not_compared(known: Known) -> None:
    known.answer(NVME, nvme("FW000000")).call(NVME)
    known.clock.advance(60)
    known.answer(NVME, nvme("FW000001", **{LOG: OTHER})).live()
    health = known.health("nvme0n1")
    assert (0, ()) == (health.media_errors, health.rejected)


@pytest.mark.parametrize(("serial", "is_compared"), [("FW000000", True), ("FW000001", False)])
def test_the_latency_of_another_drive_at_the_address_is_not_compared(
    known: Known, serial: str, is_compared: bool
) -> None:
    def logs(count: int, age_minutes: int) -> dict[str, object]:
        content = pages.slow_reads(count, age_minutes)
        return {LOGS_KEY: encode_logs(pages.MICRON_7450, {195: (known.clock.wall(), content)}, {})}

    known.answer(NVME, nvme("FW000000", **logs(4, 60))).call(NVME)
    known.clock.advance(900)
    known.answer(NVME, nvme(serial, **logs(9, 75))).live()
    read = known.health("nvme0n1").logs
    assert read is not None
    assert read.latency is not None
    assert is_compared is (read.growth is not None)
