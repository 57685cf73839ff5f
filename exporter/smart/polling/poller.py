"""Finds and polls all drives of a host, and passes on the results as poll documents.

A poll document is the result of one poll of a drive. A heartbeat is the list of the drives, which
is sent regularly. The agent, and a daemon that runs smartctl itself, use the same poller. Only the
receiver of the documents differs.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.drives.drive_identity import DriveIdentity, Protocol
from exporter.linux import files
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs import leftovers
from exporter.programs.children import Children, SystemChildren
from exporter.runtime.clock import Clock
from exporter.smart import addressing, discovery, smartctl
from exporter.smart.discovery import Candidate, Selection
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import HEARTBEAT_SECONDS, Heartbeat, PollDocument
from exporter.smart.polling.poll_history import PollHistory
from exporter.smart.polling.poll_scheduler import (
    Handover,
    PollScheduler,
    PollSettings,
    may_be_killed,
    process_key,
)
from exporter.smart.polling.poll_timing import Target
from exporter.smart.polling.scanner import Scanner
from exporter.smart.smartctl import Address

log = logging.getLogger(__name__)

#: If the last scan still runs when the next one is due, the start of the next one is tried again
#: after this time, in seconds.
_SCAN_RETRY_SECONDS = 5.0

#: If the first scan fails and no listing replaces it, it is repeated after this time, in seconds.
_FIRST_SCAN_RETRY_SECONDS = 60.0

#: The shortest time between two scans that `rescan_soon` requests, in seconds. It is long because a
#: scan opens every drive.
_MIN_SCAN_INTERVAL_SECONDS = 30.0

#: After a start, a thousand drives report their identity one by one. The best address of each drive
#: is therefore determined only at this interval, in seconds, and again after the last drive.
_GATHER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PollingPlan(Selection):
    """The settings of a poller: which drives to poll, and how often.

    The fields are those of `SmartSettings`. The agent must not import the code of the
    configuration, so it uses this record.

    program: the path or name of smartctl.
    nvme_interval_seconds, interval_seconds: the interval of the polls of NVMe drives and of other
        drives.
    timeout_seconds: the time limit of one poll.
    processes, processes_per_adapter: the largest number of smartctl processes that run at a time,
        in total and for the drives of one host adapter.
    rescan_seconds: the interval of the scans for drives.
    log_interval_seconds: the interval at which log pages of NVMe drives are read; 0: never.
    """

    program: str = "smartctl"
    nvme_interval_seconds: float = 60.0
    interval_seconds: float = 900.0
    timeout_seconds: float = 30.0
    processes: int = 8
    processes_per_adapter: int = 4
    rescan_seconds: float = 600.0
    log_interval_seconds: float = 900.0


class Poller:
    """Polls all drives of a host. One thread calls `step` repeatedly.

    children: runs smartctl.
    sys: the path of /sys.
    root: the path of the / that contains the device nodes.
    on_document: called with each poll document.
    on_heartbeat: called with the list of drives when it changes, and at least every
        `heartbeat_seconds`. If there is none for a longer time, the poller has ended.
    """

    def __init__(
        self,
        children: Children,
        clock: Clock,
        plan: PollingPlan,
        *,
        sys: Path,
        root: Path,
        on_document: Callable[[PollDocument], None],
        on_heartbeat: Callable[[Heartbeat], None],
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._clock = clock
        self._sys = sys
        self._root = root
        self._plan = plan
        self._on_document = on_document
        self._on_heartbeat = on_heartbeat
        self._heartbeat_seconds = heartbeat_seconds
        settings = PollSettings(
            plan.processes,
            plan.processes_per_adapter,
            log_interval_seconds=plan.log_interval_seconds,
        )
        self._scheduler = PollScheduler(children, clock, plan.program, settings)
        self._nodes = DeviceNodes()
        self._scanner = Scanner(self._scheduler, clock, sys=sys, root=root)
        self._candidates: dict[Address, Candidate] = {}
        self._history = PollHistory()
        self._targets: tuple[Target, ...] = ()
        self._next_scan = clock.monotonic()
        self._earliest_requested_scan = clock.monotonic()
        self._is_outdated = False
        self._device_names = discovery.device_names(sys)
        self._next_heartbeat = clock.monotonic()
        self._candidates_changed = False
        self._identity_changed_at: float | None = None
        self._find_candidates()

    @property
    def is_settled(self) -> bool:
        """True if a scan has ended and each drive that it found was polled once."""
        polled = all(target.address in self._history for target in self._targets)
        return self._scanner.is_settled and polled

    def wake(self) -> None:
        """Makes the current `step` return soon. Other threads may call it."""
        self._scheduler.wake()

    def wake_on_signals(self) -> None:
        """Makes each signal wake `step`.

        Call it on the main thread. At the end, call `hand_over` or `close` on the main thread too.
        """
        self._scheduler.wake_on_signals()

    def rescan_soon(self) -> None:
        """Makes the next `step` look for drives. Call it after a drive was added or removed.

        The next `step` reads /sys. The scan, which opens every drive, is also requested; between
        two requested scans there are at least 30 seconds.
        """
        self._is_outdated = True
        soon = max(self._clock.monotonic(), self._earliest_requested_scan)
        if soon < self._next_scan:
            self._next_scan = soon
            self._earliest_requested_scan = soon + _MIN_SCAN_INTERVAL_SECONDS

    def step(self, timeout: float) -> None:
        """Polls the drives that are due, and passes on the documents and heartbeats.

        It returns after `timeout` seconds or sooner. It does not catch exceptions of `on_document`
        and `on_heartbeat`.
        """
        now = self._clock.monotonic()
        if self._is_outdated:
            self._is_outdated = False
            self._find_candidates()
            timeout = 0.0
        if now >= self._next_scan:
            started = self._scanner.start()
            self._next_scan = now + (self._plan.rescan_seconds if started else _SCAN_RETRY_SECONDS)
        until = min(now + timeout, self._next_heartbeat, self._next_scan)
        if self._identity_changed_at is not None:
            until = min(until, self._identity_changed_at + _GATHER_SECONDS)
        for document in self._scheduler.step(max(0.0, until - now)):
            self._receive(document)
        scan = self._scheduler.take_scan()
        if scan is not None:
            self._scanner.receive(scan)
            if self._scanner.is_settled and self._scanner.at is None:
                retry_at = self._clock.monotonic() + _FIRST_SCAN_RETRY_SECONDS
                self._next_scan = min(self._next_scan, retry_at)
            self._find_candidates()
        if self._must_retarget():
            self._retarget()
            self._send_heartbeat()
        elif self._clock.monotonic() >= self._next_heartbeat:
            self._send_heartbeat()

    def inherit(self, earlier: Handover) -> None:
        """Takes over what an earlier poller handed over. Call it before `step`."""
        self._scheduler.inherit(earlier)

    def hand_over(self) -> Handover:
        """Ends the running processes within a bounded time.

        The result still tracks those that must not or cannot be killed. The next poller of the
        drives must `inherit` it, so that it starts no second process for these drives.
        """
        return self._scheduler.hand_over()

    def close(self) -> None:
        """Ends the running processes within a bounded time."""
        self._scheduler.close()

    def _must_retarget(self) -> bool:
        """True if the list of polled drives must be determined again.

        This is the case after other drives were found, or after a drive reported a new identity.
        After a new identity it is delayed, so that the identities of many drives are handled
        together.
        """
        if self._candidates_changed or self._identity_changed_at is None:
            return self._candidates_changed
        waited = self._clock.monotonic() - self._identity_changed_at
        return self.is_settled or waited >= _GATHER_SECONDS

    def _find_candidates(self) -> None:
        found, self._nodes = discovery.find_candidates(
            self._sys, self._root, self._scanner.rows, self._plan
        )
        self._candidates = {candidate.address: candidate for candidate in found}
        self._history.keep(self._candidates)
        self._candidates_changed = True

    def _retarget(self) -> None:
        """Sets the drives to poll: each drive is polled at its best address only."""
        duplicates = self._history.duplicates(self._candidates)
        self._targets = tuple(
            self._target(candidate)
            for address, candidate in self._candidates.items()
            if address not in duplicates
        )
        self._scheduler.set_targets(self._targets)
        self._candidates_changed, self._identity_changed_at = False, None

    def _target(self, candidate: Candidate) -> Target:
        plan, identity = self._plan, self._history.identity(candidate.address)
        is_nvme = (identity.protocol or candidate.protocol) is Protocol.NVME
        interval = plan.nvme_interval_seconds if is_nvme else plan.interval_seconds
        return Target(
            address=candidate.address,
            adapter=candidate.adapter,
            interval_seconds=candidate.interval_seconds or interval,
            timeout_seconds=candidate.timeout_seconds or plan.timeout_seconds,
            never_kill=not smartctl.may_be_killed(candidate.address.type),
            spins=self._spins(candidate.address, identity),
        )

    def _spins(self, address: Address, identity: DriveIdentity) -> bool:
        """False if the drive is known to be an SSD.

        The drive itself reports this. Before it has, the kernel's value is used.
        """
        if identity.rotational is not None or not addressing.is_direct(address, self._nodes):
            return identity.rotational is not False
        name = address.path.removeprefix("/dev/")
        return files.read_attribute(f"{self._sys}/block/{name}/queue/rotational") != "0"

    def _receive(self, document: PollDocument) -> None:
        address = document.address
        candidate = self._candidates.get(address)
        if candidate is None:
            return
        changed = self._history.record(document, self._nodes)
        if changed and self._identity_changed_at is None:
            self._identity_changed_at = self._clock.monotonic()
        if candidate.volume and not self._history.has_answered(address):
            # The address is probably a RAID volume. Its drives have addresses of their own.
            return
        self._on_document(
            replace(
                document,
                last_success_at=self._history.last_success_at(address),
                counts=self._history.counts(address),
            )
        )

    def _send_heartbeat(self) -> None:
        self._next_heartbeat = self._clock.monotonic() + self._heartbeat_seconds
        names, self._device_names = self._device_names, discovery.device_names(self._sys)
        if names != self._device_names:
            self.rescan_soon()
        now = Moment.now(self._clock)
        self._on_heartbeat(
            Heartbeat(
                at=now.unix_time,
                monotonic=now.monotonic,
                boot_id=now.boot_id,
                interval_seconds=self._heartbeat_seconds,
                scanned_at=self._scanner.at,
                drives=tuple(
                    (target.address.path, target.address.type)
                    for target in self._targets
                    if not self._candidates[target.address].volume
                    or self._history.has_answered(target.address)
                ),
                stuck=tuple((path, kind) for path, kind in self._stuck()),
                problem=self._scanner.problem,
                only_configured=tuple(
                    (target.address.path, target.address.type)
                    for target in self._targets
                    if not self._candidates[target.address].found
                ),
            )
        )

    def _stuck(self) -> Iterator[Address]:
        if self._scheduler.is_scan_stuck:
            yield Address("--scan-open")
        yield from sorted(self._scheduler.stuck)


def adopt_leftovers(children: SystemChildren, program: str) -> None:
    """Ends the smartctl processes that a killed agent or daemon has left.

    Those that cannot or must not be ended are tracked: no second process is started for their
    drives. Call it before a poller uses `children`.

    program: the path or name of smartctl.
    """
    count = leftovers.adopt(children, program, process_key, may_be_killed)
    if count:
        log.warning("%d smartctl processes of a killed exporter or agent were found", count)
