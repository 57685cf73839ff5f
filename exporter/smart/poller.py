"""Polls all drives of a host: scans for drives, polls each, and passes on the poll documents.

The agent and a daemon that runs smartctl itself use the same poller. Only the receiver of the
documents differs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.drives.drive_identity import identify
from exporter.drives.fields import Fields, Json
from exporter.drives.health import DriveIdentity, Protocol
from exporter.linux import files
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs.children import Children
from exporter.smart import addressing, discovery, smartctl
from exporter.smart.addressing import Answer, deduplicated
from exporter.smart.discovery import Candidate, Override, Scanner, Selection
from exporter.smart.poll_document import Heartbeat, PollDocument, PollResult
from exporter.smart.poll_scheduler import PollScheduler, PollSettings
from exporter.smart.poll_timing import Target
from exporter.smart.smartctl import Address

#: Interval of the heartbeat for a receiver in another process.
HEARTBEAT_SECONDS = 15.0

#: A scan is retried after this time if the last one still runs.
_SCAN_RETRY_SECONDS = 5.0

#: The shortest time between two scans that `rescan_soon` asks for: a scan opens every drive.
_MIN_SCAN_INTERVAL_SECONDS = 30.0

#: After a start a thousand drives report their identity one by one. The best addresses are worked
#: out at this interval, and again after the last drive.
_GATHER_SECONDS = 1.0

#: Parts of a report that hold health data. Of two addresses of one drive the one whose report has
#: more of them is polled.
_HEALTH_LOGS = (
    "smart_status",
    "ata_smart_attributes",
    "nvme_smart_health_information_log",
    "scsi_error_counter_log",
    "scsi_percentage_used_endurance_indicator",
    "temperature",
)

#: Parts of a report from which the drive's identity is parsed.
_IDENTITY_KEYS = (
    *("device", "model_name", "scsi_model_name", "scsi_vendor", "scsi_product", "scsi_revision"),
    *("serial_number", "wwn", "logical_unit_id", "firmware_version", "user_capacity"),
    *("nvme_total_capacity", "nvme_namespaces", "rotation_rate"),
)


@dataclass(frozen=True, slots=True)
class PollingPlan:
    """Which drives to poll and how often. The fields are those of `config.SmartSettings`.

    The record does not depend on the configuration's code, which the agent does not import.
    """

    program: str = "smartctl"
    nvme_interval_seconds: float = 60.0
    interval_seconds: float = 900.0
    timeout_seconds: float = 30.0
    processes: int = 8
    processes_per_adapter: int = 4
    rescan_seconds: float = 600.0
    include: str = ""
    exclude: str = ""
    drives: tuple[tuple[str, str], ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)


class Poller:
    """Passes each poll document to `on_document` and the list of drives to `on_heartbeat`.

    The heartbeat is sent when the list changes, and at least every `heartbeat_seconds`, so that a
    longer silence means that the poller has ended.

    sys, root: where /sys and the / with the device nodes are.
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
        settings = PollSettings(plan.processes, plan.processes_per_adapter)
        self._scheduler = PollScheduler(children, clock, plan.program, settings)
        self._selection = Selection(plan.include, plan.exclude, plan.drives, plan.overrides)
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
        """Whether a scan has ended and each drive that it found was polled once."""
        polled = all(target.address in self._history for target in self._targets)
        return self._scanner.is_settled and polled

    def wake(self) -> None:
        """Make the current `step` return soon. For other threads."""
        self._scheduler.wake()

    def wake_on_signals(self) -> None:
        """Make each signal wake `step`. For the main thread, also for `hand_over` and `close`."""
        self._scheduler.wake_on_signals()

    def rescan_soon(self) -> None:
        """Look for drives after one was added or removed.

        /sys is read at once. The scan, which opens every drive, follows at most every 30 seconds.
        """
        self._is_outdated = True
        soon = max(self._clock.monotonic(), self._earliest_requested_scan)
        if soon < self._next_scan:
            self._next_scan = soon
            self._earliest_requested_scan = soon + _MIN_SCAN_INTERVAL_SECONDS

    def step(self, timeout: float) -> None:
        """Poll the drives that are due and pass on the documents.

        Returns after `timeout` seconds or sooner. Exceptions of the receivers are not caught.
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
            self._find_candidates()
        if self._must_retarget():
            self._retarget()
            self._send_heartbeat()
        elif self._clock.monotonic() >= self._next_heartbeat:
            self._send_heartbeat()

    def inherit(self, children: Children) -> None:
        """Take over the processes that an earlier poller handed over. Call it before `step`."""
        self._scheduler.inherit(children)

    def hand_over(self) -> Children:
        """End the running processes within a bounded time.

        The next poller of these drives must `inherit` the children that are returned. They hold
        the processes that may not be killed or cannot be, and no second one is started for their
        drives.
        """
        return self._scheduler.hand_over()

    def close(self) -> None:
        """End the running processes within a bounded time."""
        self._scheduler.close()

    def _must_retarget(self) -> bool:
        """Whether there are other candidates, or a drive has reported a new identity."""
        if self._candidates_changed or self._identity_changed_at is None:
            return self._candidates_changed
        waited = self._clock.monotonic() - self._identity_changed_at
        return self.is_settled or waited >= _GATHER_SECONDS

    def _find_candidates(self) -> None:
        found, self._nodes = discovery.find_candidates(
            self._sys, self._root, self._scanner.rows, self._selection
        )
        self._candidates = {candidate.address: candidate for candidate in found}
        self._history.keep(self._candidates)
        self._candidates_changed = True

    def _retarget(self) -> None:
        """Poll each drive through its best address."""
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
        """False if the drive, or before its first poll the kernel, reports an SSD."""
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
            # The drives of a RAID volume have addresses of their own.
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
        self._on_heartbeat(
            Heartbeat(
                at=self._clock.wall(),
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
            )
        )

    def _stuck(self) -> Iterator[Address]:
        if self._scheduler.is_scan_stuck:
            yield Address("--scan-open")
        yield from sorted(self._scheduler.stuck)


@dataclass(slots=True)
class _AddressHistory:
    """counts: polls by result. identity_values: the values of `_IDENTITY_KEYS` of the answer."""

    counts: dict[str, int] = field(default_factory=dict)
    last_success_at: float | None = None
    answer: Answer | None = None
    identity_values: tuple[object, ...] = ()


class PollHistory:
    """The results and the identity of each polled address between two polls.

    It determines which addresses lead to one drive, and through which of them it is polled.
    """

    def __init__(self) -> None:
        self._addresses: dict[Address, _AddressHistory] = {}

    def __contains__(self, address: Address) -> bool:
        """Whether the address was polled, with any result."""
        return address in self._addresses

    def keep(self, addresses: Iterable[Address]) -> None:
        """Drop all other addresses."""
        for gone in self._addresses.keys() - set(addresses):
            del self._addresses[gone]

    def record(self, document: PollDocument, nodes: DeviceNodes) -> bool:
        """Record a poll; True if another identity than before answered at its address."""
        history = self._addresses.setdefault(document.address, _AddressHistory())
        history.counts[document.result] = history.counts.get(document.result, 0) + 1
        if document.result == PollResult.SUCCESS:
            history.last_success_at = document.began_at
        elif document.result != PollResult.STANDBY:
            return False
        return _record_answer(history, document.address, document.report, nodes)

    def has_answered(self, address: Address) -> bool:
        """Whether a drive has answered at the address."""
        history = self._addresses.get(address)
        return history is not None and history.answer is not None

    def identity(self, address: Address) -> DriveIdentity:
        """The identity that last answered at the address; empty if none has."""
        history = self._addresses.get(address)
        return history.answer.identity if history and history.answer else DriveIdentity()

    def counts(self, address: Address) -> dict[str, int]:
        """The number of polls of the address, by result."""
        return dict(self._addresses[address].counts)

    def last_success_at(self, address: Address) -> float | None:
        """Start of the last successful poll, in seconds of Unix time."""
        return self._addresses[address].last_success_at

    def duplicates(self, addresses: Iterable[Address]) -> set[Address]:
        """The addresses whose drive has a better address."""
        answers = [
            history.answer
            for address in addresses
            if (history := self._addresses.get(address)) is not None and history.answer is not None
        ]
        return {answer.address for group in deduplicated(answers) for answer in group[1:]}


def _record_answer(
    history: _AddressHistory, address: Address, report: Json, nodes: DeviceNodes
) -> bool:
    # Every poll reports the same values. Parsing them each time would be a tenth of its CPU time.
    values = tuple(report.get(key) for key in _IDENTITY_KEYS)
    if history.answer is not None and values == history.identity_values:
        return False
    history.identity_values = values
    identity = identify(Fields(report))
    if history.answer is not None:
        if history.answer.identity == identity:
            return False
        if not identity.serial and not identity.wwn:
            # A drive in standby reports no identity. It is taken for the same drive.
            return False
    history.answer = Answer(
        address,
        identity,
        addressing.attachment_point(address, nodes),
        is_direct=addressing.is_direct(address, nodes),
        weight=sum(log in report for log in _HEALTH_LOGS),
    )
    return True
