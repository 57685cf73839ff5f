"""The state of one drive from its poll documents: identity, health, and the past that they need.

An identity is parsed once, by `drives.drive_identity.identify`. What a drive leaves out is
completed here, from its earlier documents, the kernel and the inventory.
"""

from dataclasses import replace

from exporter.drives import firmware, smart_report
from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity, UnitSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wear_counter import WearObservation
from exporter.drives.written_bytes import unit_matches_kernel
from exporter.linux.device_identity import DeviceIdentity
from exporter.smart.addressing import usable_wwn
from exporter.smart.inventory import KnownDrive
from exporter.smart.poll_document import PollDocument, PollResult
from exporter.smart.smartctl import Address

#: Values that only daily polls report are kept for this time.
_DAILY_SECONDS = 2 * 86_400.0

#: Fields of `DriveHealth` that only daily polls report.
_DAILY_FIELDS = ("self_test", "error_log_entries", "interface_errors")

#: Error log entries and self-test errors: the last two of `poll_document.EXIT_BITS`.
_DAILY_EXIT_BITS = 0b1100_0000

_ANSWERS = (PollResult.SUCCESS.value, PollResult.STANDBY.value)

#: Results of polls that did not reach the drive.
_NOT_REACHED = (
    PollResult.NOT_STARTED.value,
    PollResult.TOO_OLD.value,
    PollResult.REFUSED.value,
    PollResult.BAD_REQUEST.value,
)


class DriveRecord:
    """One address: its last document without the report, and what all documents have reported."""

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
        """Whether the drive answered the last poll."""
        return self.document.result in _ANSWERS

    @property
    def was_reached(self) -> bool:
        """Whether the last poll reached the drive."""
        return self.document.result not in _NOT_REACHED

    @property
    def has_log_data(self) -> bool:
        """Whether a daily poll of this drive succeeded."""
        return self._daily is not None

    def record(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        """Record one poll.

        kernel_written_bytes: bytes that the kernel wrote to the drive since it appeared; None if
        not known.
        """
        # The report takes ten times the memory of what is kept of it.
        self.document = replace(document, report={})
        if document.result == PollResult.SUCCESS.value:
            self._answered(document, kernel_written_bytes)
        elif document.result == PollResult.STANDBY.value:
            self._slept(document)

    def wear(self) -> WearObservation | None:
        """The wear in the last answer; None if it reports none."""
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

    def _reset(self) -> None:
        """Drop the past: another drive is at the address."""
        self._daily, self._daily_at = None, 0.0
        self._growth_since, self._is_unit_wrong = None, False

    def _answered(self, document: PollDocument, kernel_written_bytes: int | None) -> None:
        found = smart_report.parse_report(document.report)
        identity = _continued(self.identity, found.identity)
        if key_of(identity) != key_of(self.identity):
            self._reset()
        health, at = found.health, document.began_at
        if document.is_daily:
            self._daily, self._daily_at = health, at
        elif self._daily is not None and at - self._daily_at <= _DAILY_SECONDS:
            health = _completed(health, self._daily)
        self.identity, self.answered_at = identity, at
        self.health = self._checked(health, at, kernel_written_bytes)
        self.firmware_issues = firmware.firmware_issues(identity, health)

    def _slept(self, document: PollDocument) -> None:
        """Standby: the counters keep their values, and the temperature is not known."""
        if self.health is None:
            if self.identity == DriveIdentity():
                self.identity = smart_report.parse_report(document.report).identity
            self.health = DriveHealth(power_mode="standby")
        else:
            self.health = replace(self.health, power_mode="standby", temperatures={})
        self.answered_at = document.began_at

    def _checked(self, health: DriveHealth, at: float, kernel: int | None) -> DriveHealth:
        """The health without byte counts whose unit the kernel's count has disproved."""
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


def key_of(identity: DriveIdentity) -> str | None:
    """The key of a drive over its life: WWN, else model and serial number; None without."""
    model, serial = identity.model or "", identity.serial
    return usable_wwn(identity.wwn) or (f"{model} {serial}" if serial else None)


def _continued(before: DriveIdentity, now: DriveIdentity) -> DriveIdentity:
    """The new identity; the old one if the new has no key and no other model."""
    if key_of(now) is None and key_of(before) is not None and now.model in (None, before.model):
        return before
    return now


def _completed(health: DriveHealth, daily: DriveHealth) -> DriveHealth:
    missing = {
        name: getattr(daily, name) for name in _DAILY_FIELDS if getattr(health, name) is None
    }
    # smartctl sets these bits only if it reads the daily logs.
    exit_status = health.exit_status | daily.exit_status & _DAILY_EXIT_BITS
    return replace(health, exit_status=exit_status, **missing)


def completed_identity(
    identity: DriveIdentity, kernel: DeviceIdentity | None, known: KnownDrive | None
) -> DriveIdentity:
    """The identity of a drive. Without a serial number the kernel's or the inventory's is used."""
    if identity.serial:
        return identity
    other: DeviceIdentity | KnownDrive | None = kernel if kernel and kernel.serial else None
    if other is None and known is not None and identity.model in (None, known.model):
        other = known
    if other is None:
        return identity
    return replace(
        identity,
        model=identity.model or other.model,
        serial=other.serial,
        firmware=identity.firmware or other.firmware,
        wwn=identity.wwn or other.wwn,
    )


def with_kernel_limits(
    health: DriveHealth | None, kernel: DeviceIdentity | None
) -> DriveHealth | None:
    """The health with the kernel's temperature limits if smartctl (before 7.4) reports none."""
    if health is None or kernel is None:
        return health
    warning, critical = health.temperature_warning_celsius, health.temperature_critical_celsius
    if warning is not None or critical is not None:
        return health
    return replace(
        health,
        temperature_warning_celsius=kernel.temperature_warning_celsius,
        temperature_critical_celsius=kernel.temperature_critical_celsius,
    )


def missing_drive(known: KnownDrive) -> WatchedDrive:
    """A drive of the inventory that was removed."""
    return WatchedDrive(
        label=known.label,
        serial=known.serial or "",
        address=str(Address(known.path, known.type)),
        identity=DriveIdentity(
            model=known.model, serial=known.serial, firmware=known.firmware, wwn=known.wwn
        ),
        message="it was present before and is not found any more; if it was removed, run "
        f"`ssd-exporter forget {known.names[0]}`",
        is_missing=True,
    )
