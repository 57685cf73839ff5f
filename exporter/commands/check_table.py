"""Formats the health of drives as a table: one line per drive, then its problems and notes."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.smart.drive_problems import Status, percent, span

#: Default of the maximum width of the table, in characters. The summary line may be longer.
WIDTH = 120

_GAP = "  "
_UNKNOWN = "-"

#: Maximum width of a drive's name, in characters: in a table of `WIDTH`, and in a narrower one.
#: Longer names are cut.
_MAX_NAME_WIDTH = 24
_MAX_NARROW_NAME_WIDTH = 13

#: Minimum width of the column with the model, in characters. If the other columns leave less than
#: this, the table becomes wider than its maximum.
_MIN_MODEL_WIDTH = 12

_MARKS = {Status.WARNING: "warning: ", Status.CRITICAL: "critical: "}
_COLOURS = {Status.OK: "32", Status.WARNING: "33", Status.CRITICAL: "31", Status.UNKNOWN: "2"}

#: The heading of each column, and whether it has numbers. Numbers are aligned to the right.
_COLUMNS = (
    ("DRIVE", False),
    ("MODEL", False),
    ("HEALTH", False),
    ("WEAR", True),
    ("SPARE", True),
    ("TEMP", True),
    ("REALLOC", True),
    ("MEDIA", True),
    ("OTHER", True),
    ("WORN OUT IN", True),
)
_MODEL, _HEALTH = 1, 2

_OTHER_ERRORS = (
    ("pending_sectors", "pending sectors"),
    ("program_failures", "program failures"),
    ("erase_failures", "erase failures"),
    ("interface_errors", "interface errors"),
)


@dataclass(frozen=True, slots=True)
class TableLine:
    """A drive of the table. problems: the status and the text of each of its problems."""

    drive: WatchedDrive
    status: Status
    problems: tuple[tuple[Status, str], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of the table.

    width: the maximum width in characters.
    has_wearout: whether the table has the column with the wear-out estimate, which needs a history.
    """

    width: int = WIDTH
    has_wearout: bool = True


def text(
    summary: str,
    lines: Sequence[TableLine],
    *,
    colour: bool,
    problem: str = "",
    layout: Layout | None = None,
) -> str:
    """Returns the summary and below it the table, normally at most `WIDTH` characters wide.

    summary: one line, such as "SSD OK - 4 drives".
    lines: the drives in the order of the table.
    colour: whether to add terminal escape sequences for colours.
    problem: a problem of the host, such as a failed scan; empty if there is none.
    layout: the width and the columns; None means the default.
    """
    layout = layout or Layout()
    first, _, rest = summary.partition(" - ")
    worst = next((s for s in Status if first.endswith(s.name)), Status.UNKNOWN)
    parts = [f"{_paint(first, worst, colour)} - {rest}\n"]
    if problem:
        parts.append(_indented(Status.WARNING, printable(problem), colour, layout.width))
    if lines:
        parts.append("\n")
        parts += _table(lines, colour, layout)
    return "".join(parts)


