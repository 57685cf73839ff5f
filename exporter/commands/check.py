"""``ssd-exporter check``: how the drives are, for people and scripts, for Nagios and Icinga."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from exporter.commands import check_table
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.smart.drive_problems import Answers, CheckThresholds, Problem, Status, problems


@dataclass(frozen=True, slots=True)
class Row:
    """A drive and what is wrong with it. status: UNKNOWN where it has no SMART."""

    drive: WatchedDrive
    status: Status
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """status: the exit status. summary: one line. rows: the drives, worst first.

    problems: of all drives, worst first, without those that only lack SMART.
    problem: why the look for drives failed; else empty.
    """

    status: Status
    summary: str
    rows: tuple[Row, ...]
    problems: tuple[tuple[WatchedDrive, Problem], ...]
    problem: str = ""


def run(
    answers: Answers,
    *,
    as_json: bool,
    out: TextIO,
    thresholds: CheckThresholds | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print how the drives are; the exit status is 0, 1, 2 or 3 as Nagios plug-ins have it.

    Colours are for terminals alone, and not where NO_COLOR is set (https://no-color.org).
    """
    result = report(answers, thresholds or CheckThresholds())
    if as_json:
        out.write(json.dumps(plain(result), indent=2, allow_nan=False) + "\n")
    else:
        colour = out.isatty() and not environment.get("NO_COLOR")
        text = check_table.text(
            result.summary, _lines(result), colour=colour, problem=result.problem
        )
        # A terminal of another encoding must not keep anyone from reading the rest.
        encoding = out.encoding or "utf-8"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    return result.status


def report(answers: Answers, thresholds: CheckThresholds) -> CheckResult:
    """Drives judged one by one, and the host by the worst of them.

    A drive that has no SMART is no trouble; a host where no drive has any, or one was not asked,
    is not known where nothing is worse. That the look for drives failed is a warning at least.
    """
    rows = [
        _row(drive, problems(drive, thresholds, owes_answer=drive.label in answers.owing))
        for drive in answers.drives
    ]
    rows.sort(key=lambda row: (-row.status.urgency, _natural(row.drive.label)))
    found = [
        (row.drive, problem)
        for row in rows
        for problem in row.problems
        if problem.status is not Status.UNKNOWN
    ]
    found.sort(key=lambda each: -each[1].status.urgency)
    if found:
        status = found[0][1].status
    elif answers.problem:
        status = Status.WARNING
    elif any(_was_left(row) for row in rows):
        status = Status.UNKNOWN
    elif any(row.status is Status.OK for row in rows):
        status = Status.OK
    else:
        status = Status.UNKNOWN
    summary = _summary(status, rows, found, answers.problem)
    return CheckResult(status, summary, tuple(rows), tuple(found), answers.problem)


def plain(result: CheckResult) -> dict[str, Any]:
    """The result as JSON has it: these keys stay, and null is what nobody knows."""
    return {
        "status": int(result.status),
        "state": result.status.name.lower(),
        "summary": result.summary,
        "problem": result.problem or None,
        "drives": [_plain_row(row) for row in result.rows],
    }


def _row(drive: WatchedDrive, found: tuple[Problem, ...]) -> Row:
    return Row(drive, found[0].status if found else Status.OK, found)


def _was_left(row: Row) -> bool:
    """Nothing was heard of the drive, and it is not to blame."""
    return row.status is Status.UNKNOWN and not row.drive.was_reached


def _summary(
    status: Status,
    rows: Sequence[Row],
    found: Sequence[tuple[WatchedDrive, Problem]],
    problem: str,
) -> str:
    """The one line that Nagios shows and pages with."""
    blind = sum(row.status is Status.UNKNOWN for row in rows)
    left = [row for row in rows if _was_left(row)]
    count = _counted(len(rows), "drive")
    if found or problem:
        said = problem
        if found:
            drive, worst = found[0]
            name = " ".join(filter(None, (drive.label, drive.identity.model)))
            said = f"{name}: {worst.text}"
        more = len(found) + bool(problem) - 1
        notes = [_counted(more, "more problem")] if more else []
        notes += [f"{_counted(len(left), 'drive')} not asked"] if left else []
        said += f" ({', '.join(notes)})" if notes else ""
    elif not rows:
        said = "no drive found"
    elif left:
        first = left[0]
        said = f"{count}, {len(left)} of them not asked: "
        said += f"{first.drive.label}: {first.problems[0].text}"
    elif status is Status.OK:
        said = f"{count}, {blind} of them without SMART" if blind else count
    else:
        said = f"{count}, none with SMART: {rows[0].drive.label}: {rows[0].problems[0].text}"
    return check_table.printable(f"SSD {status.name} - {said}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _lines(result: CheckResult) -> list[check_table.TableLine]:
    return [
        check_table.TableLine(
            row.drive, row.status, tuple((p.status, p.text) for p in row.problems)
        )
        for row in result.rows
    ]


def _plain_row(row: Row) -> dict[str, Any]:
    drive, its = row.drive, row.drive.identity
    health = drive.health or DriveHealth()
    worn = health.endurance
    low, mid, high = drive.wearout_seconds or (None, None, None)
    return {
        "device": drive.label,
        "serial": drive.serial or None,
        "address": drive.address,
        "model": its.model,
        "family": its.family,
        "firmware": its.firmware,
        "status": int(row.status),
        "state": row.status.name.lower(),
        "up": drive.up,
        "missing": drive.is_missing,
        "last_success_timestamp_seconds": drive.last_success_unix_time,
        "healthy": health.healthy,
        "power_mode": health.power_mode,
        "endurance_used_ratio": None if worn is None else worn.used_ratio,
        "endurance_source": None if worn is None else worn.source.value,
        "spare_ratio": health.spare_ratio,
        "spare_threshold_ratio": health.spare_threshold_ratio,
        "temperature_celsius": health.temperatures.get("drive"),
        "media_errors": health.media_errors,
        "reallocated_sectors": health.reallocated_sectors,
        "pending_sectors": health.pending_sectors,
        "program_failures": health.program_failures,
        "erase_failures": health.erase_failures,
        "interface_errors": health.interface_errors,
        "power_on_seconds": health.power_on_seconds,
        "wearout_seconds": {"low": low, "mid": mid, "high": high},
        "wearout_method": drive.wearout_method or None,
        "firmware_issues": [issue.name for issue in drive.firmware_issues],
        "block_devices": list(drive.blocks),
        "messages": list(health.messages),
        "problems": [{"state": p.status.name.lower(), "text": p.text} for p in row.problems],
    }


def _natural(label: str) -> tuple[str, list[tuple[int, int, str]]]:
    """nvme2n1 before nvme10n1, sdb before sdaa."""
    parts = re.findall(r"[0-9]+|[^0-9]+", label)
    return label[:2], [(0, int(p[:18]), p) if p.isdecimal() else (1, len(p), p) for p in parts]
