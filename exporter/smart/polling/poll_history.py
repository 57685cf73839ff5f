"""Records the polls of each address, and decides which of the addresses of one drive is polled."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.drives.drive_identity import DriveIdentity, identify
from exporter.drives.fields import Fields, Json
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.addressing import Answer, deduplicated
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.smartctl import Address

#: Parts of smartctl's report that contain health data. If a drive has two addresses, the one whose
#: report has more of these parts is polled.
_HEALTH_LOGS = (
    "smart_status",
    "ata_smart_attributes",
    "nvme_smart_health_information_log",
    "scsi_error_counter_log",
    "scsi_percentage_used_endurance_indicator",
    "temperature",
)


#: Parts of smartctl's report from which the drive's identity is parsed.
_IDENTITY_KEYS = (
    *("device", "model_name", "scsi_model_name", "scsi_vendor", "scsi_product", "scsi_revision"),
    *("serial_number", "wwn", "logical_unit_id", "firmware_version", "user_capacity"),
    *("nvme_total_capacity", "nvme_namespaces", "rotation_rate"),
)


@dataclass(slots=True)
class _AddressHistory:
    """The poll results of one address.

    counts: the number of polls, keyed by result.
    last_success_at: the start of the last successful poll, in seconds of Unix time; None means that
        there was none.
    answer: the identity that last answered; None means that no drive has answered.
    identity_values: the parts of the last report from which the identity was parsed.
    """

    counts: dict[str, int] = field(default_factory=dict)
    last_success_at: float | None = None
    answer: Answer | None = None
    identity_values: tuple[object, ...] = ()


class PollHistory:
    """The poll results and the identity of each polled address.

    They show which addresses lead to the same drive, and which of them is the best one to poll.
    """

    def __init__(self) -> None:
        self._addresses: dict[Address, _AddressHistory] = {}

    def __contains__(self, address: Address) -> bool:
        """True if the address was polled, with any result."""
        return address in self._addresses

    def keep(self, addresses: Iterable[Address]) -> None:
        """Drops the results of all addresses that are not in `addresses`."""
        for gone in self._addresses.keys() - set(addresses):
            del self._addresses[gone]

    def record(self, document: PollDocument, nodes: DeviceNodes) -> bool:
        """Records a poll. Returns True if another identity than before answered at the address."""
        history = self._addresses.setdefault(document.address, _AddressHistory())
        history.counts[document.result] = history.counts.get(document.result, 0) + 1
        if document.result == PollResult.SUCCESS:
            history.last_success_at = document.began_at
        elif document.result != PollResult.STANDBY:
            return False
        return _record_answer(history, document.address, document.report, nodes)

    def has_answered(self, address: Address) -> bool:
        """True if a drive has answered at the address."""
        history = self._addresses.get(address)
        return history is not None and history.answer is not None

    def identity(self, address: Address) -> DriveIdentity:
        """Returns the identity that last answered at the address; empty if none has answered."""
        history = self._addresses.get(address)
        return history.answer.identity if history and history.answer else DriveIdentity()

    def counts(self, address: Address) -> dict[str, int]:
        """Returns the number of polls of the address, keyed by result."""
        return dict(self._addresses[address].counts)

    def last_success_at(self, address: Address) -> float | None:
        """Returns the start of the last successful poll in Unix seconds; None if there was none."""
        return self._addresses[address].last_success_at

    def duplicates(self, addresses: Iterable[Address]) -> set[Address]:
        """Returns the addresses whose drive another of these addresses reaches better."""
        answers = [
            history.answer
            for address in addresses
            if (history := self._addresses.get(address)) is not None and history.answer is not None
        ]
        return {answer.address for group in deduplicated(answers) for answer in group[1:]}


def _record_answer(
    history: _AddressHistory, address: Address, report: Json, nodes: DeviceNodes
) -> bool:
    # Most polls report the same values. To parse them each time would take a tenth of the CPU time
    # of a poll.
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
