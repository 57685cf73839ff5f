"""What is wrong with a drive as it stands, and how bad that is.

A single look sees no growth: that errors increase, or that spare falls, is for the alerts, which
have history. The severities are theirs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.smart.poll_document import PollResult

_HOUR = 3600.0
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

#: Wear-out estimates say no more than this: see diagnosis.wearout.
_LATEST = 10 * _YEAR

#: NVMe's critical warnings that mean data at risk, in words; heat alone is not one.
_CRITICAL_WARNINGS = {
    "spare": "its spare blocks have run low",
    "reliability": "it says that it has become unreliable",
    "read_only": "it takes no more writes",
    "volatile_backup": "the backup of its write cache has failed",
}
_WARNINGS = {
    "temperature": "it is outside its temperature range",
    "persistent_memory": "its persistent memory region is unreliable or read-only",
}


class Status(IntEnum):
    """What Nagios and Icinga expect as exit status."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def urgency(self) -> int:
        """For sorting: what is not known is less urgent than what is known to be wrong."""
        return (0, 2, 3, 1)[self]


@dataclass(frozen=True, slots=True)
class Problem:
    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Answers:
    """What came of asking all drives of a host.

    owing: labels of drives that are there for sure and must answer: that such a one does not, or
        was not asked in time, is its own failure or that of a drive beside it.
    problem: why the look for drives failed, for people; else empty.
    """

    drives: tuple[WatchedDrive, ...]
    owing: frozenset[str] = frozenset()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CheckThresholds:
    """From where on a drive is said to be in trouble.

    endurance_warning_ratio, endurance_critical_ratio: used endurance. What is only guessed from
        an attribute's name is a warning at most.
    wearout_warning_seconds, wearout_critical_seconds: how soon the endurance may be used up, at
        the estimate's low bound.
    spare_margin_ratio: a warning where no more than this is left of the way from full spare to the
        drive's own limit, at or below which it is critical. Limits run from 1 % to 99 %.
    temperature_celsius: a warning from here on, for drives that name no limit of their own.
    firmware_seconds: a firmware's defect that strikes within this is critical, later a warning.
    media_errors: uncorrectable errors over the drive's life; it is a warning from here on.
    pending_sectors: likewise; 2, because some Crucial drives step from 0 to 1 and back without
        meaning it (smartmontools ticket 1227).
    """

    endurance_warning_ratio: float = 0.8
    endurance_critical_ratio: float = 0.9
    wearout_warning_seconds: float = 90 * _DAY
    wearout_critical_seconds: float = 30 * _DAY
    spare_margin_ratio: float = 0.1
    temperature_celsius: float = 70.0
    firmware_seconds: float = 60 * _DAY
    media_errors: int = 1
    pending_sectors: int = 2


def problems(
    drive: WatchedDrive, thresholds: CheckThresholds, *, owes_answer: bool = False
) -> tuple[Problem, ...]:
    """All that is wrong, worst first; one of status UNKNOWN where there is no SMART to judge by."""
    found = list(_silence(drive, owes_answer))
    if drive.health is not None:
        found += _verdict(drive.health)
        found += _wear(drive.health, thresholds)
    found += _outlook(drive, thresholds)
    if drive.health is not None:
        found += _heat(drive.health, thresholds)
        found += _errors(drive.health, thresholds)
    return tuple(sorted(found, key=lambda each: -each.status.urgency))


def span(low_seconds: float, high_seconds: float) -> str:
    """Two times in the unit that suits the later one: "12-40 days", "3 years", "6-10+ years"."""
    if high_seconds >= 2 * _YEAR:
        unit, name = _YEAR, "year"
    elif high_seconds >= 2 * _DAY:
        unit, name = _DAY, "day"
    else:
        unit, name = _HOUR, "hour"
    low, high = (
        f"{seconds / unit:.0f}{'+' if seconds >= _LATEST else ''}"
        for seconds in (low_seconds, high_seconds)
    )
    both = low if low == high else f"{low}-{high}"
    return f"{both} {name}{'' if both == '1' else 's'}"


def percent(ratio: float) -> str:
    """``57 %``; with the digit that says that a little is not nothing."""
    hundredths = ratio * 100
    return f"{hundredths:.1f} %" if 0 < hundredths < 0.95 else f"{hundredths:.0f} %"


