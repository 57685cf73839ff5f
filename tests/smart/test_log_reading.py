"""Which log pages of NVMe drives are read, and what a poll document contains of them."""

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.nvme_logs.log_encoding import LOGS_KEY
from exporter.programs.child import End, Finished
from exporter.smart.polling.log_answers import parse_log_answers
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_scheduler import PollScheduler, PollSettings
from exporter.smart.polling.poll_timing import Target
from exporter.smart.smartctl import Address
from tests.fakes import FakeClock
from tests.smart import logging_drive
from tests.smart.logging_drive import INVALID_LOG, NOT_READY, LoggingDrive, LoggingDrives
from tests.stand_ins.children import Behaviour, FakeChildren, answers

HOUR = 3600.0
INTERVAL = 900.0


def page(number: int) -> bytes:
    return bytes([number]) * 512


class Polls:
    """A scheduler with fake children that reads log pages every 15 minutes."""

    def __init__(self, drives: LoggingDrives, interval: float = INTERVAL) -> None:
        self.clock = FakeClock()
        self.drives = drives
        self.children = FakeChildren(self.clock, drives)
        self.scheduler = self.new(interval)
        self.last: dict[str, PollDocument] = {}

    def new(self, interval: float = INTERVAL) -> PollScheduler:
        settings = PollSettings(log_interval_seconds=interval)
        scheduler = PollScheduler(self.children, self.clock, "smartctl", settings)
        scheduler.set_targets(
            Target(Address(path, "nvme"), path, 60.0, 10.0) for path in self.drives.drives
        )
        return scheduler

    def go_on(self, seconds: float) -> "Polls":
        until = self.clock.monotonic() + seconds
        while (left := until - self.clock.monotonic()) > 1e-9:
            for document in self.scheduler.step(left):
                self.last[document.path] = document
        return self

    def logs(self, name: str) -> Mapping[str, Any]:
        logs = self.last[f"/dev/{name}"].report.get(LOGS_KEY)
        assert isinstance(logs, Mapping)
        return logs

    def missing(self, name: str) -> dict[str, str]:
        return dict(self.logs(name)["missing"])

    def pages(self, name: str) -> set[str]:
        return set(self.logs(name)["pages"])


def ocp_drive(**answers: bytes | int | None) -> LoggingDrive:
    """A drive that lists the pages of OCP. answers: by number, as in p192."""
    pages: dict[int, bytes | int | None] = {
        0: logging_drive.supported(0x02, 0xC0, 0xC3),
        **{number: page(number) for number in (0x02, 0xC0, 0xC3)},
        **{int(name[1:]): answer for name, answer in answers.items()},
    }
    return LoggingDrive(pages=pages)


def always(end: End, output: bytes = b"") -> Behaviour:
    def behaviour(key: Hashable, _argv: Sequence[str], _limit: float) -> Finished:
        return Finished(key, end, 0, output, seconds=0.04)

    return behaviour


def test_the_pages_that_a_drive_lists_are_in_its_documents() -> None:
    polls = Polls(LoggingDrives(nvme0=ocp_drive())).go_on(120)
    assert {"2", "192", "195"} == polls.pages("nvme0")
    assert page(0xC0).hex() == polls.logs("nvme0")["pages"]["192"]["hex"]
    assert {} == polls.missing("nvme0")
    assert logging_drive.MICRON == polls.logs("nvme0")["controller"]["vendor_id"]


def test_a_document_with_log_pages_is_json() -> None:
    polls = Polls(LoggingDrives(nvme0=ocp_drive())).go_on(120)
    assert polls.logs("nvme0") == json.loads(json.dumps(polls.logs("nvme0")))


def test_a_drive_without_such_pages_has_the_report_of_smartctl_only() -> None:
    drive = LoggingDrive(identify=logging_drive.identify(manages_heat=False))
    polls = Polls(LoggingDrives(nvme0=drive)).go_on(HOUR)
    assert LOGS_KEY not in polls.last["/dev/nvme0"].report
    assert [] == drive.asked
    assert 1 == polls.drives.started


def test_pages_are_read_once_per_interval_and_of_all_drives_together() -> None:
    drives = LoggingDrives(**{f"nvme{number}": ocp_drive() for number in range(8)})
    polls = Polls(drives).go_on(120)
    before = drives.started
    polls.go_on(4 * INTERVAL)
    for drive in drives.drives.values():
        assert 4 <= drive.asked.count(0xC0) <= 6
        assert 1 == drive.asked.count(0)
    # The polls of 8 drives are in at most four groups of 15 s, and the program waits for them.
    assert drives.started - before <= 5


