"""Decides which log pages of NVMe drives are read, and keeps what was read.

smartctl's JSON has the SMART log and the error and self-test logs. The other pages, such as those
of OCP and of the vendors, are read here (docs/nvme-logs.md). One program reads the pages of all
drives that are due (`nvme_log_program`). It starts after a poll of these drives, so it wakes none.

A page that a drive refuses, or on which it hangs, is not asked for again until the drive has other
firmware: drives count refused commands as errors, and the kernel resets a drive that hangs. Times
are monotonic seconds, unless a name says otherwise.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.drives.fields import Json
from exporter.drives.nvme_logs.allowed_pages import LogPage, allowed_pages, supported_pages
from exporter.drives.nvme_logs.controller import Controller, has_endurance_groups, identified
from exporter.drives.nvme_logs.document import KEY, encode_logs
from exporter.programs.child import End, Finished
from exporter.programs.children import Children
from exporter.smart import nvme_log_program
from exporter.smart.polling.log_answers import LogAnswers, parse_log_answers
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.smartctl import Address

#: The time limit of the program, in seconds. It reads all pages of 16 drives in 20 ms.
LIMIT_SECONDS = 30.0
_MOST_DRIVES = 16

#: A page that is refused with a status that allows a retry is asked for this many times.
_MOST_TRIES = 3
#: The bit "do not retry" of an NVMe status.
_DO_NOT_RETRY = 0x4000

#: The types of smartctl for a drive of the kernel's NVMe driver.
_TYPES = ("", "nvme")
_SUPPORTED_LOG_PAGES = 0x00

_PROGRAM = str(Path(nvme_log_program.__file__))


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Identifies a run of the program."""

    number: int


@dataclass(slots=True)
class _Drive:
    """What is known of a drive.

    identity: its model, serial number and firmware. With another identity all is forgotten.
    due: when its pages are read next; infinity: never.
    controller: None before the drive was identified.
    wanted: the pages to read.
    read: the time (Unix seconds) and the content in hexadecimal of each page that was read.
    tries: how often each page was refused.
    missing: why a page has no new content.
    """

    identity: tuple[object, ...]
    due: float = -math.inf
    controller: Controller | None = None
    wanted: tuple[LogPage, ...] = ()
    read: dict[int, tuple[float, str]] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    def asks(self) -> list[str]:
        """Returns the arguments of the program after the path."""
        if self.controller is None:
            return ["identify"]
        return [f"{page.number}:{page.size_bytes}:{page.specific}" for page in self.wanted]

    def never_again(self, number: int, reason: str) -> None:
        self.missing[number] = reason
        self.wanted = tuple(page for page in self.wanted if page.number != number)


class LogReading:
    """The log pages of all drives of a poller.

    interval_seconds: the time between two reads of a drive; 0: no page is read.
    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._drives: dict[Address, _Drive] = {}
        self._ready: dict[Address, None] = {}
        self._batches: dict[LogBatch, list[Address]] = {}
        self._number = 0

    def inherit(self, earlier: "LogReading") -> None:
        """Takes over what an earlier poller knows, so that no refused page is asked for again."""
        if self._interval_seconds:
            self._drives, self._number = earlier._drives, earlier._number

    def keep(self, addresses: Iterable[Address]) -> None:
        """Forgets the drives with other addresses."""
        kept = set(addresses)
        self._drives = {a: drive for a, drive in self._drives.items() if a in kept}

    def follow(self, document: PollDocument, now: float) -> PollDocument:
        """Notes whether pages of the drive are due. Returns the document with those read before."""
        if not self._interval_seconds or not _is_nvme(document):
            return document
        address, identity = document.address, _identity(document.report)
        drive = self._drives.get(address)
        if drive is None or drive.identity != identity:
            drive = self._drives[address] = _Drive(identity)
        if drive.due <= now:
            self._ready[address] = None
        if drive.controller is None:
            return document
        logs = encode_logs(drive.controller, drive.read, drive.missing)
        return replace(document, report={**document.report, KEY: logs})

    def start(self, children: Children, now: float) -> None:
        """Starts the program for the drives that are due, unless it is running."""
        if self._batches or not self._ready:
            return
        batch: list[Address] = []
        arguments: list[str] = []
        for address in [*self._ready][:_MOST_DRIVES]:
            del self._ready[address]
            drive = self._drives.get(address)
            if drive is not None and (asks := drive.asks()):
                # All drives are due at the same times, so that one program reads many drives.
                drive.due = (math.floor(now / self._interval_seconds) + 1) * self._interval_seconds
                batch.append(address)
                arguments += (address.path, *asks)
        if batch:
            self._number += 1
            key = LogBatch(self._number)
            self._batches[key] = batch
            children.start(key, [sys.executable, "-I", "-S", _PROGRAM, *arguments], LIMIT_SECONDS)

    def finish(self, batch: LogBatch, finished: Finished, wall: float) -> None:
        """Stores what the program has read.

        finished: the result of the program.
        wall: the current Unix time, in seconds.
        """
        answers = parse_log_answers(finished.output)
        was_ended = finished.end in (End.TIMED_OUT, End.STUCK)
        last = next(reversed(answers), None)
        for address in self._batches.pop(batch, []):
            drive, answer = self._drives.get(address), answers.get(address.path)
            if drive is None:
                continue
            if answer is None:
                # It was not asked, because the program was ended at a drive before this one.
                drive.due = -math.inf if was_ended else drive.due
                continue
            was_unknown = drive.controller is None
            _store(drive, answer, wall)
            if was_ended and address.path == last:
                _blame(drive, answer)
            if was_unknown and drive.controller is not None:
                self._ready[address] = None


def _store(drive: _Drive, answer: LogAnswers, wall: float) -> None:
    if answer.identify is not None:
        controller = identified(answer.identify)
        page = answer.pages.pop(_SUPPORTED_LOG_PAGES, None)
        if controller is not None:
            supported = None if page is None else supported_pages(bytes.fromhex(page))
            groups = has_endurance_groups(answer.identify)
            drive.controller = controller
            drive.wanted = allowed_pages(controller, supported, endurance_groups=groups)
        return
    for number, content in answer.pages.items():
        drive.read[number] = wall, content
        drive.missing.pop(number, None)
        drive.tries.pop(number, None)
    for number, reason in answer.failed.items():
        drive.missing[number] = f"not read: {reason}"
    for number, status in answer.refused.items():
        reason = f"refused by the drive: NVMe status {status & ~_DO_NOT_RETRY:#05x}"
        tries = drive.tries[number] = drive.tries.get(number, 0) + 1
        if status & _DO_NOT_RETRY or tries >= _MOST_TRIES:
            drive.never_again(number, reason)
        else:
            drive.missing[number] = reason
    if answer.unusable:
        for page in drive.wanted:
            drive.missing[page.number] = f"not read: {answer.unusable}"


def _blame(drive: _Drive, answer: LogAnswers) -> None:
    """Records that the program was ended while it waited for this drive."""
    if answer.unanswered is None:
        # It hangs in Identify Controller.
        drive.due = drive.due if drive.controller else math.inf
    else:
        reason = f"no answer within {LIMIT_SECONDS:.0f} s; not asked for again"
        drive.never_again(answer.unanswered, reason)


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
