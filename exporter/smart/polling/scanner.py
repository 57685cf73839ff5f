"""Finds the drives of the host with smartctl's scan, and without opening drives if that hangs."""

import logging
from collections.abc import Iterable
from pathlib import Path

from exporter.linux import device_nodes
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs.child import End, Finished
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ParseError
from exporter.smart import addressing, smartctl
from exporter.smart.polling.poll_result import poll_result
from exporter.smart.polling.poll_scheduler import LISTING, PollScheduler
from exporter.smart.smartctl import Address, Scanned

log = logging.getLogger(__name__)

#: Timeout of a scan that opens each drive, in seconds. It hangs at the first drive that hangs.
_SCAN_SECONDS = 30.0

#: Timeout of a listing, which opens no drive, in seconds.
_LISTING_SECONDS = 10.0


class Scanner:
    """Runs smartctl's scans with the scheduler, and keeps the last results.

    rows: the drives that were found.
    at: when the last successful scan, or listing (a scan that opens no drive), ended, in seconds of
        Unix time. None means that none has ended yet.
    problem: why the last scan failed, as text for people; empty if it succeeded.
    """

    def __init__(self, scheduler: PollScheduler, clock: Clock, *, sys: Path, root: Path) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._sys = sys
        self._root = root
        self._is_listing = False
        self.rows: tuple[Scanned, ...] = ()
        self.at: float | None = None
        self.problem = ""

    @property
    def is_settled(self) -> bool:
        """True if a scan has ended.

        False while a listing (a scan that opens no drive) runs, which replaces a failed scan.
        """
        return (self.at is not None or bool(self.problem)) and not self._is_listing

    def start(self) -> bool:
        """Starts a scan. Returns False if the last one still runs.

        If the last scan hangs and cannot be ended, a listing (a scan that opens no drive) is
        started.
        """
        if self._scheduler.start_scan(_SCAN_SECONDS):
            return True
        # If the last scan hangs and cannot be ended, a listing is still possible.
        return self._scheduler.is_scan_stuck and self._list()

    def receive(self, scan: Finished) -> None:
        """Records the result of a scan or listing, which `PollScheduler.take_scan` returned.

        If the scan failed, a listing is started.
        """
        if scan.key == LISTING:
            self._take_listing(scan)
            return
        problem = scan.message
        if scan.end is End.EXITED:
            try:
                self.rows = smartctl.parse_scan(scan.output)
                self.at = self._clock.wall()
            except ParseError as e:
                # The cause may be a smartctl that is too old or was killed.
                problem = poll_result(scan)[1] or str(e)
        elif scan.end is End.NOT_STARTED:
            problem += "; install smartmontools or set --smartctl.path"
        if problem:
            # A drive that hangs blocks the scan. The other drives must still be found.
            self.rows += _unscanned(device_nodes.read(self._sys, self._root), self.rows)
            if scan.end is not End.NOT_STARTED:
                self._list()
        self._log(problem and f"scanning for drives failed: {problem}")

    def _list(self) -> bool:
        is_started = self._scheduler.start_scan(_LISTING_SECONDS, LISTING)
        self._is_listing |= is_started
        return is_started

    def _take_listing(self, listing: Finished) -> None:
        """Records the result of a listing. `problem` remains that of the scan that failed."""
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

    def _log(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem


def _unscanned(nodes: DeviceNodes, scanned: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """Returns the SCSI disks in /sys that are not in `scanned`. smartctl detects their type."""
    names = sorted(name for name in nodes.blocks & nodes.present if name.startswith("sd"))
    paths = {row.address.path for row in scanned}
    return tuple(Scanned(Address(f"/dev/{n}")) for n in names if f"/dev/{n}" not in paths)


def _typed(listed: Iterable[Scanned], earlier: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """Returns the drives of a listing, with the types from an earlier scan.

    A listing opens no drive and therefore reports less precise types. Drives in controller slots
    keep the type of the listing.
    """
    before: dict[str, list[Scanned]] = {}
    for row in earlier:
        before.setdefault(row.address.path, []).append(row)
    result: list[Scanned] = []
    for row in listed:
        if addressing.slot(row.address):
            result.append(row)
        elif row.address.path in before:
            result += before[row.address.path]
        elif row.address.type == "scsi":
            # --scan reports this type for every disk, SATA or SAS. smartctl detects the type.
            result.append(Scanned(Address(row.address.path)))
        else:
            result.append(row)
    return tuple(dict.fromkeys(result))