def printable(words: str) -> str:
    """Returns the text with escaped control characters, and with "/" instead of "|".

    Model names come from the drive and may contain escape sequences of terminals. Nagios reads the
    text after "|" as performance data.
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)
    return shown.replace("|", "/")


def cut(words: str, width: int) -> str:
    """Returns the text, shortened in the middle if it is longer than `width` characters.

    Model names are cut in the middle because they start with the maker and end with the size.
    """
    if len(words) <= width:
        return words
    right = (width - 2) // 2
    return f"{words[: width - 2 - right]}..{words[len(words) - right :]}"


def _table(lines: Sequence[TableLine], colour: bool, layout: Layout) -> Iterator[str]:
    columns = _COLUMNS if layout.has_wearout else _COLUMNS[:-1]
    name_width = _MAX_NAME_WIDTH if layout.width >= WIDTH else _MAX_NARROW_NAME_WIDTH
    rows = [[heading for heading, _ in columns], *(_cells(line, name_width) for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - layout.width
    widths[_MODEL] = max(min(widths[_MODEL], _MIN_MODEL_WIDTH), widths[_MODEL] - max(over, 0))
    yield _joined(rows[0], widths) + "\n"
    for line, row in zip(lines, rows[1:], strict=True):
        row[_MODEL] = cut(row[_MODEL], widths[_MODEL])
        yield _joined(row, widths, line.status if colour else None) + "\n"
        for status, words in (*line.problems, *_notes(line)):
            yield _indented(status, printable(words), colour, layout.width)


def _joined(row: Sequence[str], widths: Sequence[int], status: Status | None = None) -> str:
    """Returns a row. A cell without a width belongs to a column that the table does not have."""
    cells = [
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, (_, is_number) in zip(row, widths, _COLUMNS, strict=False)
    ]
    if status is not None:
        cells[_HEALTH] = _paint(cells[_HEALTH], status, colour=True)
    return _GAP.join(cells).rstrip()


def _indented(status: Status, words: str, colour: bool, width: int) -> str:
    mark = _MARKS.get(status, "")
    head, *more = textwrap.wrap(f"{mark}{words}", width - 8, break_on_hyphens=False) or [""]
    if colour and mark:
        head = _paint(mark, status, colour) + head.removeprefix(mark)
    return f"    {head}\n" + "".join(f"        {line}\n" for line in more)


def _cells(line: TableLine, name_width: int) -> list[str]:
    drive = line.drive
    health = drive.health or DriveHealth()
    spare, celsius = health.spare_ratio, health.temperatures.get("drive")
    return [
        cut(printable(drive.label), name_width),
        printable(drive.identity.model or _UNKNOWN),
        _health(line),
        _UNKNOWN if health.endurance is None else percent(health.endurance.used_ratio),
        _UNKNOWN if spare is None else percent(spare),
        _UNKNOWN if celsius is None else f"{celsius:.0f} C",
        _number(health.reallocated_sectors),
        _number(health.media_errors),
        _number(_other(health)),
        _wearout(drive),
    ]


def _health(line: TableLine) -> str:
    health = line.drive.health
    if line.drive.is_missing:
        return "GONE"
    if line.status is Status.UNKNOWN:
        return "no SMART" if line.drive.was_reached else "not polled"
    if line.status is not Status.OK:
        return line.status.name
    mode = None if health is None or health.healthy is not None else health.power_mode
    return "asleep" if mode is not None and mode.startswith(("standby", "sleep")) else "ok"


def _wearout(drive: WatchedDrive) -> str:
    if drive.wearout_seconds is None:
        return _UNKNOWN
    low, _, high = drive.wearout_seconds
    return span(low, high)


def _other(health: DriveHealth) -> int | None:
    known = [n for field, _ in _OTHER_ERRORS if (n := getattr(health, field)) is not None]
    return sum(known) if known else None


def _notes(line: TableLine) -> list[tuple[Status, str]]:
    """Returns the notes below a drive: information that is not a problem by itself."""
    drive, health = line.drive, line.drive.health or DriveHealth()
    counted = [
        f"{number} {name}" for field, name in _OTHER_ERRORS if (number := getattr(health, field))
    ]
    notes = [f"other errors (lifetime): {', '.join(counted)}"] if counted else []
    notes += [message for message in health.messages if message.startswith("WARNING")]
    if line.status in _MARKS:
        # The serial number is printed on the drive. It shows which drive to replace.
        known = (("serial", drive.serial), ("firmware", drive.identity.firmware))
        names = [f"{name} {value}" for name, value in known if value]
        notes.append(", ".join(filter(None, (*names, drive.address))))
    return [(Status.OK, note) for note in notes if note]


def _number(number: int | None) -> str:
    """Returns the number as text: all digits below a million, else two digits as in 1.2e+06."""
    if number is None:
        return _UNKNOWN
    return str(number) if number < 1_000_000 else f"{number:.1e}"


def _paint(words: str, status: Status, colour: bool) -> str:
    return words if not colour else f"\x1b[{_COLOURS[status]}m{words}\x1b[0m"
