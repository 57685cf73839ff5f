"""Decides which log pages of NVMe drives are read, and keeps what was read.

smartctl's JSON has the SMART log and the error and self-test logs. The other pages, such as those
of OCP and of the vendors, are read here (docs/nvme-logs.md). One program reads the pages of all
drives that are due (`nvme_log_program`). It starts when they have been polled, so it wakes none.

A page that a drive refuses, or on which it hangs, is not asked for again until the drive has other
firmware: drives count refused commands as errors, and the kernel resets a drive that hangs. Times
are monotonic seconds, unless a name says otherwise.
"""

import itertools
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.drives.fields import Json
from exporter.drives.nvme_logs.allowed_pages import (
    SUPPORTED_PAGES,
    LogPage,
    allowed_pages,
    supported_pages,
)
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.identify import parse_identify
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_page, join_logs
from exporter.programs.child import End, Finished
from exporter.programs.children import Children
from exporter.smart.polling.log_answers import LogAnswers, parse_log_answers
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.smartctl import Address

#: The time limit of the program, in seconds. It reads all pages of 24 drives in 30 ms.
LIMIT_SECONDS = 30.0
#: A drive hangs if it had at least this time, in seconds. One that had less, because the drives
#: before it were slow, is asked again.
_LEAST_SECONDS = 10.0
_MOST_DRIVES = 24

#: A start of Python takes as much CPU time as 15 polls, so the program waits until all drives that
#: are due have been polled, but not longer than this share of the interval: 90 s of 15 minutes. It
#: is longer than the time between two polls, so that one start suffices.
_WAIT_RATIO = 1 / 10

#: Pages are no longer used if none could be read for this number of intervals.
_STALE_INTERVALS = 3

#: A page that is refused with a status that allows a retry is asked for this many times.
_MOST_TRIES = 3
#: The bit "do not retry" of an NVMe status.
_DO_NOT_RETRY = 0x4000

#: The types of smartctl for a drive of the kernel's NVMe driver.
_TYPES = ("", "nvme")

#: It is not imported, because the memory of the agent is limited.
_PROGRAM = str(Path(__file__).parents[1] / "nvme_log_program.py")


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Identifies a run of the program. No two runs of a process have the same number."""

    number: int


_NUMBERS = itertools.count(1)


@dataclass(slots=True)
class DriveLogs:
    """What is known of a drive.

    identity: its model, serial number and firmware. With another identity all is forgotten.
    due: when its pages are read next; infinity: never.
    controller: None before the drive was identified.
    wanted: the pages to read.
    answered: when the drive last answered.
    read: the JSON object of each page that was read.
    tries: how often each page was refused.
    missing: why a page has no new content.
    joined: the JSON object of the pages; None if it must be built again.
    """

    identity: tuple[object, ...]
    due: float = -math.inf
    controller: Controller | None = None
    wanted: tuple[LogPage, ...] = ()
    answered: float = -math.inf
    read: dict[int, Mapping[str, object]] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)
    joined: Mapping[str, object] | None = None

    def asks(self) -> list[str]:
        """Returns the arguments of the program after the path."""
        if self.controller is None:
            return ["identify"]
        return [f"{page.number}:{page.size_bytes}:{page.specific}" for page in self.wanted]

    def lose(self, number: int, reason: str, *, is_final: bool = False) -> None:
        """Records why a page has no content. is_final: it is not asked for again."""
        self.read.pop(number, None)
        self.missing[number] = reason
        self.joined = None
        if is_final:
            self.wanted = tuple(page for page in self.wanted if page.number != number)


class LogReading:
    """The log pages of all drives of a poller.

    interval_seconds: the time between two reads of a drive; 0: no page is read.
    drives: what is known of each drive.
    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self.drives: dict[Address, DriveLogs] = {}
        self._ready: dict[Address, None] = {}
        self._ready_since = 0.0
        self._batches: dict[LogBatch, list[Address]] = {}

    def inherit(self, earlier: "LogReading") -> None:
        """Takes over what an earlier poller knows, so that no refused page is asked for again."""
        if self._interval_seconds:
            self.drives = earlier.drives

    def keep(self, addresses: Iterable[Address]) -> None:
        """Forgets the drives with other addresses."""
        kept = set(addresses)
        self.drives = {a: drive for a, drive in self.drives.items() if a in kept}

    def follow(self, document: PollDocument, now: float) -> None:
        """Notes whether pages of the drive are due. Adds those read before to the report."""
        report = document.report
        if not self._interval_seconds or not isinstance(report, dict) or not _is_nvme(document):
            return
        address, identity = document.address, _identity(report)
        drive = self.drives.get(address)
        if drive is None or drive.identity != identity:
            drive = self.drives[address] = DriveLogs(identity)
        if drive.due <= now:
            self._make_ready(address, now)
        if now > drive.answered + _STALE_INTERVALS * self._interval_seconds:
            for number in [*drive.read]:
                drive.lose(number, "failed: the program that reads log pages does not run")
        if drive.read or drive.missing:
            if drive.joined is None:
                controller = drive.controller or Controller()
                drive.joined = join_logs(controller, drive.read, drive.missing)
            report[LOGS_KEY] = drive.joined

    def start(self, children: Children, now: float) -> None:
        """Starts the program for the drives that were polled and are due, unless it is running.

        It waits for other drives that are due and will be polled soon.
        """
        if self._batches or not self._ready:
            return
        waits = any(
            each.due <= now and address not in self._ready and each.asks()
            for address, each in self.drives.items()
        )
        if waits and now - self._ready_since < _WAIT_RATIO * self._interval_seconds:
            return
        batch: list[Address] = []
        arguments: list[str] = []
        for address in [*self._ready][:_MOST_DRIVES]:
            del self._ready[address]
            drive = self.drives.get(address)
            if drive is not None and (asks := drive.asks()):
                # All drives are due at the same times, so that one program reads many drives.
                drive.due = (math.floor(now / self._interval_seconds) + 1) * self._interval_seconds
                batch.append(address)
                arguments += (address.path, *asks)
        if batch:
            key = LogBatch(next(_NUMBERS))
            self._batches[key] = batch
            children.start(key, [sys.executable, "-I", "-S", _PROGRAM, *arguments], LIMIT_SECONDS)

    def finish(self, batch: LogBatch, finished: Finished, now: float, wall: float) -> None:
        """Stores what the program has read.

        finished: the result of the program.
        wall: the current Unix time, in seconds.
        """
        answers = parse_log_answers(finished.output)
        was_ended = finished.end in (End.TIMED_OUT, End.STUCK)
        last = next(reversed(answers), None)
        for address in self._batches.pop(batch, []):
            drive, answer = self.drives.get(address), answers.get(address.path)
            if drive is None:
                continue
            if answer is None:
                # The program was ended at a drive before this one.
                if was_ended:
                    self._make_ready(address, now)
                continue
            was_unknown = drive.controller is None
            drive.answered, drive.joined = now, None
            _store(drive, answer, wall)
            if was_ended and address.path == last:
                had_seconds = LIMIT_SECONDS - answer.began_seconds
                # A request that cannot be ended is still in flight, so no other may follow.
                if finished.end is End.STUCK or had_seconds >= _LEAST_SECONDS:
                    _blame(drive, answer)
                else:
                    self._make_ready(address, now)
            if was_unknown and drive.controller is not None:
                self._make_ready(address, now)

    def _make_ready(self, address: Address, now: float) -> None:
        if not self._ready:
            self._ready_since = now
        self._ready[address] = None


