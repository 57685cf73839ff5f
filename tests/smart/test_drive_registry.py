"""Tests of the registry of drives: their health, labels, and missing drives."""

import json
from pathlib import Path

import pytest

from exporter.drives.health import Endurance, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wear_counter import WearObservation
from exporter.linux.device_identity import DeviceIdentity
from exporter.smart import forgetting
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from exporter.smart.presence import HostContext
from exporter.wear.wear_history import WearHistory
from tests.drives import reports
from tests.drives.reports import Report
from tests.fakes import FakeClock
from tests.linux import node_trees, trees
from tests.linux.trees import Sys
from tests.smart import scripted_smartctl
from tests.smart.drive_documents import DAY, FIRST_ANSWER_SECONDS, NVME, SDA, Known, kept
from tests.smart.scripted_smartctl import ata, nvme


def test_a_drive_has_its_block_devices_name_and_its_own_serial_number(known: Known) -> None:
    known.answer(NVME, nvme("FW000000")).call(NVME)
    drive = known.watched()["nvme0n1"]
    assert ("FW000000", True, "/dev/nvme0 -d nvme") == (drive.serial, drive.up, drive.address)
    assert drive.health is not None
    assert Endurance(0.42, EnduranceSource.NVME_LOG) == drive.health.endurance


def test_a_drive_that_was_not_polled_yet_is_not_shown(known: Known) -> None:
    known.call(SDA, NVME)
    assert {} == known.watched()


def silent(known: Known, seconds: float = FIRST_ANSWER_SECONDS) -> None:
    """The poller lists its drives for this time, and no result of a poll arrives."""
    for _ in range(int(seconds / 15)):
        known.clock.advance(15)
        known.live()


def test_a_drive_without_any_result_is_down_with_the_identity_of_the_kernel(known: Known) -> None:
    known.disks = {"nvme0n1": DeviceIdentity(model="Sim NVMe", serial="K0001", protocol="nvme")}
    known.answer(SDA, ata("S00001")).call(SDA, NVME)
    silent(known, FIRST_ANSWER_SECONDS - 15)
    assert [("sda", "S00001", True)] == known.labels()
    silent(known, 15)
    assert [("sda", "S00001", True), ("nvme0n1", "K0001", False)] == known.labels()
    drive = known.watched()["nvme0n1"]
    assert ("Sim NVMe", None) == (drive.identity.model, drive.health)
    assert "no result of a poll arrived within 60 s" == drive.message
    known.answer(NVME, nvme("K0001")).live()
    assert [("sda", "S00001", True), ("nvme0n1", "K0001", True)] == known.labels()


def test_a_drive_without_any_result_has_the_identity_that_was_saved(tmp_path: Path) -> None:
    before = Known(tmp_path)
    before.answer(NVME, nvme("FW000000")).call(NVME)
    known = Known(tmp_path, inventory=kept(before))
    known.call(NVME)
    silent(known)
    assert [("nvme0n1", "FW000000", False)] == known.labels()


def test_a_drive_whose_first_poll_is_stuck_is_down_at_once(known: Known) -> None:
    known.call(SDA, NVME)
    known.live(stuck=(NVME,))
    assert [("nvme0n1", False, True)] == [
        (drive.label, drive.up, drive.is_stuck) for drive in known.watched().values()
    ]


def test_a_drive_without_any_result_disappears_with_its_poller(known: Known) -> None:
    known.call(NVME)
    silent(known)
    assert ["nvme0n1"] == list(known.watched())
    known.clock.advance(61)
    assert {} == known.watched()


def test_a_drive_without_any_result_does_not_hide_that_another_one_was_pulled(
    known: Known,
) -> None:
    known.answer(SDA, ata("S00001")).call(SDA, NVME)
    known.call(NVME)
    assert [] == known.labels()
    silent(known)
    assert [("nvme0n1", "", False), ("sda", "S00001", False)] == known.labels()
    assert known.watched()["sda"].is_missing