def test_a_drive_that_does_not_answer_delays_the_others_by_a_minute_at_most() -> None:
    drives = LoggingDrives(nvme0=ocp_drive(), nvme1=ocp_drive())
    polls = Polls(drives).go_on(120)
    fails = always(End.TIMED_OUT)

    def smartctl(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return (fails if "/dev/nvme1" in argv else answers)(key, argv, limit)

    drives.smartctl = smartctl
    before = drives.drives["/dev/nvme0"].asked.count(0xC0)
    polls.go_on(INTERVAL + 130)
    assert before < drives.drives["/dev/nvme0"].asked.count(0xC0)


def test_no_page_is_read_if_the_setting_is_off() -> None:
    polls = Polls(LoggingDrives(nvme0=ocp_drive()), interval=0.0).go_on(HOUR)
    assert 0 == polls.drives.started


def test_pages_are_read_only_after_a_poll_that_succeeded() -> None:
    drives = LoggingDrives(nvme0=ocp_drive())
    drives.smartctl = always(End.TIMED_OUT)
    Polls(drives).go_on(HOUR)
    assert 0 == drives.started


def test_a_refused_page_is_asked_for_once() -> None:
    polls = Polls(LoggingDrives(nvme0=ocp_drive(p195=INVALID_LOG))).go_on(4 * HOUR)
    assert 1 == polls.drives.drives["/dev/nvme0"].asked.count(0xC3)
    assert {"195": "refused: NVMe status 0x109"} == polls.missing("nvme0")
    assert {"2", "192"} == polls.pages("nvme0")


def test_a_page_that_is_refused_for_now_is_asked_for_three_times() -> None:
    drive = ocp_drive(p195=NOT_READY)
    polls = Polls(LoggingDrives(nvme0=drive)).go_on(4 * HOUR)
    assert 3 == drive.asked.count(0xC3)
    assert {"195": "refused: NVMe status 0x082"} == polls.missing("nvme0")


def test_a_page_that_is_refused_later_has_no_old_content() -> None:
    drive = ocp_drive()
    polls = Polls(LoggingDrives(nvme0=drive)).go_on(120)
    drive.pages[0xC0] = INVALID_LOG
    polls.go_on(INTERVAL + 120)
    assert {"2", "195"} == polls.pages("nvme0")


def test_new_firmware_is_asked_again() -> None:
    drive = ocp_drive(p195=INVALID_LOG)
    drives = LoggingDrives(nvme0=drive)
    polls = Polls(drives).go_on(HOUR)
    report = {"smartctl": {"version": [7, 3], "exit_status": 0}, "device": {"protocol": "NVMe"}}
    updated = json.dumps({**report, "firmware_version": "FW2"}).encode()
    drives.smartctl = always(End.EXITED, updated)
    drive.pages[0xC3] = page(0xC3)
    polls.go_on(120)
    assert 2 == drive.asked.count(0xC3)
    assert {} == polls.missing("nvme0")


def test_a_reload_does_not_ask_for_a_refused_page_again() -> None:
    drive = ocp_drive(p195=INVALID_LOG)
    polls = Polls(LoggingDrives(nvme0=drive)).go_on(120)
    after = polls.new()
    after.inherit(polls.scheduler.hand_over())
    polls.scheduler = after
    polls.go_on(2 * INTERVAL)
    assert 1 == drive.asked.count(0xC3)
    assert {"2", "192"} == polls.pages("nvme0")


@pytest.mark.parametrize("end", [End.STUCK, End.TIMED_OUT])
def test_a_page_on_which_a_drive_hangs_costs_only_this_page(end: End) -> None:
    drives = LoggingDrives(nvme0=ocp_drive(p192=None), nvme1=ocp_drive(), nvme2=ocp_drive())
    drives.hang_ends = end
    polls = Polls(drives).go_on(2 * HOUR)
    assert 1 == drives.drives["/dev/nvme0"].asked.count(0xC0)
    assert {"192": "timeout: no answer within 30 s; not asked for again"} == polls.missing("nvme0")
    assert {"2", "195"} == polls.pages("nvme0")
    for name in ("nvme1", "nvme2"):
        assert {"2", "192", "195"} == polls.pages(name)
    assert "success" == polls.last["/dev/nvme0"].result


def test_a_drive_that_is_cut_off_because_others_were_slow_is_asked_again() -> None:
    drives = LoggingDrives(nvme0=ocp_drive(), nvme1=ocp_drive(p192=None))
    drives.hang_ends = End.TIMED_OUT
    late = drives.drives["/dev/nvme1"]
    late.began = 27.0
    polls = Polls(drives).go_on(120)
    assert {} == polls.missing("nvme1")
    late.pages[0xC0] = page(0xC0)
    polls.go_on(120)
    assert {"2", "192", "195"} == polls.pages("nvme1") == polls.pages("nvme0")


def test_a_late_drive_on_which_the_program_cannot_be_ended_is_not_asked_again() -> None:
    drives = LoggingDrives(nvme0=ocp_drive(), nvme1=ocp_drive(p192=None))
    drives.drives["/dev/nvme1"].began = 27.0
    polls = Polls(drives).go_on(2 * HOUR)
    assert 1 == drives.drives["/dev/nvme1"].asked.count(0xC0)
    assert {"192": "timeout: no answer within 30 s; not asked for again"} == polls.missing("nvme1")


def test_a_drive_that_hangs_in_identify_is_not_asked_again() -> None:
    drives = LoggingDrives(nvme0=LoggingDrive(identify=None), nvme1=ocp_drive())
    polls = Polls(drives).go_on(2 * HOUR)
    assert {"0": "timeout: no answer within 30 s; not asked for again"} == polls.missing("nvme0")
    assert {"2", "192", "195"} == polls.pages("nvme1")
    assert "success" == polls.last["/dev/nvme0"].result


def test_polls_continue_while_the_program_hangs() -> None:
    drives = LoggingDrives(nvme0=ocp_drive(p192=None))
    polls = Polls(drives).go_on(30)
    before = polls.last["/dev/nvme0"].began_at
    polls.go_on(70)
    assert before < polls.last["/dev/nvme0"].began_at


def test_a_device_that_cannot_be_opened_has_a_reason() -> None:
    drives = LoggingDrives(nvme0=LoggingDrive(unusable="Operation not permitted"))
    polls = Polls(drives).go_on(HOUR)
    assert {"0": "failed: Operation not permitted"} == polls.missing("nvme0")


def test_old_pages_are_not_used_for_ever_if_the_program_cannot_run() -> None:
    drives = LoggingDrives(nvme0=ocp_drive())
    polls = Polls(drives).go_on(120)
    polls.children.behaviour = lambda key, argv, limit: (
        drives(key, argv, limit)
        if isinstance(key, Address)
        else Finished(key, End.NOT_STARTED, message="no memory")
    )
    polls.go_on(2 * INTERVAL)
    assert {"2", "192", "195"} == polls.pages("nvme0")
    polls.go_on(3 * INTERVAL)
    assert set() == polls.pages("nvme0")
    reason = "failed: the program that reads log pages does not run"
    assert {"2": reason, "192": reason, "195": reason} == polls.missing("nvme0")


def test_a_removed_drive_is_forgotten() -> None:
    drives = LoggingDrives(nvme0=ocp_drive())
    polls = Polls(drives).go_on(120)
    polls.scheduler.set_targets([])
    polls.scheduler.set_targets([Target(Address("/dev/nvme0", "nvme"), "nvme0", 60.0, 10.0)])
    polls.go_on(120)
    assert 2 == drives.drives["/dev/nvme0"].asked.count(0)


LINES = st.lists(
    st.one_of(
        st.sampled_from(["device /dev/nvme0", "ask 192", "page 192 00ff", "status 195 16649"]),
        st.from_regex(r"(device|ask|page|status|error|identify|unusable)( [0-9a-f/]{0,9}){0,3}"),
        st.text(max_size=30),
    )
)


@given(LINES)
def test_any_output_of_the_program_is_parsed(lines: list[str]) -> None:
    for answer in parse_log_answers("\n".join(lines).encode("utf-8", "replace")).values():
        assert all(0 <= number <= 0xFF for number in (*answer.pages, *answer.refused))


def test_a_line_that_is_cut_is_not_used() -> None:
    answers = parse_log_answers(b"device /dev/nvme0\nask 192\npage 192 00ff\nask 195\npage 195 00")
    assert {192: b"\x00\xff"} == answers["/dev/nvme0"].pages
    assert 195 == answers["/dev/nvme0"].unanswered
