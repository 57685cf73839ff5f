"""Keeps the state of one drive: its identity, its health, and earlier values.

The state is built from poll documents. A poll document is the result of one poll. A value that a
document lacks is taken from an earlier document. Once a day, a poll also reads the error and
self-test logs. It is called the daily poll.
"""

from dataclasses import replace

from exporter.drives import firmware, smart_report
from exporter.drives.assessment.continuity import Continuity
from exporter.drives.drive_identity import identity_key, is_same_identity
from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity, Endurance, RejectedValue, UnitSource
from exporter.drives.wear_counter import WearObservation
from exporter.drives.written_bytes import unit_matches_kernel
from exporter.linux.device_identity import DeviceIdentity
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_result import PollResult

#: Values that only daily polls report are used for this time, in seconds.
_DAILY_SECONDS = 2 * 86_400.0

#: Fields of `DriveHealth` that only daily polls report.
_DAILY_FIELDS = ("self_test", "error_log_entries", "interface_errors")

#: The bits of smartctl's exit status for error log entries and self-test errors: the last two of
#: `poll_document.EXIT_BITS`.
_DAILY_EXIT_BITS = 0b1100_0000

_ANSWERS = (PollResult.SUCCESS.value, PollResult.STANDBY.value)

#: Results of polls that did not reach the drive.
_NOT_REACHED = (
    PollResult.NOT_STARTED.value,
    PollResult.TOO_OLD.value,
    PollResult.REFUSED.value,
    PollResult.BAD_REQUEST.value,
)


#: The temperatures for a warning and a critical warning in °C; None: unknown.
_Limits = tuple[float | None, float | None]
_NO_LIMITS: _Limits = None, None