def _store(drive: DriveLogs, answer: LogAnswers, wall: float) -> None:
    if answer.identify is not None:
        listed = answer.pages.get(SUPPORTED_PAGES.number)
        supported = None if listed is None else supported_pages(listed)
        if (found := parse_identify(answer.identify)) is not None:
            drive.controller = found.controller
            drive.wanted = allowed_pages(
                found.controller,
                supported,
                endurance_groups=found.endurance_groups,
                thermal_management=found.thermal_management,
            )
        return
    if drive.controller is None:
        drive.missing[SUPPORTED_PAGES.number] = f"failed: {answer.unusable}"
        return
    for number, content in answer.pages.items():
        drive.read[number] = encode_page(wall, content)
        drive.missing.pop(number, None)
        drive.tries.pop(number, None)
    for number, reason in answer.failed.items():
        drive.lose(number, f"failed: {reason}")
    for number, status in answer.refused.items():
        reason = f"refused: NVMe status {status & ~_DO_NOT_RETRY:#05x}"
        tries = drive.tries[number] = drive.tries.get(number, 0) + 1
        drive.lose(number, reason, is_final=bool(status & _DO_NOT_RETRY) or tries >= _MOST_TRIES)
    if answer.unusable:
        for page in drive.wanted:
            drive.lose(page.number, f"failed: {answer.unusable}")


def _blame(drive: DriveLogs, answer: LogAnswers) -> None:
    """Records that the program was ended while it waited for this drive."""
    reason = f"timeout: no answer within {LIMIT_SECONDS:.0f} s; not asked for again"
    if answer.unanswered is not None:
        drive.lose(answer.unanswered, reason, is_final=True)
    elif drive.controller is None:
        # It hangs in Identify Controller.
        drive.missing[SUPPORTED_PAGES.number] = reason
        drive.due = math.inf


def _is_nvme(document: PollDocument) -> bool:
    device = document.report.get("device")
    protocol = device.get("protocol") if isinstance(device, dict) else None
    return (
        protocol == "NVMe"
        and document.type in _TYPES
        and document.path.startswith("/dev/")
        and document.result == PollResult.SUCCESS.value
    )


def _identity(report: Json) -> tuple[object, ...]:
    keys = "model_name", "serial_number", "firmware_version"
    return tuple(value if isinstance(value := report.get(key), str) else "" for key in keys)
