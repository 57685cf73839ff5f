"""Which drives smartctl finds: by opening each, and where that fails by a list of what there is."""

import logging
from collections.abc import Iterable
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ParseError
from exporter.linux import device_nodes
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs.child import End, Finished
from exporter.smart import addressing, smartctl
from exporter.smart.poll_outcome import poll_outcome
from exporter.smart.poll_scheduler import LISTING, PollScheduler
from exporter.smart.smartctl import Address, Scanned

log = logging.getLogger(__name__)

#: So long may a look for drives take. It opens each, and one that hangs holds it up.
_SCAN_SECONDS = 30.0

#: So long may the look take that opens no drive.
_LISTING_SECONDS = 10.0


class Scans:
    """The looks for drives that `poll` runs, and what the last ones found.

    rows: what was found. at: when that was last complete, in seconds of Unix time; None before.
    problem: why the drives could not be opened to find out their types, for people; else empty.
    """

    def __init__(self, poll: PollScheduler, clock: Clock, *, sys: Path, root: Path) -> None:
        self._poll = poll
        self._clock = clock
        self._sys = sys
        self._root = root
        self._is_listing = False
        self.rows: tuple[Scanned, ...] = ()
        self.at: float | None = None
        self.problem = ""

    @property
    def is_settled(self) -> bool:
        """A look has ended, and no other one is to find what it has not."""
        return (self.at is not None or bool(self.problem)) and not self._is_listing

    def begin(self) -> bool:
        """Look for drives; False where an earlier look is still under way."""
        if self._poll.rescan(_SCAN_SECONDS):
            return True
        # One that cannot be ended holds up no look that opens nothing.
        return self._poll.is_scan_stuck and self._list()

    def take(self, scan: Finished) -> None:
        """What a look has found, as `SmartPoll.take_scan` gives it."""
        if scan.key == LISTING:
            self._take_listing(scan)
            return
        problem = scan.message
        if scan.end is End.EXITED:
            try:
                self.rows = smartctl.parse_scan(scan.output)
                self.at = self._clock.wall()
            except ParseError as e:
                # That it is too old, or was killed.
                problem = poll_outcome(scan).message or str(e)
        elif scan.end is End.NOT_STARTED:
            problem += "; install smartmontools or set --smartctl.path"
        if problem:
            # A drive that hangs holds up the scan, and must not hide the others.
            self.rows += _unscanned(device_nodes.read(self._sys, self._root), self.rows)
            if scan.end is not End.NOT_STARTED:
                self._list()
        self._say(problem and f"looking for drives failed: {problem}")

    def _list(self) -> bool:
        begun = self._poll.rescan(_LISTING_SECONDS, LISTING)
        self._is_listing |= begun
        return begun

    def _take_listing(self, listing: Finished) -> None:
        """What there is; that the drives could not be opened stays the problem."""
        self._is_listing = False
        if listing.end is not End.EXITED:
            return
        try:
            listed = smartctl.parse_scan(listing.output)
        except ParseError as e:
            log.debug("listing drives without opening them failed too: %s", e)
            return
        self.rows = _typed(listed, self.rows)
        self.at = self._clock.wall()

    def _say(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem


def _unscanned(known: DeviceNodes, scanned: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The other SCSI disks of /sys; smartctl is left to find out what each of them is."""
    names = sorted(name for name in known.blocks & known.present if name.startswith("sd"))
    found = {row.address.path for row in scanned}
    return tuple(Scanned(Address(f"/dev/{n}")) for n in names if f"/dev/{n}" not in found)


def _typed(listed: Iterable[Scanned], known: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """What was listed; of what type it is, an earlier look that opened the drives knows better."""
    before: dict[str, list[Scanned]] = {}
    for row in known:
        before.setdefault(row.address.path, []).append(row)
    found: list[Scanned] = []
    for row in listed:
        if addressing.slot(row.address):
            found.append(row)
        elif row.address.path in before:
            found += before[row.address.path]
        elif row.address.type == "scsi":
            # What --scan calls every disk that it has not opened, SATA or SAS.
            found.append(Scanned(Address(row.address.path)))
        else:
            found.append(row)
    return tuple(dict.fromkeys(found))
