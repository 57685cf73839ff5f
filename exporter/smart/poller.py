"""What is remembered of each address between two polls: who answered there, and how the polls went.

Of it follows which addresses lead to one drive, and through which of them that is asked.

Asking all drives of a host: looks for them, asks each in its time, and passes on what they say.

The same in the agent and in a daemon that asks for itself: only the receiver differs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.clock import Clock
from exporter.drives.drive_identity import identify
from exporter.drives.fields import Fields, Json
from exporter.drives.health import DriveIdentity, Protocol
from exporter.linux import files
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs.children import Children
from exporter.smart import addressing, discovery, smartctl
from exporter.smart.addressing import Answer, distinct
from exporter.smart.discovery import Candidate, Override, Scans, Selection
from exporter.smart.poll_document import Heartbeat, PollDocument, PollResult
from exporter.smart.poll_scheduler import FinishedPoll, PollScheduler, PollSettings
from exporter.smart.poll_timing import Target
from exporter.smart.smartctl import Address, Logs

#: What of a report is worth more than a name; two addresses of one drive are weighed by it.
_LOGS = (
    "smart_status",
    "ata_smart_attributes",
    "nvme_smart_health_information_log",
    "scsi_error_counter_log",
    "scsi_percentage_used_endurance_indicator",
    "temperature",
)

#: Who a drive is, of a report.
_NAMES = (
    *("device", "model_name", "scsi_model_name", "scsi_vendor", "scsi_product", "scsi_revision"),
    *("serial_number", "wwn", "logical_unit_id", "firmware_version", "user_capacity"),
    *("nvme_total_capacity", "nvme_namespaces", "rotation_rate"),
)

_SETTLED = frozenset({PollResult.SUCCESS, PollResult.STANDBY})


@dataclass(slots=True)
class _AddressHistory:
    counts: dict[str, int] = field(default_factory=dict)
    last_success_at: float | None = None
    answer: Answer | None = None
    names: tuple[object, ...] = ()


class PollHistory:
    """Every address that was asked, as long as it stands for a drive."""

    def __init__(self) -> None:
        self._asked: dict[Address, _AddressHistory] = {}

    def __contains__(self, address: Address) -> bool:
        """Whether it was asked, whatever came of it."""
        return address in self._asked

    def keep(self, addresses: Iterable[Address]) -> None:
        """Forget all but these."""
        for gone in self._asked.keys() - set(addresses):
            del self._asked[gone]

    def note(self, poll: FinishedPoll, nodes: DeviceNodes) -> bool:
        """Take in one poll; whether somebody has answered there who was not known to be there."""
        asked = self._asked.setdefault(poll.target.address, _AddressHistory())
        result, report = poll.outcome.result, poll.outcome.report
        asked.counts[result.value] = asked.counts.get(result.value, 0) + 1
        if result is PollResult.SUCCESS:
            asked.last_success_at = poll.began_at_unix
        if report is None or result not in _SETTLED:
            return False
        return _note_answer(asked, poll.target.address, report, nodes)

    def has_answered(self, address: Address) -> bool:
        asked = self._asked.get(address)
        return asked is not None and asked.answer is not None

    def identity(self, address: Address) -> DriveIdentity:
        """Who answered there last; nobody where nobody has."""
        asked = self._asked.get(address)
        return asked.answer.identity if asked and asked.answer else DriveIdentity()

    def counts(self, address: Address) -> dict[str, int]:
        """How many polls of it ended how."""
        return dict(self._asked[address].counts)

    def last_success_at(self, address: Address) -> float | None:
        """When the last poll began that succeeded, in seconds of Unix time."""
        return self._asked[address].last_success_at

    def hidden(self, addresses: Iterable[Address]) -> set[Address]:
        """Those whose drive has a better address."""
        answers = [
            asked.answer
            for address in addresses
            if (asked := self._asked.get(address)) is not None and asked.answer is not None
        ]
        return {answer.address for group in distinct(answers) for answer in group[1:]}


def _note_answer(
    asked: _AddressHistory, address: Address, report: Json, nodes: DeviceNodes
) -> bool:
    # Every poll says the same of these; to make sense of them each time is a tenth of it.
    names = tuple(report.get(key) for key in _NAMES)
    if asked.answer is not None and names == asked.names:
        return False
    asked.names = names
    identity = identify(Fields(report))
    if asked.answer is not None:
        if asked.answer.identity == identity:
            return False
        if not identity.serial and not identity.wwn:
            # Asleep: it does not say who it is, and is who it was.
            return False
    asked.answer = Answer(
        address,
        identity,
        addressing.attachment_point(address, nodes),
        addressing.is_direct(address, nodes),
        sum(log in report for log in _LOGS),
    )
    return True


#: How often a receiver in another process hears that the poller lives.
HEARTBEAT_SECONDS = 15.0

#: So long it is waited while an earlier look is still under way.
_SCAN_AGAIN_SECONDS = 5.0

#: Looks that somebody asks for are so far apart: each opens all drives.
_HURRY_SECONDS = 30.0

#: At a start a thousand drives say who they are, one by one: what follows for all of them together
#: is worked out so often, and when the last one has.
_GATHER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PollingPlan:
    """What to ask and how often; the fields are those of `config.SmartSettings`.

    It is plain values: the agent is handed it without the configuration's code.
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
    """`take` gets each poll's document, `call` the list of drives whenever it changes, and so often
    that silence means that nobody polls.

    `sys` and `root` are where /sys and the / with the device nodes are. `roll_seconds`: how often
    the receiver hears that the poller lives; one in the same process need not hear it as often.
    """

    def __init__(
        self,
        children: Children,
        clock: Clock,
        plan: PollingPlan,
        *,
        sys: Path,
        root: Path,
        take: Callable[[PollDocument], None],
        call: Callable[[Heartbeat], None],
        roll_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._clock = clock
        self._sys = sys
        self._root = root
        self._plan = plan
        self._take = take
        self._call = call
        self._roll_seconds = roll_seconds
        settings = PollSettings(plan.processes, plan.processes_per_adapter)
        self._poll = PollScheduler(children, clock, plan.program, settings)
        self._selection = Selection(plan.include, plan.exclude, plan.drives, plan.overrides)
        self._nodes = DeviceNodes()
        self._scans = Scans(self._poll, clock, sys=sys, root=root)
        self._candidates: dict[Address, Candidate] = {}
        self._asked = PollHistory()
        self._targets: tuple[Target, ...] = ()
        self._next_scan = clock.monotonic()
        self._hurry_from = clock.monotonic()
        self._is_outdated = False
        self._names = discovery.device_names(sys)
        self._next_roll = clock.monotonic()
        self._changed = False
        self._learned_at: float | None = None
        self._look()

    @property
    def is_settled(self) -> bool:
        """A look has ended, and every drive that it found has been asked once."""
        asked = all(t.address in self._asked for t in self._targets)
        return self._scans.is_settled and asked

    @property
    def may_end(self) -> bool:
        """Whether no process of a drive would go on beyond the end of this one."""
        return self._poll.may_end

    def wake(self) -> None:
        """Let the `step` under way return soon. For other threads."""
        self._poll.wake()

    def wake_on_signals(self) -> None:
        """Let each signal do so. For the main thread, as `close` is then."""
        self._poll.wake_on_signals()

    def look_again(self) -> None:
        """Look for drives, for one has come or gone: at once what /sys shows, which opens none,
        and by a scan half a minute after the last one that was asked for so.
        """
        self._is_outdated = True
        soon = max(self._clock.monotonic(), self._hurry_from)
        if soon < self._next_scan:
            self._next_scan, self._hurry_from = soon, soon + _HURRY_SECONDS

    def step(self, timeout: float) -> None:
        """Ask who is due, and pass on what came of it; returns after `timeout` seconds or sooner.

        What the receivers raise passes through.
        """
        now = self._clock.monotonic()
        if self._is_outdated:
            self._is_outdated = False
            self._look()
            timeout = 0.0
        if now >= self._next_scan:
            begun = self._scans.begin()
            self._next_scan = now + (self._plan.rescan_seconds if begun else _SCAN_AGAIN_SECONDS)
        until = min(now + timeout, self._next_roll, self._next_scan)
        if self._learned_at is not None:
            until = min(until, self._learned_at + _GATHER_SECONDS)
        for poll in self._poll.step(max(0.0, until - now)):
            self._finish(poll)
        scan = self._poll.take_scan()
        if scan is not None:
            self._scans.take(scan)
            self._look()
        if self._has_news():
            self._retarget()
            self._call_roll()
        elif self._clock.monotonic() >= self._next_roll:
            self._call_roll()

    def inherit(self, children: Children) -> None:
        """Go on with what an earlier one handed over. To be called before the first `step`."""
        self._poll.inherit(children)

    def hand_over(self) -> Children:
        """End what runs, within a bounded time.

        Who asks these drives next must `inherit` what is returned: it knows the processes that
        may not be killed or cannot be, and no second one is started for their drives.
        """
        return self._poll.hand_over()

    def close(self) -> None:
        """End what runs, within a bounded time."""
        self._poll.close()

    def _has_news(self) -> bool:
        """There are other drives, or of these another one has said who it is."""
        if self._changed or self._learned_at is None:
            return self._changed
        return self.is_settled or self._clock.monotonic() - self._learned_at >= _GATHER_SECONDS

    def _look(self) -> None:
        found, self._nodes = discovery.look(
            self._sys, self._root, self._scans.rows, self._selection
        )
        self._candidates = {each.address: each for each in found}
        self._asked.keep(self._candidates)
        self._changed = True

    def _retarget(self) -> None:
        """Ask each drive through its best address."""
        hidden = self._asked.hidden(self._candidates)
        self._targets = tuple(
            self._target(each)
            for address, each in self._candidates.items()
            if address not in hidden
        )
        self._poll.set_targets(self._targets)
        self._changed, self._learned_at = False, None

    def _target(self, candidate: Candidate) -> Target:
        plan, who = self._plan, self._asked.identity(candidate.address)
        is_nvme = (who.protocol or candidate.protocol) is Protocol.NVME
        usual = plan.nvme_interval_seconds if is_nvme else plan.interval_seconds
        return Target(
            address=candidate.address,
            adapter=candidate.adapter,
            interval_seconds=candidate.interval_seconds or usual,
            timeout_seconds=candidate.timeout_seconds or plan.timeout_seconds,
            never_kill=not smartctl.may_be_killed(candidate.address.type),
            spins=self._spins(candidate.address, who),
        )

    def _spins(self, address: Address, who: DriveIdentity) -> bool:
        """False where the drive, or before it has answered the kernel, says that it is an SSD."""
        if who.rotational is not None or not addressing.is_direct(address, self._nodes):
            return who.rotational is not False
        name = address.path.removeprefix("/dev/")
        return files.read_attribute(f"{self._sys}/block/{name}/queue/rotational") != "0"

    def _finish(self, poll: FinishedPoll) -> None:
        address = poll.target.address
        candidate = self._candidates.get(address)
        if candidate is None:
            return
        if self._asked.note(poll, self._nodes) and self._learned_at is None:
            self._learned_at = self._clock.monotonic()
        result, report = poll.outcome.result, poll.outcome.report
        if candidate.volume and not self._asked.has_answered(address):
            # The drives under a RAID volume have addresses of their own.
            return
        self._take(
            PollDocument(
                path=address.path,
                type=address.type,
                result=result.value,
                began_at=poll.began_at_unix,
                seconds=poll.finished.seconds,
                interval_seconds=poll.target.interval_seconds,
                exit_status=poll.finished.status,
                is_daily=poll.logs is Logs.DAILY,
                message=poll.outcome.message,
                last_success_at=self._asked.last_success_at(address),
                counts=self._asked.counts(address),
                report=report or {},
            )
        )

    def _call_roll(self) -> None:
        self._next_roll = self._clock.monotonic() + self._roll_seconds
        names, self._names = self._names, discovery.device_names(self._sys)
        if names != self._names:
            self.look_again()
        self._call(
            Heartbeat(
                at=self._clock.wall(),
                interval_seconds=self._roll_seconds,
                scanned_at=self._scans.at,
                drives=tuple(
                    (target.address.path, target.address.type)
                    for target in self._targets
                    if not self._candidates[target.address].volume
                    or self._asked.has_answered(target.address)
                ),
                stuck=tuple((path, kind) for path, kind in self._stuck()),
                problem=self._scans.problem,
            )
        )

    def _stuck(self) -> Iterator[Address]:
        if self._poll.is_scan_stuck:
            yield Address("--scan-open")
        yield from sorted(self._poll.stuck)
