"""``ssd-exporter check``: prints the health of every drive as a table or as JSON.

It is also a Nagios plug-in: Nagios and Icinga read the exit status and the first line of the table.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from exporter.commands import check_table, pysmart_comparison, smart_reader
from exporter.commands.check_table import CheckResult, Row
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.programs.command import SystemRunner
from exporter.report.formatting import encodable, has_colour, terminal_width
from exporter.runtime.printable import with_control_characters
from exporter.smart.drive_labels import natural_order
from exporter.smart.drive_problems import Answers, CheckThresholds, Problem, Status, problems


def run(
    answers: Answers,
    *,
    as_json: bool,
    out: TextIO,
) -> int:
    """Prints the health of the drives. Returns the exit status of a Nagios plug-in (0 to 3).

    answers: the drives with their SMART data.
    as_json: print JSON instead of a table.
    """
    result = report(answers, CheckThresholds())
    if as_json:
        out.write(json.dumps(plain(result), indent=2, allow_nan=False) + "\n")
    else:
        width = terminal_width(check_table.WIDTH, check_table.MIN_WIDTH, check_table.MAX_WIDTH)
        layout = check_table.Layout(width=width, wraps_summary=out.isatty())
        text = check_table.text(result, layout, colour=has_colour(out))
        # All parts of the text are printable except for the colours.
        with_control_characters(out).write(encodable(text, out))
    return result.status


def report(answers: Answers, thresholds: CheckThresholds) -> CheckResult:
    """Returns the status of each drive and of the host.

    The status of the host is that of the worst problem. A failed scan for drives is a WARNING. If
    there is no problem, the host is UNKNOWN in three cases: a drive was not polled, a drive has an
    invalid SMART log, or no drive has SMART data.
    """
    rows = [Row(drive, problems(drive, thresholds)) for drive in answers.drives]
    rows.sort(key=lambda row: (-row.status.urgency, natural_order(row.drive.label)))
    known_problems = [
        (row.drive, problem)
        for row in rows
        for problem in row.problems
        if problem.status is not Status.UNKNOWN
    ]
    known_problems.sort(key=lambda pair: -pair[1].status.urgency)
    if known_problems:
        status = known_problems[0][1].status
    elif answers.problem:
        status = Status.WARNING
    elif any(_is_unpolled(row) or _is_invalid(row) for row in rows):
        status = Status.UNKNOWN
    elif any(row.status is Status.OK for row in rows):
        status = Status.OK
    else:
        status = Status.UNKNOWN
    summary = _summary(status, rows, known_problems, answers.problem)
    return CheckResult(status, summary, tuple(rows), answers.problem)


def plain(result: CheckResult) -> dict[str, Any]:
    """Returns the result as values for JSON. The keys are stable. None means unknown."""
    return {
        "status": int(result.status),
        "state": result.status.name.lower(),
        "summary": result.summary,
        "problem": result.problem or None,
        "drives": [_plain_row(row) for row in result.rows],
    }


def _is_unpolled(row: Row) -> bool:
    """Returns True if the drive has no SMART data because it was not polled."""
    return row.status is Status.UNKNOWN and not row.drive.was_reached


def _is_invalid(row: Row) -> bool:
    """Returns True if the health of the drive is unknown because a SMART log of it is invalid."""
    health = row.drive.health
    return row.status is Status.UNKNOWN and health is not None and bool(health.invalid_log)


def _summary(
    status: Status,
    rows: Sequence[Row],
    known_problems: Sequence[tuple[WatchedDrive, Problem]],
    problem: str,
) -> str:
    """Returns the first line of the output, which Nagios shows and puts into its notifications."""
    empty = sum(row.drive.never_answered for row in rows)
    without_smart = sum(row.status is Status.UNKNOWN for row in rows) - empty
    unpolled = [row for row in rows if _is_unpolled(row)]
    count = _counted(len(rows) - empty, "drive")
    if known_problems or problem:
        text = problem
        if known_problems:
            drive, worst = known_problems[0]
            name = " ".join(filter(None, (drive.label, drive.identity.model)))
            text = f"{name}: {worst.text}"
        more = len(known_problems) + bool(problem) - 1
        notes = [_counted(more, "more problem")] if more else []
        notes += [f"{_counted(len(unpolled), 'drive')} not polled"] if unpolled else []
        text += f" ({', '.join(notes)})" if notes else ""
    elif not rows:
        text = "no drives found"
    elif unpolled:
        first = unpolled[0]
        text = f"{count}, {len(unpolled)} not polled: "
        text += f"{first.drive.label}: {first.problems[0].text}"
    elif invalid := [row for row in rows if _is_invalid(row)]:
        text = f"{count}: {invalid[0].drive.label}: {invalid[0].problems[0].text}"
    elif status is Status.OK:
        text = f"{count}, {without_smart} without SMART" if without_smart else count
    else:
        text = f"{count}, none with SMART: {rows[0].drive.label}: {rows[0].problems[0].text}"
    if empty and not known_problems:
        text += f"; no drive at {_counted(empty, 'configured address', 'configured addresses')}"
    return check_table.printable(f"SSD {status.name} - {text}")


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _plain_row(row: Row) -> dict[str, Any]:
    drive, identity = row.drive, row.drive.identity
    health = drive.health or DriveHealth()
    endurance = health.endurance
    low, mid, high = drive.wearout_seconds or (None, None, None)
    return {
        "device": drive.label,
        "serial": drive.serial or None,
        "address": drive.address,
        "model": identity.model,
        "family": identity.family,
        "firmware": identity.firmware,
        "status": int(row.status),
        "state": row.status.name.lower(),
        "up": drive.up,
        "missing": drive.is_missing,
        "last_success_timestamp_seconds": drive.last_success_unix_time,
        "healthy": health.healthy,
        "power_mode": health.power_mode,
        "endurance_used_ratio": None if endurance is None else endurance.used_ratio,
        "endurance_source": None if endurance is None else endurance.source.value,
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
        "capacity_bytes": identity.capacity_bytes,
        "host_written_bytes": None if health.host_written is None else health.host_written.bytes,
        "mountpoints": list(drive.mountpoints),
        "wearout_seconds": {"low": low, "mid": mid, "high": high},
        "wearout_method": drive.wearout_method or None,
        "wearout_missing_reason": drive.wearout_missing or None,
        "firmware_issues": [issue.name for issue in drive.firmware_issues],
        "block_devices": list(drive.blocks),
        "messages": list(health.messages),
        "problems": [{"state": p.status.name.lower(), "text": p.text} for p in row.problems],
    }


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="print JSON with stable keys")
    p.add_argument(
        "--second-opinion",
        dest="second_opinion",
        action="store_true",
        help="also parse smartctl's output with pySMART, and print the differences",
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    reader = smart_reader.system_reader(settings)
    try:
        answers = reader.read()
    except KeyboardInterrupt:
        waiting = ", ".join(reader.waiting) or "the scan for drives"
        sys.stderr.write(f"ssd-exporter: stopped while waiting for {waiting}\n")
        raise
    status = run(answers, as_json=arguments.json, out=sys.stdout)
    if arguments.second_opinion:
        documents = list(reader.documents.values())
        pysmart_comparison.run(documents, reader.program, SystemRunner(), sys.stdout)
    return status


COMMAND = Command(
    "Query each drive, or use the agent's latest results, and print a table. Exit status 0: all"
    " drives are healthy, 1: warning, 2: critical, or a mistake in the configuration, 3: unknown.",
    _add_arguments,
    _run,
)
