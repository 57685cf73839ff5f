"""``ssd-exporter check``: how the drives are, for people and scripts, for Nagios and Icinga."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from exporter.commands import check_table
from exporter.commands.judgement import CheckThresholds, Problem, Status, problems
from exporter.drives.health import DriveHealth
from exporter.drives.watched import WatchedDrive


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
    """

    status: Status
    summary: str
    rows: tuple[Row, ...]
    problems: tuple[tuple[WatchedDrive, Problem], ...]


def run(
    drives: Sequence[WatchedDrive],
    *,
    as_json: bool,
    out: TextIO,
    thresholds: CheckThresholds | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print how the drives are; the exit status is 0, 1, 2 or 3 as Nagios plug-ins have it.

    Colours are for terminals alone, and not where NO_COLOR is set (https://no-color.org).
    """
    result = report(drives, thresholds or CheckThresholds())
    if as_json:
        out.write(json.dumps(plain(result), indent=2, allow_nan=False) + "\n")
    else:
        colour = out.isatty() and not environment.get("NO_COLOR")
        text = check_table.text(result.summary, _lines(result), colour=colour)
        # A terminal of another encoding must not keep anyone from reading the rest.
        encoding = out.encoding or "utf-8"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    return result.status


def report(drives: Sequence[WatchedDrive], thresholds: CheckThresholds) -> CheckResult:
    """Drives judged one by one, and the host by the worst of them.

    A drive that has no SMART is no trouble; a host where no drive has any is not known.
    """
    rows = [_row(drive, problems(drive, thresholds)) for drive in drives]
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
    elif any(row.status is Status.OK for row in rows):
        status = Status.OK
    else:
        status = Status.UNKNOWN
    return CheckResult(status, _summary(status, rows, found), tuple(rows), tuple(found))


def plain(result: CheckResult) -> dict[str, Any]:
    """The result as JSON has it: these keys stay, and null is what nobody knows."""
    return {
        "status": int(result.status),
        "state": result.status.name.lower(),
        "summary": result.summary,
        "drives": [_plain_row(row) for row in result.rows],
    }


def _row(drive: WatchedDrive, found: tuple[Problem, ...]) -> Row:
    return Row(drive, found[0].status if found else Status.OK, found)


def _summary(
    status: Status, rows: Sequence[Row], found: Sequence[tuple[WatchedDrive, Problem]]
) -> str:
    """The one line that Nagios shows and pages with."""
    blind = sum(row.status is Status.UNKNOWN for row in rows)
    count = f"{len(rows)} drive{'' if len(rows) == 1 else 's'}"
    if found:
        drive, worst = found[0]
        name = " ".join(filter(None, (drive.label, drive.identity.model)))
        said = f"{name}: {worst.text}"
        if len(found) > 1:
            more = len(found) - 1
            said += f" ({more} more problem{'' if more == 1 else 's'})"
    elif not rows:
        said = "no drive found"
    elif status is Status.OK:
        said = f"{count}, {blind} of them without SMART" if blind else count
    else:
        said = f"{count}, none with SMART: {rows[0].drive.label}: {rows[0].problems[0].text}"
    return check_table.printable(f"SSD {status.name} - {said}")


def _lines(result: CheckResult) -> list[check_table.Line]:
    return [
        check_table.Line(row.drive, row.status, tuple((p.status, p.text) for p in row.problems))
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