class DriveRecord:
    """The state of the drive at one address.

    document: the last poll document, without the report.
    identity: the identity that the drive last reported; empty before it has answered.
    health: the health in the last answer; None before the first answer.
    firmware_issues: the known firmware defects of the drive.
    """

    __slots__ = (
        "_answer_began",
        "_continuity",
        "_daily",
        "_daily_began",
        "_growth_since",
        "_is_unit_wrong",
        "_limited",
        "document",
        "firmware_issues",
        "health",
        "identity",
    )

    def __init__(self, document: PollDocument) -> None:
        self.document = replace(document, report={})
        self.identity = DriveIdentity()
        self.health: DriveHealth | None = None
        self._answer_began: Moment | None = None
        self.firmware_issues: tuple[FirmwareIssue, ...] = ()
        self._daily: DriveHealth | None = None
        self._daily_began = document.began
        self._growth_since: tuple[Moment, int, int] | None = None
        self._is_unit_wrong = False
        self._limited: tuple[DriveHealth, _Limits, DriveHealth] | None = None
        self._continuity = Continuity()

    @property
    def answered_at(self) -> float | None:
        """The start of the last poll that was answered, in seconds of Unix time.

        None before the first answer. A drive in standby counts as answering.
        """
        return None if self._answer_began is None else self._answer_began.unix_time

    @property
    def answers(self) -> bool:
        """True if the drive answered the last poll. A drive in standby counts as answering."""
        return self.document.result in _ANSWERS

    @property
    def was_reached(self) -> bool:
        """True if the last poll reached the drive: smartctl ran and was permitted to open it."""
        return self.document.result not in _NOT_REACHED

    @property
    def is_nameless(self) -> bool:
        """True if the drive has answered, and its answer contains neither WWN nor serial number."""
        return self.answered_at is not None and identity_key(self.identity) is None

    def was_polled(self, now: Moment, max_age_intervals: float) -> bool:
        """True if the last poll is not older than the maximum age.

        max_age_intervals: the maximum age in poll intervals.
        """
        return self._is_recent(self.document.began, now, max_age_intervals)

    def is_fresh(self, now: Moment, max_age_intervals: float) -> bool:
        """True if the health is not older than the maximum age.

        max_age_intervals: the maximum age in poll intervals.
        """
        at = self._answer_began
        return at is not None and self._is_recent(at, now, max_age_intervals)

    def _is_recent(self, then: Moment, now: Moment, max_age_intervals: float) -> bool:
        # The age is negative if it is the difference of Unix times and the clock was set back.
        interval = max(self.document.interval_seconds, 60.0)
        return abs(now.seconds_since(then)) <= max_age_intervals * interval

    @property
    def has_log_data(self) -> bool:
        """True if a daily poll of this drive has succeeded."""
        return self._daily is not None

    def is_ahead_of(self, document: PollDocument, now: Moment) -> bool:
        """True if the last document is newer than this one.

        A last document with a date in the future does not count: a clock that was ahead has dated
        it.
        """
        last = self.document.began
        return document.began.seconds_since(last) < 0 <= now.seconds_since(last)

    def record_logs(self, document: PollDocument) -> None:
        """Updates the error and self-test logs with a daily poll that is older than the last poll.

        Its file may have been unreadable when the last poll was recorded.
        """
        is_usable = document.is_daily and document.result == PollResult.SUCCESS.value
        if self._daily is not None or not is_usable or self.health is None:
            return
        found = smart_report.parse_report(document.report)
        began = self.document.began.seconds_since(document.began)
        if found.health.unreadable or _is_other_drive(self.identity, found.identity):
            return
        self._daily, self._daily_began = found.health, document.began
        if began <= _DAILY_SECONDS:
            self.health = _completed(self.health, found.health)

    def record(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        """Updates the state with the result of one poll.

        kernel_written_bytes: the bytes that the kernel has written to the drive since the device
            appeared. None means unknown.
        """
        # The report is dropped. It takes ten times the memory of the values that are kept.
        self.document = replace(document, report={})
        if document.result == PollResult.SUCCESS.value:
            self._answered(document, kernel_written_bytes)
        elif document.result == PollResult.STANDBY.value:
            self._slept(document)

    def with_kernel_limits(self, kernel: DeviceIdentity | None) -> DriveHealth | None:
        """Returns the health, with the kernel's temperature limits if smartctl reports none.

        smartctl before 7.4 does not report the limits. Until the health or a limit changes, the
        result is the same object, because each scrape asks for it.
        """
        health = self.health
        if health is None or kernel is None or _limits(health) != _NO_LIMITS:
            return health
        limits = _limits(kernel)
        if limits == _NO_LIMITS:
            return health
        known = self._limited
        if known is None or known[0] is not health or known[1] != limits:
            warning, critical = limits
            limited = replace(
                health, temperature_warning_celsius=warning, temperature_critical_celsius=critical
            )
            known = self._limited = health, limits, limited
        return known[2]

    def wear(self) -> WearObservation | None:
        """Returns the wear in the last answer; None if the drive does not report any."""
        health, at = self.health, self.answered_at
        if health is None or at is None:
            return None
        worn, written, nand = health.endurance, health.host_written, health.nand_written
        if worn is None and written is None:
            return None
        return WearObservation(
            at,
            health.power_on_seconds,
            _recorded_ratio(worn) if worn else None,
            worn.step_ratio if worn else None,
            written.bytes if written else None,
            nand.bytes if nand else None,
        )

    def _reset(self) -> None:
        """Drops the earlier values, because another drive is now at the address."""
        self._daily, self._growth_since, self._is_unit_wrong = None, None, False
        self._continuity = Continuity()

    def _answered(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        found = smart_report.parse_report(document.report, self.health)
        identity = _continued(self.identity, found.identity)
        if _is_other_drive(self.identity, identity):
            self._reset()
            # Values of the drive before are compared with none of this one.
            found = smart_report.parse_report(document.report)
        began = document.began
        health = self._continuity.checked(found.health, document.began_at)
        if health.invalid_log and health.unreadable:
            pass  # Values of earlier reports do not belong to a report of which none is used.
        elif document.is_daily:
            self._daily, self._daily_began = health, began
        elif self._daily and began.seconds_since(self._daily_began) <= _DAILY_SECONDS:
            health = _completed(health, self._daily)
        self.identity, self._answer_began = identity, began
        self.health = self._checked(health, began, kernel_written_bytes)
        if not health.unreadable:
            # Without the power-on time, the remaining time of a defect is unknown.
            self.firmware_issues = firmware.firmware_issues(identity, health)

    def _slept(self, document: PollDocument) -> None:
        """Records that the drive is in standby. The counters are kept, the temperatures dropped."""
        if self.health is None:
            if self.identity == DriveIdentity():
                self.identity = smart_report.parse_report(document.report).identity
            self.health = DriveHealth(power_mode="standby")
        else:
            self.health = replace(self.health, power_mode="standby", temperatures={})
        self._answer_began = document.began

    def _checked(self, health: DriveHealth, at: Moment, kernel: int | None) -> DriveHealth:
        """Returns the health, without its byte counts if their unit is wrong.

        The unit of these counters differs between drives and may have been guessed wrongly. The
        growth of the drive's counter is compared with the growth of the kernel's counter.

        at: when the health was read.
        kernel: the bytes that the kernel has written to the drive; None means unknown.
        """
        written = health.host_written
        if written is None or written.source is UnitSource.STANDARD:
            return health
        if kernel is not None:
            since = self._growth_since
            if since is None or kernel < since[2] or at.seconds_since(since[0]) < 0:
                since = self._growth_since = (at, written.bytes, kernel)
            then, smart_then, kernel_then = since
            seconds = at.seconds_since(then)
            verdict = unit_matches_kernel(
                written.bytes - smart_then, written.unit_bytes, kernel - kernel_then, seconds
            )
            if verdict is not None:
                self._is_unit_wrong = not verdict
        if self._is_unit_wrong:
            reason = "the kernel has written another number of bytes, so its unit is wrong"
            rejected = RejectedValue(
                "host_written_bytes_total", float(written.bytes), written.rule, reason
            )
            return replace(
                health,
                host_written=None,
                host_read=None,
                nand_written=None,
                rejected=(*health.rejected, rejected),
            )
        return health


def _limits(of: DriveHealth | DeviceIdentity) -> _Limits:
    return of.temperature_warning_celsius, of.temperature_critical_celsius


def _is_other_drive(before: DriveIdentity, now: DriveIdentity) -> bool:
    """True if the identities name two drives. Drives without any name count as one drive."""
    has_name = identity_key(before) is not None or identity_key(now) is not None
    return has_name and not is_same_identity(before, now)


def _continued(before: DriveIdentity, now: DriveIdentity) -> DriveIdentity:
    """Returns the identity of a drive after a poll: the new one, or the old one if it is better.

    The old one is kept if the new one has no key (see `identity_key`) and does not name another
    model: a drive that reports less than before is taken for the same drive.
    """
    is_less = identity_key(now) is None and identity_key(before) is not None
    return before if is_less and now.model in (None, before.model) else now


def _completed(health: DriveHealth, daily: DriveHealth) -> DriveHealth:
    missing = {
        name: value
        for name in _DAILY_FIELDS
        if getattr(health, name) is None and (value := getattr(daily, name)) is not None
    }
    # smartctl sets these bits only if it reads the logs of a daily poll.
    exit_status = health.exit_status | daily.exit_status & _DAILY_EXIT_BITS
    if not missing and exit_status == health.exit_status:
        return health
    return replace(health, exit_status=exit_status, **missing)


def _recorded_ratio(worn: Endurance) -> float:
    """Returns the wear for the history.

    A gauge that has stopped at the end of its scale counts as 1, the rated endurance. Otherwise a
    date would be estimated from its standstill.
    """
    return max(worn.used_ratio, 1.0) if worn.is_lower_bound else worn.used_ratio
