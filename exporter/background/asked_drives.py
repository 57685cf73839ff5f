"""What is remembered of each address between two polls: who answered there, and how the polls went.

Of it follows which addresses lead to one drive, and through which of them that is asked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.background import addressing
from exporter.background.same_drive import Answer, distinct
from exporter.background.smart_poll import Poll
from exporter.drives.fields import Fields, Json
from exporter.drives.health import DriveIdentity
from exporter.drives.identity import identify
from exporter.linux.nodes import Nodes
from exporter.tools.outcome import Result
from exporter.tools.smartctl import Address

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

_SETTLED = frozenset({Result.SUCCESS, Result.STANDBY})


@dataclass(slots=True)
class _Asked:
    counts: dict[str, int] = field(default_factory=dict)
    last_success_at: float | None = None
    answer: Answer | None = None
    names: tuple[object, ...] = ()


class AskedDrives:
    """Every address that was asked, as long as it stands for a drive."""

    def __init__(self) -> None:
        self._asked: dict[Address, _Asked] = {}

    def __contains__(self, address: Address) -> bool:
        """Whether it was asked, whatever came of it."""
        return address in self._asked

    def keep(self, addresses: Iterable[Address]) -> None:
        """Forget all but these."""
        for gone in self._asked.keys() - set(addresses):
            del self._asked[gone]

    def note(self, poll: Poll, nodes: Nodes) -> bool:
        """Take in one poll; whether somebody has answered there who was not known to be there."""
        asked = self._asked.setdefault(poll.target.address, _Asked())
        result, report = poll.outcome.result, poll.outcome.report
        asked.counts[result.value] = asked.counts.get(result.value, 0) + 1
        if result is Result.SUCCESS:
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


def _note_answer(asked: _Asked, address: Address, report: Json, nodes: Nodes) -> bool:
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
        addressing.seat(address, nodes),
        addressing.is_direct(address, nodes),
        sum(log in report for log in _LOGS),
    )
    return True