def test_one_line_is_logged_when_a_drive_stops_answering_and_one_when_it_answers(
    known: Known, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    known.answer(NVME, nvme("FW000000")).call(NVME)
    for _ in range(3):
        known.answer(NVME, result="timed_out", message="it took over 30 s")
    known.answer(NVME, nvme("FW000000"))
    known.answer(NVME, nvme("FW000000"))
    name = "/dev/nvme0 -d nvme (Example Datacenter NVMe 960, serial FW000000)"
    assert [
        ("WARNING", f"{name} does not answer: it took over 30 s"),
        ("INFO", f"{name} answers again"),
    ] == [(record.levelname, record.getMessage()) for record in caplog.records]


def test_a_drive_that_fails_every_second_poll_is_logged_every_ten_minutes(
    known: Known, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    known.call(NVME)
    for _ in range(31):
        known.answer(NVME, result="timed_out", message="it took over 30 s")
        known.clock.advance(60)
        known.answer(NVME, nvme("FW000000"))
        known.clock.advance(60)
    assert 7 == sum("does not answer" in record.getMessage() for record in caplog.records)
    assert 7 == sum("answers again" in record.getMessage() for record in caplog.records)


def test_a_drive_without_any_result_is_logged(
    known: Known, caplog: pytest.LogCaptureFixture
) -> None:
    known.call(NVME)
    silent(known, 2 * FIRST_ANSWER_SECONDS)
    assert ["/dev/nvme0 -d nvme does not answer: no result of a poll arrived within 60 s"] == [
        record.getMessage() for record in caplog.records
    ]


def test_a_missing_smartctl_is_not_logged_for_each_drive(
    known: Known, caplog: pytest.LogCaptureFixture
) -> None:
    """The failed scan is logged."""
    known.answer(NVME, result="not_started", message="smartctl: no such program").call(NVME)
    assert [] == caplog.records


def test_a_failing_drive_keeps_its_values_until_they_are_too_old(
    known: Known,
) -> None:
    """Four intervals of a minute."""
    known.answer(NVME, nvme("FW000000")).call(NVME)
    for seconds, has_health in ((60, True), (180, True), (1, False)):
        known.clock.advance(seconds)
        known.answer(NVME, result="timed_out", message="it took over 30 s").live()
        drive = known.watched()["nvme0n1"]
        assert (False, "FW000000", "it took over 30 s") == (drive.up, drive.serial, drive.message)
        assert has_health == (drive.health is not None)


def test_health_of_returns_the_health_of_a_shown_drive(known: Known) -> None:
    known.answer(NVME, nvme("FW000000")).call(NVME)
    assert known.watched()["nvme0n1"].health == known.drives.health_of("nvme0n1") is not None
    assert known.drives.health_of("sda") is None
    known.clock.advance(241)
    known.live()
    assert known.watched()["nvme0n1"].health is known.drives.health_of("nvme0n1") is None


def test_a_drive_that_is_polled_less_often_stays_on_the_page(known: Known) -> None:
    """A drive that hangs is polled again an hour later; meanwhile it has failed."""
    known.answer(NVME, nvme("FW000000")).call(NVME)
    known.answer(NVME, result="timed_out")
    for _ in range(230):
        known.clock.advance(15)
        known.live()
        assert [("nvme0n1", "FW000000", False)] == known.labels()


def test_a_drive_that_is_no_longer_polled_disappears(known: Known) -> None:
    known.answer(NVME, nvme("FW000000")).call(NVME)
    known.clock.advance(240)
    assert ["nvme0n1"] == list(known.watched())
    known.clock.advance(1)
    assert {} == known.watched()


@pytest.mark.parametrize("seconds", [3600.0, 10 * 365 * DAY])
def test_a_clock_that_was_ahead_makes_no_later_poll_old(known: Known, seconds: float) -> None:
    """The clock was wrong (no battery) and then corrected: a later poll still counts as newer."""
    known.answer(NVME, nvme("FW000000", temperature={"current": 80})).call(NVME)
    known.clock.step_wall(-seconds)
    known.clock.advance(60)
    known.answer(NVME, nvme("FW000000", temperature={"current": 30})).live()
    assert known.watched()["nvme0n1"].health is not None
    assert known.clock.wall() == known.watched()["nvme0n1"].last_success_unix_time


def test_a_document_from_the_future_expires(known: Known) -> None:
    known.answer(NVME, nvme("FW000000"), began_at=known.clock.wall() + 1e6)
    known.call(NVME, at=known.clock.wall() + 1e6)
    assert {} == known.watched()


def test_an_older_document_of_another_source_changes_nothing(known: Known) -> None:
    older = known.document(NVME, result="timed_out")
    known.clock.advance(30)
    known.answer(NVME, nvme("FW000000"))
    known.drives.record(older)
    known.call(NVME)
    assert [("nvme0n1", "FW000000", True)] == known.labels()


def test_a_document_without_a_valid_time_adds_no_history(tmp_path: Path) -> None:
    known = Known(tmp_path, history=lambda: WearHistory.open(tmp_path / "history.sqlite"))
    known.answer(NVME, nvme("FW000000"), began_at=9e11).call(NVME)
    assert known.watched()["nvme0n1"].health is None


def test_a_swapped_drive_gives_one_present_and_one_missing_drive(known: Known) -> None:
    known.answer(SDA, ata("S00001")).call(SDA)
    known.clock.advance(900)
    known.answer(SDA, ata("S00002")).live()
    assert [("sda", "S00002", True), ("sda", "S00001", False)] == known.labels()
    assert known.drives.watched()[1].is_missing


def test_a_drive_in_standby_is_up_and_keeps_all_values_but_the_temperature(
    known: Known,
) -> None:
    known.answer(SDA, ata("S00001")).call(SDA)
    known.clock.advance(900)
    asleep = json.loads(scripted_smartctl.asleep().output)
    known.answer(SDA, asleep, result="standby", exit_status=3).live()
    drive = known.watched()["sda"]
    assert (True, "S00001") == (drive.up, drive.serial)
    assert drive.health is not None
    assert "standby" == drive.health.power_mode
    assert {} == drive.health.temperatures
    assert 70_000 * 3600.0 + 30 * 60 == drive.health.power_on_seconds


def test_a_drive_in_standby_since_the_start_has_the_kernels_identity(known: Known) -> None:
    """It must not become another series when it wakes."""
    known.disks = {"sda": DeviceIdentity(serial="S00001", model="Flashworks S500")}
    known.answer(
        SDA, json.loads(scripted_smartctl.asleep().output), result="standby", exit_status=3
    )
    known.call(SDA)
    assert [("sda", "S00001", True)] == known.labels()
    assert "Flashworks S500" == known.watched()["sda"].identity.model


def test_a_drive_in_standby_since_the_start_has_the_identity_of_the_inventory(
    known: Known, tmp_path: Path
) -> None:
    slot = ("/dev/bus/6", "megaraid,3")
    known.answer(slot, ata("S00003")).call(slot)
    again = Known(tmp_path, inventory=kept(known))
    again.answer(
        slot, json.loads(scripted_smartctl.asleep().output), result="standby", exit_status=3
    )
    again.call(slot)
    assert [("bus/6:megaraid,3", "S00003", True)] == again.labels()


def test_a_drive_that_never_answered_has_the_kernels_identity(known: Known) -> None:
    known.disks = {"sda": DeviceIdentity(serial="S00001")}
    known.answer(SDA, result="no_answer", message="no such device").call(SDA)
    assert [("sda", "S00001", False)] == known.labels()


def test_a_report_without_a_serial_number_is_still_the_drive_that_the_kernel_knows(
    known: Known,
) -> None:
    known.disks = {"sda": DeviceIdentity(serial="S00001")}
    known.answer(SDA, ata("S00001", serial_number=["broken"], wwn="broken")).call(SDA)
    assert [("sda", "S00001", True)] == known.labels()


def test_a_missing_drive_stays_missing_after_a_restart(known: Known, tmp_path: Path) -> None:
    known.answer(SDA, ata("S00001"))
    known.answer(NVME, nvme("FW000000")).call(SDA, NVME)
    again = Known(tmp_path, inventory=kept(known))
    again.call(NVME, scanned_at=None)
    assert [] == again.labels(), "the first scan is not complete"
    again.answer(NVME, nvme("FW000000")).call(NVME)
    assert [("nvme0n1", "FW000000", True), ("sda", "S00001", False)] == again.labels()
    gone = again.drives.watched()[1]
    assert gone.is_missing
    assert "ssd-exporter forget S00001" in gone.message


def test_a_drive_that_returns_is_not_missing(known: Known) -> None:
    known.answer(SDA, ata("S00001"))
    for drives in ((SDA,), (), (SDA,)):
        known.call(*drives)
    known.answer(SDA, ata("S00001")).live()
    assert [("sda", "S00001", True)] == known.labels()


def test_a_drive_stays_present_when_its_poller_restarts(known: Known) -> None:
    """An agent that has just started has not scanned for SATA drives yet."""
    known.answer(SDA, ata("S00001"), is_daily=True)
    known.answer(NVME, nvme("FW000000")).call(SDA, NVME)
    known.clock.advance(5)
    known.call(NVME, scanned_at=None)
    assert [("sda", "S00001", True), ("nvme0n1", "FW000000", True)] == known.labels()
    known.answer(SDA, reports.without(ata("S00001"), "ata_smart_error_log")).call(SDA, NVME)
    health = known.health("sda")
    assert 17 == health.error_log_entries, "what the daily set told is still known"


def test_a_missing_drive_can_be_forgotten_and_one_that_is_there_cannot(
    known: Known, tmp_path: Path
) -> None:
    known.answer(SDA, ata("S00001"))
    known.answer(NVME, nvme("FW000000")).call(SDA, NVME)
    known.call(NVME)
    saved: list[bool] = []
    for name in ("S00001", "FW000000"):
        forgetting.request(tmp_path, name)
    known.drives.forget(tmp_path, lambda: saved.append(True))
    assert [("nvme0n1", "FW000000", True)] == known.labels()
    assert [True] == saved
    assert () == forgetting.requests(tmp_path)
    known.drives.forget(tmp_path, lambda: saved.append(True))
    assert [True] == saved, "nothing was asked for"


def test_nothing_is_forgotten_before_the_first_complete_scan(known: Known, tmp_path: Path) -> None:
    known.answer(SDA, ata("S00001")).call(SDA)
    again = Known(tmp_path, inventory=kept(known))
    forgetting.request(tmp_path, "S00001")
    again.call(scanned_at=None)
    again.drives.forget(tmp_path, lambda: None)
    assert 1 == len(forgetting.requests(tmp_path))
    again.call()
    again.drives.forget(tmp_path, lambda: None)
    assert () == forgetting.requests(tmp_path)
    assert [] == again.drives.to_state()


def test_a_request_remains_if_the_inventory_cannot_be_saved(known: Known, tmp_path: Path) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    known.answer(SDA, ata("S00001")).call(SDA)
    known.call()
    forgetting.request(tmp_path, "S00001")
    with pytest.raises(OSError, match="No space"):
        known.drives.forget(tmp_path, full)
    assert 1 == len(forgetting.requests(tmp_path))


def test_the_callback_runs_when_a_drive_appears_disappears_or_changes(known: Known) -> None:
    told: list[int] = []
    known.drives.on_change(lambda: told.append(len(told)))
    known.answer(SDA, ata("S00001")).call(SDA)
    assert 1 == len(told)
    known.live()
    assert 1 == len(told)
    known.answer(SDA, ata("S00002")).live()
    assert 2 == len(told)
    known.call()
    assert 3 == len(told)


def test_two_drives_with_one_serial_number_are_both_there(known: Known) -> None:
    sdb = ("/dev/sdb", "sat")
    for who, wwn in ((SDA, "0001"), (sdb, "0002")):
        known.answer(who, {**ata("S00000"), "wwn": scripted_smartctl.wwn(wwn)})
    known.call(SDA, sdb)
    assert [("sda", "S00000", True), ("sdb", "S00000", True)] == known.labels()


def test_no_two_drives_have_one_label_and_serial_number(known: Known) -> None:
    """A drive that answered under another type is missing, and there by the kernel's word."""
    known.disks = {"sda": DeviceIdentity(serial="S00001")}
    known.answer(SDA, ata("S00001")).call(SDA)
    other = ("/dev/sda", "scsi")
    known.answer(other, result="no_answer", message="wrong type").call(other)
    assert [("sda", "S00001", False)] == known.labels()
    assert "wrong type" == known.watched()["sda"].message


def test_a_namespace_that_appears_later_gives_the_drive_its_name(
    known: Known, tmp_path: Path
) -> None:
    """The controller of a drive that is plugged in is there before its namespaces."""
    sys = Sys(tmp_path / "sys", 10)
    controller = trees.nvme_controller(sys, 1, "FW000001")
    who = ("/dev/nvme1", "nvme")
    known.answer(who, nvme("FW000001")).call(who)
    assert [("nvme1", "FW000001", True)] == known.labels()
    place = f"{controller}/nvme1n1"
    sys.disk(place)
    sys.link(f"{place}/device", controller)
    known.clock.advance(15)
    known.live()
    assert [("nvme1n1", "FW000001", True)] == known.labels()


def test_a_drive_whose_process_cannot_be_ended_is_stuck(known: Known) -> None:
    known.answer(NVME, result="stuck", message="it cannot be ended").call(NVME, stuck=(NVME,))
    assert known.watched()["nvme0n1"].is_stuck


def test_drives_behind_a_controller_are_joined_to_its_volume(tmp_path: Path) -> None:
    node_trees.raid_volumes(Sys(tmp_path / "sys"), "sdc")
    known = Known(tmp_path)
    known.disks = {"sdc": DeviceIdentity(vendor="RAIDWRKS", model="VOLUME", transport="scsi")}
    slots = [("/dev/bus/6", f"megaraid,{number}") for number in (0, 1)]
    for number, slot in enumerate(slots):
        known.answer(slot, ata(f"S0000{number}"))
    known.call(*slots)
    expected = {"bus/6:megaraid,0": ("sdc",), "bus/6:megaraid,1": ("sdc",)}
    assert expected == {label: drive.blocks for label, drive in known.watched().items()}


def test_an_old_smartctl_leaves_the_limits_of_temperature_to_the_kernel(known: Known) -> None:
    report = nvme("FW000000")
    report["temperature"] = {"current": 41}
    report.pop("nvme_composite_temperature_threshold", None)
    known.answer(NVME, report)
    known.disks["nvme0n1"] = DeviceIdentity(
        serial="FW000000", temperature_warning_celsius=77.85, temperature_critical_celsius=84.85
    )
    known.call(NVME)
    shown, told = known.watched()["nvme0n1"].health, known.drives.health_of("nvme0n1")
    assert shown is not None
    assert told is not None
    assert (84.85, 77.85) == (shown.temperature_critical_celsius, told.temperature_warning_celsius)
    assert shown is told, "scrapes share one object until the next poll"
    known.disks["nvme0n1"] = DeviceIdentity(serial="FW000000", temperature_warning_celsius=70.0)
    changed = known.drives.health_of("nvme0n1")
    assert changed is not None
    assert (None, 70.0) == (
        changed.temperature_critical_celsius,
        changed.temperature_warning_celsius,
    )


PATH, KIND = "/dev/nvme0", "nvme"


class Host:
    """One drive whose documents a test makes."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = FakeClock()
        around = HostContext(dict, lambda _: None)
        self.drives = DriveRegistry(
            self.clock,
            tmp_path / "sys",
            tmp_path,
            around,
            inventory=Inventory(),
            wear=None,
            max_age_intervals=4.0,
        )

    def poll(self, result: str) -> None:
        asked = PollDocument(PATH, KIND, result, self.clock.wall(), 1.0, 60.0, counts={result: 1})
        self.drives.record(asked)

    def call(self, *, stuck: bool = False) -> None:
        there = ((PATH, KIND),)
        now = self.clock.wall()
        self.drives.update(Heartbeat(now, 15.0, now, there, there if stuck else ()))

    def call_without_a_look(self) -> None:
        """A heartbeat as of a poller that has just started."""
        self.drives.update(Heartbeat(self.clock.wall(), 15.0))

    def seen(self) -> WatchedDrive | None:
        return next(iter(self.drives.watched()), None)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(("result", "stuck"), [("timed_out", False), ("stuck", True)])
def test_a_drive_that_hangs_stays_on_the_page_until_the_next_poll(
    host: Host, result: str, stuck: bool
) -> None:
    """The next poll may be an hour later. A stuck drive is not polled again."""
    host.poll(result)
    host.call(stuck=stuck)
    for _ in range(240):
        host.clock.advance(15.0)
        host.call(stuck=stuck)
        seen = host.seen()
        assert seen is not None
        assert not seen.up


def test_without_a_poller_a_drive_is_shown_until_its_last_poll_is_too_old(host: Host) -> None:
    host.poll("success")
    host.call()
    host.clock.advance(239.0)
    assert host.seen() is not None
    host.clock.advance(2.0)
    assert host.seen() is None


def test_present_drives_stay_on_the_page_when_the_poller_restarts(host: Host) -> None:
    """A drive that hangs may delay the first scan by half a minute."""
    host.poll("success")
    host.call()
    host.clock.advance(1.0)
    host.call_without_a_look()
    assert host.seen() is not None
    host.call()
    assert host.seen() is not None
    host.clock.advance(1.0)
    host.drives.update(Heartbeat(host.clock.wall(), 15.0, host.clock.wall()))
    assert host.seen() is None


def test_a_drive_that_a_new_poller_does_not_find_disappears(host: Host) -> None:
    host.poll("success")
    host.call()
    for _ in range(17):
        host.clock.advance(15.0)
        host.call_without_a_look()
    assert host.seen() is None


BAY = ("/dev/bus/6", "megaraid,3")
EMPTY = "Smartctl open device: /dev/bus/6 [megaraid_disk_03] failed: INQUIRY failed"


def ask_bay(known: Known, report: Report | None = None) -> WatchedDrive:
    """Polls the configured slot, which no scan finds, and returns what is shown for its label."""
    result = "success" if report is not None else "no_answer"
    message = "" if report is not None else EMPTY
    known.answer(BAY, report, result=result, message=message).call(BAY, only_configured=(BAY,))
    (drive,) = known.watched().values()
    assert "bus/6:megaraid,3" == drive.label
    return drive


def test_a_configured_bay_that_never_answered_is_neither_up_nor_lost(
    known: Known, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(3):
        drive = ask_bay(known)
        known.clock.advance(900)
    assert (False, False, True) == (drive.up, drive.is_lost, drive.never_answered)
    assert [("INFO", f"no drive answers at /dev/bus/6 -d megaraid,3: {EMPTY}")] == [
        (record.levelname, record.getMessage()) for record in caplog.records
    ]


def test_a_bay_that_a_scan_finds_and_that_does_not_answer_is_lost(known: Known) -> None:
    known.answer(BAY, result="no_answer", message=EMPTY).call(BAY)
    assert known.watched()["bus/6:megaraid,3"].is_lost


def test_a_drive_that_left_its_configured_bay_is_missing_until_it_is_forgotten(
    known: Known, tmp_path: Path
) -> None:
    assert ask_bay(known, ata("S00001")).up
    known.clock.advance(900)
    drive = ask_bay(known)
    assert ("S00001", True, True) == (drive.serial, drive.is_missing, drive.is_lost)
    forgetting.request(tmp_path, "S00001")
    known.drives.forget(tmp_path, lambda: None)
    drive = ask_bay(known)
    assert ("", True, False) == (drive.serial, drive.never_answered, drive.is_lost)
    assert ask_bay(known, ata("S00002")).up


def test_a_drive_that_left_its_configured_bay_before_a_restart_is_missing(tmp_path: Path) -> None:
    before = Known(tmp_path)
    ask_bay(before, ata("S00001"))
    known = Known(tmp_path, inventory=kept(before))
    assert ask_bay(known).is_missing
    assert not ask_bay(known, ata("S00001")).is_lost


def test_a_drive_in_a_configured_bay_that_hangs_is_not_missing(known: Known) -> None:
    ask_bay(known, ata("S00001"))
    known.answer(BAY, result="timed_out", message="it took over 30 s")
    known.call(BAY, only_configured=(BAY,))
    drive = known.watched()["bus/6:megaraid,3"]
    assert (True, False, "S00001") == (drive.is_lost, drive.is_missing, drive.serial)


def test_a_configured_bay_without_any_result_is_not_lost(known: Known) -> None:
    known.call(BAY, only_configured=(BAY,))
    for _ in range(4):
        known.clock.advance(15)
        known.live(only_configured=(BAY,))
    assert not known.watched()["bus/6:megaraid,3"].is_lost


def of_shared_wwn(serial: str, used: int) -> Report:
    """A report of a drive of a batch whose drives all have one WWN."""
    report = nvme(serial)
    report["nvme_smart_health_information_log"]["percentage_used"] = used
    report["nvme_namespaces"] = [{"id": 1, "eui64": {"oui": 0x6479A7, "ext_id": 0x1234567890}}]
    return report


OTHER_NVME = ("/dev/nvme1", "nvme")
KEY = "eui.6479a71234567890"


def observations(place: Path, key: str) -> list[float | None]:
    return [row.used_ratio for row in WearHistory.open(place).observations(key)]


def test_two_drives_with_one_wwn_have_a_history_each(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    known = Known(tmp_path, history=lambda: WearHistory.open(history))
    assert known.wear is not None
    for _ in range(3):
        known.answer(NVME, of_shared_wwn("SER1", 3))
        known.answer(OTHER_NVME, of_shared_wwn("SER2", 95)).call(NVME, OTHER_NVME)
        known.wear.process_queue()
        known.clock.advance(DAY)
    known.wear.close()
    assert [0.03] * 3 == observations(history, f"{KEY} SER1")
    assert [0.95] * 3 == observations(history, f"{KEY} SER2")
    assert [] == observations(history, KEY)


def test_a_drive_has_no_history_before_all_drives_were_polled(tmp_path: Path) -> None:
    """It is not known yet whether another one has its WWN."""
    history = tmp_path / "history.sqlite"
    known = Known(tmp_path, history=lambda: WearHistory.open(history))
    assert known.wear is not None
    known.answer(NVME, of_shared_wwn("SER1", 3)).call(NVME, OTHER_NVME)
    known.wear.process_queue()
    assert [] == observations(history, KEY)
    silent(known)
    known.wear.close()
    assert [0.03] == observations(history, KEY)


def test_after_an_update_both_drives_that_shared_a_history_continue_it(tmp_path: Path) -> None:
    """An earlier version stored the wear of both under their WWN, in the order of the polls."""
    history = tmp_path / "history.sqlite"
    before = Known(tmp_path)
    now = before.clock.wall()
    old = WearHistory.open(history)
    for day in range(60, 0, -1):
        for hour, (used, hours) in enumerate(((0.02, 9000.0), (0.94, 30000.0))):
            at = now - day * DAY + hour * 3600
            powered = (hours - day * 24 + hour) * 3600
            old._file.write({}, {KEY: [WearObservation(at, powered, used, 0.01)]}, {})
    old.close()
    before.answer(NVME, of_shared_wwn("SER1", 2))
    before.answer(OTHER_NVME, of_shared_wwn("SER2", 94)).call(NVME, OTHER_NVME)
    rows = before.drives.to_state()
    for row in rows:
        del row["key"], row["former_key"]

    known = Known(tmp_path, inventory=Inventory(rows), history=lambda: WearHistory.open(history))
    assert known.wear is not None
    for who, serial, used, hours in (
        (NVME, "SER1", 2, 9001),
        (OTHER_NVME, "SER2", 94, 30001),
    ):
        report = of_shared_wwn(serial, used)
        report["nvme_smart_health_information_log"]["power_on_hours"] = hours
        known.answer(who, report)
    known.call(NVME, OTHER_NVME)
    known.wear.process_queue()
    drives = known.watched()
    shown = {each.serial: known.wear.year(each.key) for each in drives.values()}
    assert {2} == {round(100 * used) for _, used in shown["SER1"]}
    assert {94} == {round(100 * used) for _, used in shown["SER2"]}
    for points in shown.values():
        assert 59 * DAY < points[-1][0] - points[0][0]
    assert 120 == len(observations(history, KEY)), "the old rows remain"
