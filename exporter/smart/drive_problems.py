"""Lists the problems of a drive, and the severity of each, for the command `check`.

Only the last known state of a drive is used. The Prometheus alerts also use the history: they
detect error counts that increase and spare blocks that decrease. The severities are the same as
those of the alerts. The module does no I/O.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from exporter.drives.assessment.failure_cause import (
    FailureCause,
    failure_cause,
    has_errors,
    is_temperature,
    is_wear,
    worn_out_text,
)
from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import AtaAttribute, DriveHealth, Endurance, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive

_HOUR = 3600.0
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

#: The limit of wear-out estimates (`drives.wearout`), in seconds. At the limit, `span` appends "+".
_MAX_ESTIMATE_SECONDS = 10 * _YEAR

#: The finest resolution of the wear with which it is shown as a range.
_WHOLE_PERCENT = 0.01

#: What to do in cases that several problems share.
_REPLACE_NOW = "Copy its data elsewhere now, then replace the drive."
_ORDER = "Order a replacement."
_ORDER_SOON = "Order a replacement, and replace it in the next weeks."
_CHECK_COOLING = "Check the fans and the airflow at its slot."
_CHECK_CABLE = "Check its slot and cable, and the kernel log. Copy its data elsewhere."

#: Texts for the critical warnings that mean a risk for the data. They are bits in byte 0 of the
#: SMART / Health Information log of NVMe.
_CRITICAL_WARNINGS = {
    "spare": "its spare blocks are below its threshold",
    "reliability": "it reports degraded reliability",
    "read_only": "it is read-only",
    "volatile_backup": "the power-loss backup of its write cache has failed",
}

#: What to do if a SMART log is invalid.
INVALID_LOG_ACTION = (
    "See the kernel log, and read it again with `smartctl -x`. If it stays invalid, order a "
    "replacement."
)


class Status(IntEnum):
    """The exit status of a Nagios plug-in, which Icinga uses too."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def urgency(self) -> int:
        """A sorting key from 0 (OK) to 3 (CRITICAL). UNKNOWN is less urgent than WARNING."""
        return (0, 2, 3, 1)[self]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a drive.

    status: the severity.
    text: a sentence or phrase for people, in which "it" is the drive.
    action: what to do, as a sentence for people; empty if `text` says it.
    topic: what the problem is about. It stays the same while numbers in `text` change, and differs
        between the problems of a drive. Empty if it does not matter when the problem began.
    """

    status: Status
    text: str
    action: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """The drives of a host after each of them was polled once. Some may not have answered in time.

    drives: the state of each drive.
    problem: why the scan for drives failed, as text for people; empty if it did not fail.
    """

    drives: tuple[WatchedDrive, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CheckThresholds:
    """The values at which the state of a drive is reported as a warning or as critical.

    endurance_warning_ratio: the smallest used part of the rated endurance that is a warning; 1.0 is
        all of it. The action is to order a replacement.
    endurance_critical_ratio: from this used part on, the action is to replace the drive within
        weeks. The severity is still a warning, because a worn drive works for months.
    wearout_warning_seconds, wearout_critical_seconds: the problem is reported if the low estimate
        of the time until the endurance is used up is below this.
    spare_margin_ratio: the largest (spare - limit) / (1 - limit) that is a warning. `limit` is the
        drive's own limit, 1 % to 99 %. If the spare is at or below the limit, it is critical.
    temperature_celsius: the lowest temperature that is a warning. It applies to drives that report
        no limit.
    firmware_seconds: a firmware defect that takes effect within this time is critical. A defect
        that takes effect after a longer time is a warning. A week is enough for an update.
    endurance_end_ratio: the wear at which the counter of NVMe ends. The estimate of a drive that
        has reached it is a warning, because nothing is known about how its wear goes on.
    media_errors: the smallest number of uncorrectable errors in the drive's life that is a warning.
    capacitor_ratio: a capacitor with less health is a warning; 1 is the least of a new drive, and
        0.01 the least for a safe loss of power.
    pending_sectors: the smallest number of pending sectors that is a warning. It is 2 because some
        Crucial drives report 1 for a short time without a cause (smartmontools ticket 1227).
    """

    endurance_warning_ratio: float = 0.8
    endurance_critical_ratio: float = 0.9
    wearout_warning_seconds: float = 90 * _DAY
    wearout_critical_seconds: float = 30 * _DAY
    spare_margin_ratio: float = 0.1
    temperature_celsius: float = 70.0
    firmware_seconds: float = 7 * _DAY
    endurance_end_ratio: float = 2.55
    media_errors: int = 1
    capacitor_ratio: float = 0.2
    pending_sectors: int = 2


def problems(drive: WatchedDrive, thresholds: CheckThresholds) -> tuple[Problem, ...]:
    """Returns the problems of a drive, most urgent first.

    A drive without SMART data has at least one problem. Its status is UNKNOWN if no worse problem
    is known.
    """
    result = list(_poll_problems(drive))
    if drive.health is not None:
        if drive.health.invalid_log and not drive.health.unreadable:
            result.append(Problem(Status.UNKNOWN, drive.health.invalid_log, INVALID_LOG_ACTION))
        result += _reported_failures(drive.health)
        result += _wear_problems(drive.health, thresholds)
    result += _expected_failures(drive, thresholds)
    if drive.health is not None:
        result += _temperature_problems(drive.health, thresholds)
        result += _log_page_problems(drive.health, thresholds)
        result += _error_counts(drive.health, thresholds)
    return tuple(sorted(result, key=lambda problem: -problem.status.urgency))


def span(low_seconds: float, high_seconds: float) -> str:
    """Returns two durations as text, in the unit of the longer one: "12-40 days", "6-10+ years".

    Equal numbers are printed once ("3 years"). "+" marks an estimate at its limit of ten years.
    """
    if high_seconds >= 2 * _YEAR:
        unit, name = _YEAR, "year"
    elif high_seconds >= 2 * _DAY:
        unit, name = _DAY, "day"
    else:
        unit, name = _HOUR, "hour"
    low, high = (
        f"{seconds / unit:.0f}{'+' if seconds >= _MAX_ESTIMATE_SECONDS else ''}"
        for seconds in (low_seconds, high_seconds)
    )
    both = low if low == high else f"{low}-{high}"
    return f"{both} {name}{'' if both == '1' else 's'}"


def percent(ratio: float) -> str:
    """Returns a ratio as text: ``57 %``. Below one per cent it has a decimal digit: ``0.4 %``."""
    hundredths = ratio * 100
    return f"{hundredths:.1f} %" if 0 < hundredths < 0.95 else f"{hundredths:.0f} %"


def wear_percent(endurance: Endurance) -> str:
    """Returns the wear in per cent, without a unit: ``57``, or as a range: ``80-90``.

    It is a range if the drive reports only steps of more than 1 %. ``100+`` means that such a drive
    has used its whole endurance. ``99+`` means that the gauge of the drive has stopped there.
    """
    used, step = endurance.used_ratio, endurance.step_ratio
    if endurance.is_lower_bound:
        return f"{used * 100:.0f}+"
    if step <= _WHOLE_PERCENT:
        return percent(used).removesuffix(" %")
    return f"{used * 100:.0f}{f'-{(used + step) * 100:.0f}' if used < 1 else '+'}"


def _poll_problems(drive: WatchedDrive) -> Iterator[Problem]:
    """Yields at most one problem: the drive is missing, does not answer, or has no SMART data."""
    why = f": {drive.message}" if drive.message else ""
    if drive.is_missing:
        name = drive.serial or drive.label
        yield Problem(
            Status.CRITICAL,
            f"it is missing; if it was removed: ssd-exporter forget {name}",
            "Check its slot and cable.",
            "missing",
        )
    elif drive.is_stuck:
        yield Problem(
            _silent_status(drive),
            "it does not answer SMART commands: smartctl hangs in the kernel and cannot be ended",
            "Copy its data elsewhere while it can be read. A restart of the host ends smartctl.",
            "silent",
        )
    elif drive.never_answered:
        yield Problem(Status.UNKNOWN, f"no drive has ever answered here{why}")
    elif drive.is_lost:
        since = "no longer answers" if drive.last_success_unix_time else "does not answer"
        text = f"it {since} SMART commands{why}"
        yield Problem(_silent_status(drive), text, _CHECK_CABLE, "silent")
    elif drive.health is None:
        yield Problem(Status.UNKNOWN, drive.message or "it has not been polled yet")
    elif drive.health.unreadable:
        yield Problem(Status.UNKNOWN, drive.health.unreadable)


def _silent_status(drive: WatchedDrive) -> Status:
    """Returns the severity of a drive that does not answer.

    It is a warning while the kernel lists the drive: its I/O may go on, and if it does not, this is
    reported by itself. A drive behind a controller is not listed. It answers or it is lost.
    """
    return Status.CRITICAL if ":" in drive.label else Status.WARNING


def _expected_failures(drive: WatchedDrive, thresholds: CheckThresholds) -> Iterator[Problem]:
    if drive.wearout_seconds is not None:
        low, _, high = drive.wearout_seconds
        if low < thresholds.wearout_warning_seconds:
            endurance = None if drive.health is None else drive.health.endurance
            is_firm = endurance is None or (
                endurance.source is not EnduranceSource.NAME_GUESS
                and endurance.used_ratio < thresholds.endurance_end_ratio
            )
            is_near = is_firm and low < thresholds.wearout_critical_seconds
            yield Problem(
                Status.CRITICAL if is_near else Status.WARNING,
                f"its rated endurance is used up in {span(low, high)} at this load",
                _ORDER,
                "wear-out",
            )
    for issue in drive.firmware_issues:
        yield _firmware_problem(issue, thresholds)


def _firmware_problem(issue: FirmwareIssue, thresholds: CheckThresholds) -> Problem:
    text, topic = f"firmware defect {issue.name}: {issue.advice}", f"firmware {issue.name}"
    if issue.hours_left is None:
        return Problem(Status.WARNING, text, topic=topic)
    left = issue.hours_left * _HOUR
    text += f" ({span(left, left)} left)" if left else " (the time is over)"
    is_near = left < thresholds.firmware_seconds
    return Problem(Status.CRITICAL if is_near else Status.WARNING, text, topic=topic)


def _reported_failures(health: DriveHealth) -> Iterator[Problem]:
    """Yields the problems that the drive itself reports as a failure or a warning."""
    warnings = [name for name, is_set in health.critical_warnings.items() if is_set]
    cause = failure_cause(health)
    if cause is FailureCause.WORN_OUT:
        yield Problem(Status.WARNING, worn_out_text(health), _ORDER_SOON, "wear")
    elif cause is FailureCause.FAILING:
        texts = [
            text
            for name, text in _CRITICAL_WARNINGS.items()
            if name in warnings and not (name == "spare" and _is_spare_used_up(health))
        ]
        if _CRITICAL_WARNINGS.keys().isdisjoint(warnings):
            texts = ["it reports that it is failing (SMART self-assessment)"]
        for text in texts:
            yield Problem(Status.CRITICAL, text, _REPLACE_NOW, text)
    if "temperature" in warnings or cause is FailureCause.TEMPERATURE:
        text = "it reports a temperature outside its limits"
        yield Problem(Status.WARNING, text, _CHECK_COOLING, "reported temperature")
    if health.plp_healthy is False and "volatile_backup" not in warnings:
        yield Problem(
            Status.WARNING,
            "the check of its power-loss protection has failed",
            "Replace the drive. Until then a power failure can lose writes that it has confirmed.",
            "power-loss protection",
        )
    for row in health.attributes:
        if row.failed == "now" and not (cause is FailureCause.WORN_OUT and is_wear(row)):
            yield _failed_attribute(row, health)
    if health.self_test is not None and not health.self_test.passed:
        yield Problem(
            Status.WARNING,
            "its last self-test failed",
            "Make a backup, and run a long self-test. Replace the drive if that fails too.",
            "self-test",
        )


def _failed_attribute(row: AtaAttribute, health: DriveHealth) -> Problem:
    text = f"attribute {row.id} {row.name} has reached its failure threshold"
    if is_temperature(row):
        return Problem(Status.WARNING, text, _CHECK_COOLING, text)
    if row.prefailure and (has_errors(health) or not is_wear(row)):
        return Problem(Status.CRITICAL, text, _REPLACE_NOW, text)
    return Problem(Status.WARNING, text, _ORDER, text)


def _wear_problems(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    endurance = health.endurance
    is_told = failure_cause(health) is FailureCause.WORN_OUT
    if (
        endurance is not None
        and endurance.used_ratio >= thresholds.endurance_warning_ratio
        and not is_told
    ):
        text = f"{wear_percent(endurance)} % of its rated endurance is used"
        is_guess = endurance.source is EnduranceSource.NAME_GUESS
        if is_guess:
            text += " (guessed from the name of an attribute)"
        is_worn = endurance.used_ratio >= thresholds.endurance_critical_ratio and not is_guess
        yield Problem(Status.WARNING, text, _ORDER_SOON if is_worn else _ORDER, "wear")
    spare, limit = health.spare_ratio, health.spare_threshold_ratio
    # With a limit of 100 %, even a new drive would be critical. Such a limit is ignored.
    if spare is not None and limit is not None and limit < 1:
        least = spare - health.spare_step_ratio
        left = f"at most {percent(spare)}" if health.spare_step_ratio else percent(spare)
        text = f"{left} of its spare blocks are left; its limit is {percent(limit)}"
        if _is_spare_used_up(health):
            yield Problem(Status.CRITICAL, text, _REPLACE_NOW, "spare")
        elif (least - limit) / (1 - limit) <= thresholds.spare_margin_ratio:
            yield Problem(Status.WARNING, text, _ORDER, "spare")


def _is_spare_used_up(health: DriveHealth) -> bool:
    spare, limit = health.spare_ratio, health.spare_threshold_ratio
    return spare is not None and limit is not None and spare <= limit < 1


def _temperature_problems(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    celsius = health.temperatures.get("drive")
    if celsius is None:
        return
    critical, warning = health.temperature_critical_celsius, health.temperature_warning_celsius
    if critical is not None and celsius >= critical:
        text = f"{celsius:.0f} C; its critical limit is {critical:.0f} C"
        yield Problem(Status.CRITICAL, text, _CHECK_COOLING, "temperature")
    elif warning is not None and celsius >= warning:
        text = f"{celsius:.0f} C; its warning limit is {warning:.0f} C"
        yield Problem(Status.WARNING, text, _CHECK_COOLING, "temperature")
    elif critical is warning is None and celsius >= thresholds.temperature_celsius:
        limit = thresholds.temperature_celsius
        text = f"{celsius:.0f} C; the warning threshold is {limit:.0f} C"
        yield Problem(Status.WARNING, text, _CHECK_COOLING, "temperature")


def _log_page_problems(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    """Yields problems that data-centre NVMe drives report in further log pages."""
    if health.logs is None:
        return
    values = health.logs.values
    if values.thermal_throttling_level or values.thermal_throttling_percent:
        text = "it is too hot and reduces its own speed (throttling)"
        yield Problem(Status.WARNING, text, _CHECK_COOLING, "throttling")
    capacitor = values.capacitor_health_percent
    # Below 1 % the protection itself is reported as failed.
    if capacitor is not None and 0.01 <= capacitor / 100 < thresholds.capacitor_ratio:
        text = f"the capacitor of its power-loss protection is at {capacitor} % of a new one"
        yield Problem(Status.WARNING, text, _ORDER, "capacitor")


def _error_counts(health: DriveHealth, thresholds: CheckThresholds) -> Iterator[Problem]:
    if health.media_errors is not None and health.media_errors >= thresholds.media_errors:
        yield Problem(
            Status.WARNING,
            f"uncorrectable errors (lifetime): {health.media_errors}",
            "Make a backup. Replace the drive if the number grows.",
            "uncorrectable errors",
        )
    if health.pending_sectors is not None and health.pending_sectors >= thresholds.pending_sectors:
        yield Problem(
            Status.WARNING,
            f"unreadable sectors (pending): {health.pending_sectors}",
            "Make a backup. Replace the drive if the number grows.",
            "pending sectors",
        )
