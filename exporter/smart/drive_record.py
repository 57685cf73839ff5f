"""What the documents of one address have told of the drive there."""

from dataclasses import replace

from exporter.drives import firmware, smart_report
from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity, UnitSource
from exporter.drives.wear_counter import WearObservation
from exporter.drives.written_bytes import unit_matches_kernel
from exporter.smart.addressing import usable_wwn
from exporter.smart.poll_document import PollDocument, PollResult

#: What only the daily set tells is believed for so long.
_DAILY_SECONDS = 2 * 86_400.0

#: What the daily set alone asks for.
_DAILY_FIELDS = ("self_test", "error_log_entries", "interface_errors")

#: Error log entries, self-test errors: the last two of `outcome.EXIT_BITS`.
_DAILY_EXIT_BITS = 0b1100_0000

_ANSWERS = (PollResult.SUCCESS.value, PollResult.STANDBY.value)

#: The drive is not to blame for these: it has never heard of the question.
_NOT_ASKED = (
    PollResult.NOT_STARTED.value,
    PollResult.TOO_OLD.value,
    PollResult.REFUSED.value,
    PollResult.BAD_REQUEST.value,
)


class DriveRecord:
    """One address: its last document but for the report, and what is known from all."""

    __slots__ = (
        "_daily",
        "_daily_at",
        "_growth_since",
        "_is_unit_wrong",
        "answered_at",
        "document",
        "firmware_issues",
        "health",
        "identity",
    )

    def __init__(self, document: PollDocument) -> None:
        self.document = replace(document, report={})
        self.identity = DriveIdentity()
        self.health: DriveHealth | None = None
        self.answered_at: float | None = None
        self.firmware_issues: tuple[FirmwareIssue, ...] = ()
        self._daily: DriveHealth | None = None
        self._daily_at = 0.0
        self._growth_since: tuple[float, int, int] | None = None
        self._is_unit_wrong = False

    @property
    def answers(self) -> bool:
        """Whether the last poll had an answer."""
        return self.document.result in _ANSWERS

    @property
    def was_reached(self) -> bool:
        """Whether the last poll got as far as the drive."""
        return self.document.result not in _NOT_ASKED

    @property
    def has_log_data(self) -> bool:
        """Whether a daily set was read of this drive."""
        return self._daily is not None

    def record(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        """Take in one poll.

        kernel_written_bytes: what the kernel has written to the drive since it appeared; None if
        that is not known.
        """
        # The report takes ten times the room of what is kept of it.
        self.document = replace(document, report={})
        if document.result == PollResult.SUCCESS.value:
            self._answered(document, kernel_written_bytes)
        elif document.result == PollResult.STANDBY.value:
            self._slept(document)

    def wear(self) -> WearObservation | None:
        """What the last answer says of wear; None where it says nothing."""
        health, at = self.health, self.answered_at
        if health is None or at is None:
            return None
        worn, written, nand = health.endurance, health.host_written, health.nand_written
        if worn is None and written is None:
            return None
        return WearObservation(
            at,
            health.power_on_seconds,
            worn.used_ratio if worn else None,
            worn.step_ratio if worn else None,
            written.bytes if written else None,
            nand.bytes if nand else None,
        )

    def _begin_anew(self) -> None:
        """Another drive in the same place has no past here."""
        self._daily, self._daily_at = None, 0.0
        self._growth_since, self._is_unit_wrong = None, False

    def _answered(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        found = smart_report.parse_report(document.report)
        who = _continued(self.identity, found.identity)
        if key_of(who) != key_of(self.identity):
            self._begin_anew()
        health, at = found.health, document.began_at
        if document.is_daily:
            self._daily, self._daily_at = health, at
        elif self._daily is not None and at - self._daily_at <= _DAILY_SECONDS:
            health = _completed(health, self._daily)
        self.identity, self.answered_at = who, at
        self.health = self._checked(health, at, kernel_written_bytes)
        self.firmware_issues = firmware.firmware_issues(who, health)

    def _slept(self, document: PollDocument) -> None:
        """It is in standby: what it counts stands still, and its temperature nobody knows."""
        if self.health is None:
            if self.identity == DriveIdentity():
                self.identity = smart_report.parse_report(document.report).identity
            self.health = DriveHealth(power_mode="standby")
        else:
            self.health = replace(self.health, power_mode="standby", temperatures={})
        self.answered_at = document.began_at

    def _checked(self, health: DriveHealth, at: float, kernel: int | None) -> DriveHealth:
        """Without byte counts whose unit the kernel's own count has proven wrong."""
        written = health.host_written
        if written is None or written.source is UnitSource.STANDARD:
            return health
        if kernel is not None:
            since = self._growth_since
            if since is None or kernel < since[2] or at < since[0]:
                since = self._growth_since = (at, written.bytes, kernel)
            then, smart_then, kernel_then = since
            verdict = unit_matches_kernel(
                written.bytes - smart_then, written.unit_bytes, kernel - kernel_then, at - then
            )
            if verdict is not None:
                self._is_unit_wrong = not verdict
        if self._is_unit_wrong:
            return replace(health, host_written=None, host_read=None, nand_written=None)
        return health


def key_of(who: DriveIdentity) -> str | None:
    """What a drive is known by for its life; None where it does not say who it is."""
    return usable_wwn(who.wwn) or (f"{who.model or ''} {who.serial}" if who.serial else None)


def _continued(before: DriveIdentity, now: DriveIdentity) -> DriveIdentity:
    """Who a drive is: one that does not say it is who it was, unless the model differs."""
    if key_of(now) is None and key_of(before) is not None and now.model in (None, before.model):
        return before
    return now


def _completed(health: DriveHealth, daily: DriveHealth) -> DriveHealth:
    missing = {
        name: getattr(daily, name) for name in _DAILY_FIELDS if getattr(health, name) is None
    }
    # Without the daily logs smartctl cannot tell whether these have entries.
    exit_status = health.exit_status | daily.exit_status & _DAILY_EXIT_BITS
    return replace(health, exit_status=exit_status, **missing)