def _silence(drive: WatchedDrive, owes_answer: bool) -> Iterator[Problem]:
    why = f": {drive.message}" if drive.message else ""
    if drive.is_missing:
        name = drive.serial or drive.label
        yield Problem(
            Status.CRITICAL,
            f"it has vanished; if it was removed: ssd-exporter forget {name}",
        )
    elif drive.is_stuck:
        yield Problem(
            Status.CRITICAL, "it does not answer: smartctl hangs in the kernel and cannot be ended"
        )
    elif not drive.up and drive.was_reached and drive.last_success_unix_time is not None:
        yield Problem(Status.CRITICAL, f"it does not answer any more{why}")
    elif not drive.up and drive.was_reached and _has_failed(drive, owes_answer):
        yield Problem(Status.CRITICAL, f"it does not answer{why}")
    elif not drive.up and owes_answer:
        yield Problem(Status.CRITICAL, drive.message or "it was not asked in time")
    elif drive.health is None:
        yield Problem(Status.UNKNOWN, drive.message or "it has not been asked yet")
    elif drive.health.unreadable:
        yield Problem(Status.UNKNOWN, drive.health.unreadable)


def _has_failed(drive: WatchedDrive, owes_answer: bool) -> bool:
    return owes_answer or bool(drive.polls.get(PollResult.TIMED_OUT.value))


def _outlook(drive: WatchedDrive, thresholds: CheckThresholds) -> Iterator[Problem]:
    if drive.wearout_seconds is not None:
        low, _, high = drive.wearout_seconds
        if low < thresholds.wearout_warning_seconds:
            is_near = low < thresholds.wearout_critical_seconds
            yield Problem(
                Status.CRITICAL if is_near else Status.WARNING,
                f"at this load its endurance is used up in {span(low, high)}",
            )
    for issue in drive.firmware_issues:
        yield _firmware(issue, thresholds)


def _firmware(issue: FirmwareIssue, thresholds: CheckThresholds) -> Problem:
    text = f"firmware defect {issue.name}: {issue.advice}"
    if issue.hours_left is None:
        return Problem(Status.WARNING, text)
    left = issue.hours_left * _HOUR
    text += f" ({span(left, left)} left)" if left else " (it is due)"
    return Problem(Status.CRITICAL if left <= thresholds.firmware_seconds else Status.WARNING, text)


def _verdict(health: DriveHealth) -> Iterator[Problem]:
    warnings = [name for name, is_set in health.critical_warnings.items() if is_set]
    for name in warnings:
        if name in _CRITICAL_WARNINGS:
            yield Problem(Status.CRITICAL, _CRITICAL_WARNINGS[name])
        else:
            yield Problem(Status.WARNING, _WARNINGS.get(name, f"its critical warning {name} is on"))
    # On NVMe the verdict is that no warning is on, and heat is no failure.
    if health.healthy is False and not warnings:
        yield Problem(Status.CRITICAL, "its own verdict is that it is failing")
    if health.plp_healthy is False and "volatile_backup" not in warnings:
        yield Problem(Status.CRITICAL, "its power-loss protection has failed its check")
    for row in health.attributes:
        if row.failed == "now":
            status = Status.CRITICAL if row.prefailure else Status.WARNING
            yield Problem(status, f"attribute {row.id} {row.name} is at its threshold")
    if health.self_test is not None and not health.self_test.passed:
        yield Problem(Status.WARNING, "its last self-test failed")


def _wear(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    worn = health.endurance
    if worn is not None and worn.used_ratio >= thresholds.endurance_warning_ratio:
        text = f"{percent(worn.used_ratio)} of its rated endurance is used"
        if worn.source is EnduranceSource.NAME_GUESS:
            yield Problem(Status.WARNING, f"{text}, by the name of an attribute")
        else:
            is_critical = worn.used_ratio >= thresholds.endurance_critical_ratio
            yield Problem(Status.CRITICAL if is_critical else Status.WARNING, text)
    spare, limit = health.spare_ratio, health.spare_threshold_ratio
    # A limit of 100 % would condemn a new drive: it is none.
    if spare is not None and limit is not None and limit < 1:
        text = f"{percent(spare)} of its spare left, its limit is {percent(limit)}"
        if spare <= limit:
            yield Problem(Status.CRITICAL, text)
        elif (spare - limit) / (1 - limit) <= thresholds.spare_margin_ratio:
            yield Problem(Status.WARNING, text)


def _heat(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    celsius = health.temperatures.get("drive")
    if celsius is None:
        return
    critical, warning = health.temperature_critical_celsius, health.temperature_warning_celsius
    if critical is not None and celsius >= critical:
        yield Problem(Status.CRITICAL, f"{celsius:.0f} C, its critical limit is {critical:.0f} C")
    elif warning is not None and celsius >= warning:
        yield Problem(Status.WARNING, f"{celsius:.0f} C, its limit is {warning:.0f} C")
    elif critical is warning is None and celsius >= thresholds.temperature_celsius:
        yield Problem(Status.WARNING, f"{celsius:.0f} C")


def _errors(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    if health.media_errors is not None and health.media_errors >= thresholds.media_errors:
        yield Problem(Status.WARNING, f"uncorrectable errors in its life: {health.media_errors}")
    if health.pending_sectors is not None and health.pending_sectors >= thresholds.pending_sectors:
        yield Problem(Status.WARNING, f"sectors that cannot be read: {health.pending_sectors}")
