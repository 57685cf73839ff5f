"""Tests of the poller: its drives, its documents, and failed scans."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from exporter.programs.child import End, Finished
from exporter.smart.discovery import Override
from exporter.smart.polling.moment import boot_id
from exporter.smart.polling.poll_document import HEARTBEAT_SECONDS, Heartbeat, PollDocument
from exporter.smart.polling.poller import Poller, PollingPlan
from exporter.smart.smartctl import Address
from tests.drives import reports
from tests.fakes import FakeClock
from tests.linux import node_trees, trees
from tests.linux.trees import Sys
from tests.smart import scripted_smartctl
from tests.smart.scripted_smartctl import Smartctl, ata, nvme
from tests.stand_ins.children import FakeChildren

SATA = ("/dev/sda", "sat", "ATA")
NVME = ("/dev/nvme0", "nvme", "NVMe")


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    """A host with a SATA drive and an NVMe drive."""
    sys = Sys(tmp_path / "sys")
    trees.sata(sys, "sda")
    trees.nvme(sys)
    node_trees.dev(sys, "sda", "nvme0", "nvme0n1")
    return sys


class Asking:
    """A poller on fakes, and all that it passed on."""

    def __init__(self, sys: Sys, smartctl: Smartctl, **plan: Any) -> None:
        self.clock = FakeClock()
        self.smartctl = smartctl
        self.children = FakeChildren(self.clock, smartctl)
        self.documents: list[PollDocument] = []
        self.rolls: list[Heartbeat] = []
        self.steps = 0
        self.polling = Poller(
            self.children,
            self.clock,
            PollingPlan(**plan),
            sys=sys.root,
            root=sys.root.parent,
            on_document=self.documents.append,
            on_heartbeat=self.rolls.append,
        )

    def go_on(self, seconds: float) -> "Asking":
        until = self.clock.monotonic() + seconds
        while (left := until - self.clock.monotonic()) > 1e-6:
            self.polling.step(left)
            self.steps += 1
        return self

    def of(self, path: str) -> list[PollDocument]:
        return [document for document in self.documents if document.path == path]

    def look_again(self) -> "Asking":
        """A look that somebody asks for, when the last one is long enough ago."""
        self.go_on(30)
        self.polling.rescan_soon()
        return self

    @property
    def listed(self) -> list[tuple[str, str]]:
        return list(self.rolls[-1].drives)


@pytest.fixture
def smartctl() -> Smartctl:
    found = Smartctl(SATA, NVME)
    found.says("/dev/sda", "sat", ata("S00001"))
    found.says("/dev/nvme0", "nvme", nvme("FW000000"))
    return found


def test_every_drive_is_polled_and_its_result_is_passed_on(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(2)
    began_at = asked.clock.wall() - 1.5
    expected = PollDocument(
        path="/dev/sda",
        type="sat",
        result="success",
        began_at=began_at,
        seconds=0.25,
        interval_seconds=900.0,
        exit_status=0,
        last_success_at=began_at,
        counts={"success": 1},
        report=ata("S00001"),
        monotonic=asked.clock.monotonic() - 1.5,
        boot_id=boot_id(),
    )
    assert [expected] == asked.of("/dev/sda")
    assert [60.0] == [document.interval_seconds for document in asked.of("/dev/nvme0")]
    assert [("/dev/sda", "sat"), ("/dev/nvme0", "nvme")] == asked.listed
    assert asked.polling.is_settled


def test_a_poll_that_failed_is_passed_on_and_counted_too(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(5)
    first = asked.of("/dev/nvme0")[0]
    smartctl.says("/dev/nvme0", "nvme", scripted_smartctl.HANGS)
    last = asked.go_on(200).of("/dev/nvme0")[-1]
    assert ("timed_out", "it took too long and was ended") == (last.result, last.message)
    assert first.began_at <= (last.last_success_at or 0.0) < last.began_at
    assert 1 <= last.counts["timed_out"]
    assert {} == last.report


def test_a_hanging_drive_does_not_affect_the_polls_of_others(sys: Sys, smartctl: Smartctl) -> None:
    smartctl.says("/dev/sda", "sat", scripted_smartctl.HANGS)
    asked = Asking(sys, smartctl).go_on(600)
    assert ["timed_out"] == list({document.result for document in asked.of("/dev/sda")})
    polls = asked.of("/dev/nvme0")
    assert {"success"} == {document.result for document in polls}
    assert 10 <= len(polls)


def test_the_heartbeat_names_the_drives_that_only_the_settings_name(sys: Sys) -> None:
    slots = tuple(("/dev/bus/0", f"megaraid,{slot}") for slot in (0, 1))
    smartctl = Smartctl(SATA, (*slots[0], "SCSI"))
    smartctl.says(*SATA[:2], ata("S00001"))
    smartctl.says(*slots[0], ata("S00002"))
    asking = Asking(sys, smartctl, drives=(*slots, ("/dev/sda", "sat"))).go_on(60)
    assert {*slots, ("/dev/sda", "sat")} <= set(asking.rolls[-1].drives)
    assert (slots[1],) == asking.rolls[-1].only_configured


def test_the_heartbeat_is_written_without_polls_too(sys: Sys) -> None:
    asked = Asking(sys, Smartctl()).go_on(10 * HEARTBEAT_SECONDS)
    apart = [b.at - a.at for a, b in itertools.pairwise(asked.rolls)]
    assert 10 <= len(apart)
    assert max(apart) <= HEARTBEAT_SECONDS
    assert {HEARTBEAT_SECONDS} == {roll.interval_seconds for roll in asked.rolls}


def test_the_list_is_complete_from_the_first_scan_on(sys: Sys, smartctl: Smartctl) -> None:
    """NVMe drives are found in /sys and polled before that."""
    asked = Asking(sys, smartctl).go_on(0.4)
    assert (None, (("/dev/nvme0", "nvme"),)) == (
        asked.rolls[-1].scanned_at,
        asked.rolls[-1].drives,
    )
    assert ["success"] == [document.result for document in asked.of("/dev/nvme0")]
    assert not asked.polling.is_settled
    assert asked.go_on(1).rolls[-1].scanned_at is not None


def test_a_scan_that_hangs_hides_no_drive(sys: Sys, smartctl: Smartctl) -> None:
    """smartctl finds out by itself of what type the disks are that /sys shows."""
    smartctl.scan = scripted_smartctl.HANGS
    smartctl.says("/dev/sda", "", ata("S00001"))
    asked = Asking(sys, smartctl).go_on(60)
    assert {("/dev/nvme0", "nvme"), ("/dev/sda", "")} == set(asked.listed)
    assert "success" == asked.of("/dev/sda")[0].result
    assert "scanning for drives failed: it took too long and was ended" == asked.rolls[-1].problem
    assert asked.polling.is_settled


def test_a_disk_that_appears_while_scans_hang_is_found(sys: Sys, smartctl: Smartctl) -> None:
    smartctl.scan = scripted_smartctl.HANGS
    smartctl.says("/dev/sda", "", ata("S00001"))
    smartctl.says("/dev/sdb", "", ata("S00002"))
    asked = Asking(sys, smartctl).go_on(60)
    trees.sata(sys, "sdb", 2)
    node_trees.dev(sys, "sdb")
    asked.look_again()
    assert ("/dev/sdb", "") in asked.go_on(60).listed
    assert "success" == asked.of("/dev/sdb")[0].result


def test_what_was_scanned_before_keeps_its_type_while_scans_hang(
    sys: Sys, smartctl: Smartctl
) -> None:
    asked = Asking(sys, smartctl).go_on(5)
    smartctl.scan = scripted_smartctl.HANGS
    asked.look_again()
    assert [("/dev/sda", "sat"), ("/dev/nvme0", "nvme")] == asked.go_on(60).listed
    assert asked.rolls[-1].problem


def test_a_scan_that_ends_well_takes_the_problem_back(sys: Sys, smartctl: Smartctl) -> None:
    good, smartctl.scan = smartctl.scan, scripted_smartctl.HANGS
    asked = Asking(sys, smartctl, rescan_seconds=100.0).go_on(60)
    assert asked.rolls[-1].problem
    smartctl.scan = good
    assert "" == asked.go_on(100).rolls[-1].problem
    assert [("/dev/sda", "sat"), ("/dev/nvme0", "nvme")] == asked.listed


def test_a_stuck_scan_is_reported_and_delays_nothing(sys: Sys, smartctl: Smartctl) -> None:
    smartctl.scan = scripted_smartctl.STUCK
    smartctl.says("/dev/sda", "", ata("S00001"))
    asked = Asking(sys, smartctl, rescan_seconds=60.0).go_on(200)
    assert 1 == len(asked.rolls[-1].stuck)
    before = asked.steps
    asked.go_on(600)
    assert asked.steps - before < 300, (
        "the poller does not check ten times a second whether it has ended"
    )
    asked.children.let_go("scan")
    smartctl.scan = scripted_smartctl.rows(SATA, NVME)
    asked.go_on(60)
    assert not asked.rolls[-1].stuck
    assert "" == asked.rolls[-1].problem


def test_without_smartctl_the_message_names_the_package(sys: Sys) -> None:
    smartctl = Smartctl()
    smartctl.scan = scripted_smartctl.MISSING
    smartctl.says("/dev/nvme0", "nvme", scripted_smartctl.MISSING)
    smartctl.says("/dev/sda", "", scripted_smartctl.MISSING)
    asked = Asking(sys, smartctl).go_on(5)
    expected = (
        "scanning for drives failed: smartctl: no such program; "
        "install smartmontools or set --smartctl.path"
    )
    assert expected == asked.rolls[-1].problem
    assert {"not_started"} == {document.result for document in asked.documents}
    assert asked.polling.is_settled


def test_a_first_scan_that_fails_is_repeated_before_the_interval_has_passed(sys: Sys) -> None:
    """smartctl may be installed after the agent was started."""
    smartctl = Smartctl(SATA, NVME)
    good, smartctl.scan = smartctl.scan, scripted_smartctl.MISSING
    smartctl.says("/dev/sda", "sat", ata("S00001"))
    asked = Asking(sys, smartctl, rescan_seconds=600.0).go_on(30)
    assert asked.rolls[-1].problem
    smartctl.scan = good
    asked.go_on(60)
    assert "" == asked.rolls[-1].problem
    assert ("/dev/sda", "sat") in asked.listed


@pytest.mark.parametrize("output", [b"", b"{", b"\xff\xfe", b"smartctl 6.6 2017-11-05 r4594\n"])
def test_a_scan_that_prints_nonsense_is_a_problem(
    sys: Sys, smartctl: Smartctl, output: bytes
) -> None:
    smartctl.scan = Finished(None, End.EXITED, 1, output, seconds=0.1)
    asked = Asking(sys, smartctl).go_on(5)
    assert asked.rolls[-1].problem.startswith("scanning for drives failed: smartctl")
    assert asked.rolls[-1].scanned_at is None


def test_a_drive_with_two_addresses_is_polled_through_one(sys: Sys) -> None:
    """sdb is handed through by the controller that also has it in a slot."""
    node_trees.raid_volumes(sys, "sdb")
    smartctl = Smartctl(("/dev/sdb", "scsi", "SCSI"), ("/dev/bus/6", "megaraid,0", "SCSI"))
    smartctl.says("/dev/sdb", "scsi", ata("S00002"))
    smartctl.says("/dev/bus/6", "sat+megaraid,0", ata("S00002"))
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00002"))
    asked = Asking(sys, smartctl, interval_seconds=60.0).go_on(10)
    assert [("/dev/sdb", "scsi")] == [row for row in asked.listed if row[1] != "nvme"]
    behind = len(asked.of("/dev/bus/6"))
    asked.go_on(600)
    assert 1 == behind == len(asked.of("/dev/bus/6"))
    assert 9 <= len(asked.of("/dev/sdb"))


def test_the_address_with_more_values_is_polled(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sdb")
    smartctl = Smartctl(("/dev/sdb", "scsi", "SCSI"), ("/dev/bus/6", "megaraid,0", "SCSI"))
    poor = reports.without(ata("S00002"), "ata_smart_attributes", "smart_status", "temperature")
    smartctl.says("/dev/sdb", "scsi", poor)
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00002"))
    asked = Asking(sys, smartctl).go_on(10)
    assert [("/dev/bus/6", "megaraid,0")] == [row for row in asked.listed if row[1] != "nvme"]


def test_the_other_address_serves_when_the_best_one_has_gone(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sdb")
    rows = (("/dev/sdb", "scsi", "SCSI"), ("/dev/bus/6", "megaraid,0", "SCSI"))
    smartctl = Smartctl(*rows)
    smartctl.says("/dev/sdb", "scsi", ata("S00002"))
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00002"))
    asked = Asking(sys, smartctl).go_on(10)
    smartctl.scan = scripted_smartctl.rows(rows[1])
    asked.look_again()
    asked.go_on(5)
    assert [("/dev/bus/6", "megaraid,0")] == [row for row in asked.listed if row[1] != "nvme"]
    assert 2 == len(asked.of("/dev/bus/6"))


def test_a_volume_that_does_not_answer_is_not_a_failed_drive(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sdb")
    refusal = "DELL or MegaRaid controller, please try adding '-d megaraid,N'"
    smartctl = Smartctl(("/dev/sdb", "scsi", "SCSI", refusal), ("/dev/bus/6", "megaraid,0", "SCSI"))
    smartctl.says("/dev/sdb", "scsi", scripted_smartctl.silent(refusal))
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00003"))
    asked = Asking(sys, smartctl).go_on(10)
    assert [] == asked.of("/dev/sdb")
    assert ("/dev/sdb", "scsi") not in asked.listed
    assert ("/dev/bus/6", "megaraid,0") in asked.listed
    assert asked.polling.is_settled


def test_a_drive_mistaken_for_a_volume_is_missing_after_it_answered_once(sys: Sys) -> None:
    """A controller may hand a drive through as a disk; when that fails it is a failure."""
    node_trees.raid_volumes(sys, "sdb")
    smartctl = Smartctl(("/dev/sdb", "scsi", "SCSI"), ("/dev/bus/6", "megaraid,0", "SCSI"))
    smartctl.says("/dev/sdb", "scsi", ata("S00002"))
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00003"))
    asked = Asking(sys, smartctl, interval_seconds=60.0).go_on(10)
    smartctl.says("/dev/sdb", "scsi", scripted_smartctl.silent())
    last = asked.go_on(120).of("/dev/sdb")[-1]
    assert ("no_answer", 1) == (last.result, last.counts["success"])


def test_a_removed_drive_is_not_listed_or_reported(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(5)
    smartctl.scan = scripted_smartctl.rows(NVME)
    asked.look_again()
    asked.go_on(5)
    assert [("/dev/nvme0", "nvme")] == asked.listed
    before = len(asked.of("/dev/sda"))
    assert before == len(asked.go_on(2000).of("/dev/sda"))


def test_a_drive_that_returns_is_polled_at_once_with_new_counts(
    sys: Sys, smartctl: Smartctl
) -> None:
    asked = Asking(sys, smartctl).go_on(5)
    for rows in ((NVME,), (SATA, NVME)):
        smartctl.scan = scripted_smartctl.rows(*rows)
        asked.look_again()
        asked.go_on(5)
    assert [{"success": 1}] * 2 == [document.counts for document in asked.of("/dev/sda")]


def test_a_disk_in_standby_keeps_its_identity(sys: Sys, smartctl: Smartctl) -> None:
    """It is not woken for a poll, and its other address stays hidden."""
    asked = Asking(sys, smartctl, interval_seconds=60.0).go_on(5)
    listed = asked.listed
    smartctl.says("/dev/sda", "sat", scripted_smartctl.asleep())
    last = asked.go_on(120).of("/dev/sda")[-1]
    assert ("standby", 1) == (last.result, last.counts["success"])
    assert listed == asked.listed


@pytest.mark.parametrize(("rotational", "first"), [("1", "standby,3"), ("0", "never")])
def test_only_a_disk_that_may_spin_is_left_asleep(
    sys: Sys, smartctl: Smartctl, rotational: str, first: str
) -> None:
    """The rotational flag of the kernel applies until the drive reports that it is an SSD."""
    (sys.root / "block/sda/queue/rotational").write_text(f"{rotational}\n")
    asked = Asking(sys, smartctl, interval_seconds=60.0).go_on(300)
    when = [argv[argv.index("-n") + 1] for argv in asked.smartctl.asked("/dev/sda")]
    assert first == when[0]
    assert {"never"} == set(when[1:])


def test_nvme_drives_have_an_interval_of_their_own_behind_controllers_too(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sdb")
    smartctl = Smartctl(("/dev/bus/6", "megaraid,0", "SCSI"), ("/dev/bus/6", "megaraid,1", "SCSI"))
    smartctl.says("/dev/bus/6", "megaraid,0", nvme("FW000007"))
    smartctl.says("/dev/bus/6", "megaraid,1", ata("S00003"))
    asked = Asking(sys, smartctl).go_on(1800)
    last = {document.type: document.interval_seconds for document in asked.of("/dev/bus/6")}
    assert {"megaraid,0": 60.0, "megaraid,1": 900.0} == last


def test_the_logs_are_read_once_a_day(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(2 * 86_400)
    days = [document.began_at for document in asked.of("/dev/sda") if document.is_daily]
    assert [86_400.0] == pytest.approx([b - a for a, b in itertools.pairwise(days)], 0.02)


def test_a_drive_may_have_its_own_settings(sys: Sys, smartctl: Smartctl) -> None:
    overrides = {
        "sda": Override(interval_seconds=20.0, timeout_seconds=7.0),
        "nvme0n1": Override(off=True),
    }
    asked = Asking(sys, smartctl, overrides=overrides).go_on(5)
    assert [("/dev/sda", "sat")] == asked.listed
    assert 20.0 == asked.documents[0].interval_seconds
    smartctl.says("/dev/sda", "sat", scripted_smartctl.HANGS)
    assert 7.0 == asked.go_on(60).documents[-1].seconds


def test_an_excluded_drive_is_not_polled(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl, exclude="^/dev/sd").go_on(5)
    assert [] == asked.smartctl.asked("/dev/sda")
    assert [("/dev/nvme0", "nvme")] == asked.listed


def test_a_drive_whose_process_cannot_be_ended_is_listed_as_stuck(
    sys: Sys, smartctl: Smartctl
) -> None:
    smartctl.says("/dev/sda", "sat", scripted_smartctl.STUCK)
    asked = Asking(sys, smartctl).go_on(100)
    assert (("/dev/sda", "sat"),) == asked.rolls[-1].stuck
    assert ["stuck"] == [document.result for document in asked.of("/dev/sda")]
    smartctl.says("/dev/sda", "sat", ata("S00001"))
    asked.children.let_go(Address("/dev/sda", "sat"))
    asked.go_on(7200)
    assert not asked.rolls[-1].stuck
    assert "success" == asked.of("/dev/sda")[-1].result


def test_another_thread_can_wake_the_poller(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(5)
    asked.polling.wake()
    asked.polling.close()
    assert asked.children.is_closed


def test_requested_scans_are_at_least_half_a_minute_apart(sys: Sys, smartctl: Smartctl) -> None:
    """A drive that comes and goes brings an event each time, and each look opens all drives."""
    asked = Asking(sys, smartctl)
    for _ in range(120):
        asked.polling.rescan_soon()
        asked.go_on(1)
    scans = [at for at, key, _ in asked.children.started if key == "scan"]
    apart = [at - scans[0] for at in scans]
    assert [0.0, 1.0, 31.0, 61.0, 91.0] == pytest.approx(apart, abs=1.01)


def test_a_new_disk_in_sys_starts_a_scan_without_a_request(sys: Sys, smartctl: Smartctl) -> None:
    asked = Asking(sys, smartctl).go_on(60)
    trees.sata(sys, "sdb", 2)
    node_trees.dev(sys, "sdb")
    smartctl.scan = scripted_smartctl.rows(SATA, ("/dev/sdb", "sat", "ATA"), NVME)
    smartctl.says("/dev/sdb", "sat", ata("S00002"))
    assert ("/dev/sdb", "sat") in asked.go_on(2 * HEARTBEAT_SECONDS).listed


@pytest.mark.parametrize("name", ["dm-0", "md127", "loop3", "ram0", "zram0"])
def test_a_stacked_device_starts_no_scan(sys: Sys, smartctl: Smartctl, name: str) -> None:
    asked = Asking(sys, smartctl).go_on(60)
    sys.write(f"block/{name}", {"size": "8"})
    asked.go_on(60)
    assert 1 == len([key for _, key, _ in asked.children.started if key == "scan"])


MEGARAID = ("/dev/bus/6", "megaraid,0", "SCSI")


@pytest.mark.parametrize("failure", [scripted_smartctl.HANGS, scripted_smartctl.STUCK])
def test_if_a_scan_fails_the_drives_are_listed_without_opening_them(
    sys: Sys, smartctl: Smartctl, failure: Finished
) -> None:
    """Listing opens no drive, so a hanging drive does not hide those behind a controller."""
    node_trees.raid_volumes(sys, "sdb")
    smartctl.scan = failure
    smartctl.listing = scripted_smartctl.rows(("/dev/sda", "scsi", "SCSI"), NVME, MEGARAID)
    smartctl.says("/dev/sda", "", ata("S00001"))
    smartctl.says("/dev/bus/6", "megaraid,0", ata("S00003"))
    asked = Asking(sys, smartctl).go_on(60)
    assert {("/dev/sda", ""), ("/dev/nvme0", "nvme"), MEGARAID[:2]} == set(asked.listed)
    assert asked.rolls[-1].scanned_at is not None
    assert asked.rolls[-1].problem.startswith("scanning for drives failed: it ")
    assert ("smartctl", "--json=c", "--scan") in smartctl.calls
    assert asked.polling.is_settled


def test_a_drive_keeps_the_type_of_an_earlier_scan_when_it_is_listed(
    sys: Sys, smartctl: Smartctl
) -> None:
    asked = Asking(sys, smartctl, rescan_seconds=60.0).go_on(5)
    smartctl.scan = scripted_smartctl.HANGS
    smartctl.listing = scripted_smartctl.rows(("/dev/sda", "scsi", "SCSI"), NVME)
    before = asked.rolls[-1].scanned_at
    asked.go_on(120)
    assert [("/dev/sda", "sat"), ("/dev/nvme0", "nvme")] == asked.listed
    assert (asked.rolls[-1].scanned_at or 0) > (before or 0)


def test_while_a_scan_is_stuck_drives_are_listed_as_often(sys: Sys, smartctl: Smartctl) -> None:
    smartctl.scan = scripted_smartctl.STUCK
    smartctl.listing = scripted_smartctl.rows(NVME)
    asked = Asking(sys, smartctl, rescan_seconds=60.0).go_on(60)
    smartctl.listing = scripted_smartctl.rows(("/dev/sda", "sat", "ATA"), NVME)
    asked.go_on(100)
    assert ("/dev/sda", "sat") in asked.listed
    assert 1 == len([key for _, key, _ in asked.children.started if key == "scan"])


def succeeded(asked: Asking, sys: Sys) -> Asking:
    """Another poller on the same children."""
    after = Asking(sys, asked.smartctl)
    after.clock, after.children = asked.clock, asked.children
    after.polling = Poller(
        FakeChildren(asked.clock),
        asked.clock,
        PollingPlan(drives=(("/dev/sdb", "jmb39x,0"),)),
        sys=sys.root,
        root=sys.root.parent,
        on_document=after.documents.append,
        on_heartbeat=after.rolls.append,
    )
    after.polling.inherit(asked.polling.hand_over())
    return after


def test_a_stuck_drive_is_not_polled_by_the_next_poller(sys: Sys, smartctl: Smartctl) -> None:
    smartctl.says("/dev/sda", "sat", scripted_smartctl.STUCK)
    after = succeeded(Asking(sys, smartctl).go_on(100), sys).go_on(100)
    assert 1 == len(smartctl.asked("/dev/sda"))
    assert (("/dev/sda", "sat"),) == after.rolls[-1].stuck
    smartctl.says("/dev/sda", "sat", ata("S00001"))
    after.children.let_go(Address("/dev/sda", "sat"))
    after.go_on(5)
    assert ["success"] == [document.result for document in after.of("/dev/sda")]


def test_a_process_that_must_not_be_killed_runs_once_for_both_pollers(
    sys: Sys, smartctl: Smartctl
) -> None:
    """A second smartctl would restore the sector that the first one has written."""
    bridge = (("/dev/sdb", "jmb39x,0"),)
    smartctl.says("/dev/sdb", "jmb39x,0", scripted_smartctl.printed(ata("S00009"), 300.0))
    before = Asking(sys, smartctl, drives=bridge).go_on(10)
    after = succeeded(before, sys).go_on(100)
    assert 1 == len(smartctl.asked("/dev/sdb"))
    assert [] == after.of("/dev/sdb")
    smartctl.says("/dev/sdb", "jmb39x,0", ata("S00009"))
    after.children.let_go(Address("/dev/sdb", "jmb39x,0"))
    after.go_on(5)
    assert ["success"] == [document.result for document in after.of("/dev/sdb")]


def test_a_new_nvme_drive_is_polled_before_the_next_scan(sys: Sys, smartctl: Smartctl) -> None:
    """Its node has all information that a scan would return."""
    asked = Asking(sys, smartctl).go_on(60)
    asked.polling.rescan_soon()
    asked.go_on(5)
    trees.nvme(sys, 1)
    node_trees.dev(sys, "nvme1")
    smartctl.says("/dev/nvme1", "nvme", nvme("FW000001"))
    asked.polling.rescan_soon()
    asked.go_on(5)
    assert ["success"] == [document.result for document in asked.of("/dev/nvme1")]
    assert 2 == len([key for _, key, _ in asked.children.started if key == "scan"])
