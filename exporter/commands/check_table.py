"""Formats the health of drives as a table: one line per drive, then its problems and notes.

A narrow table has fewer columns. A line below each drive contains the values of the omitted
columns.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.report.formatting import quantity
from exporter.runtime.printable import printable as escaped
from exporter.smart.drive_problems import Problem, Status, percent, span, wear_percent

#: Width of the table in characters if the output is no terminal, and the limits of the width of a
#: terminal that are used. The summary line may be longer.
WIDTH, MIN_WIDTH, MAX_WIDTH = 120, 40, 200

_GAP = "  "
_UNKNOWN = "-"

#: Maximum width of a drive's name, in characters: in a table of `WIDTH`, and in a narrower one.
#: Longer names are cut.
_MAX_NAME_WIDTH = 24
_MAX_NARROW_NAME_WIDTH = 13

#: Minimum width of the column with the model, in characters.
_MIN_MODEL_WIDTH = 12

#: Maximum number of mountpoints that are shown of a drive. A container host has hundreds.
_MAX_MOUNTPOINTS = 4

_MARKS = {Status.WARNING: "warning: ", Status.CRITICAL: "critical: "}
_COLOURS = {Status.OK: "32", Status.WARNING: "33", Status.CRITICAL: "31", Status.UNKNOWN: "2"}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table.

    heading: the heading.
    is_number: whether its cells are aligned to the right.
    rank: columns with the highest rank are omitted first. Those of rank 0 are never omitted.
    words: the text for the line below a drive if the column is omitted; "{}" is the cell. Empty if
        the value is not shown then.
    """

    heading: str
    is_number: bool
    rank: int
    words: str = ""


_COLUMNS = (
    _Column("DRIVE", False, 0),
    _Column("MODEL", False, 3, "{}"),
    _Column("SIZE", True, 6, "{}"),
    _Column("HEALTH", False, 0),
    _Column("WEAR", True, 1, "{} worn"),
    _Column("SPARE", True, 8, "{} spare"),
    _Column("TEMP", True, 4, "{}"),
    _Column("HOURS", True, 5, "{} hours on"),
    _Column("WRITTEN", True, 7, "{} written"),
    _Column("REALLOC", True, 10, "{} reallocated"),
    _Column("MEDIA", True, 9, "{} media errors"),
    _Column("OTHER", True, 11),
    _Column("WORN OUT IN", True, 2, "worn out in {}"),
)
_MODEL, _HEALTH = "MODEL", "HEALTH"

#: Columns with a higher rank are omitted before names of models are cut.
_MODEL_RANK = 8

#: The columns of a table with details. They are omitted if no drive has a value.
_DETAILS = ("SIZE", "HOURS", "WRITTEN", "WORN OUT IN")

_OTHER_ERRORS = (
    ("pending_sectors", "pending sectors"),
    ("program_failures", "program failures"),
    ("erase_failures", "erase failures"),
    ("interface_errors", "interface errors"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A drive and its problems; the worst is first."""

    drive: WatchedDrive
    problems: tuple[Problem, ...]

    @property
    def status(self) -> Status:
        """The status of the worst problem; OK without one.

        UNKNOWN means that the only problem is that the drive has no SMART data.
        """
        return self.problems[0].status if self.problems else Status.OK


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The health of all drives of a host.

    status: the exit status of the command.
    summary: the first line of the output, such as "SSD OK - 4 drives".
    rows: the drives; the drive with the worst status is first.
    problem: why the scan for drives failed, or why data of the agent was rejected; else empty.
    """

    status: Status
    summary: str
    rows: tuple[Row, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of the table.

    width: the maximum width in characters.
    has_details: whether the table shows capacity, power-on time, written bytes, mountpoints, and
        the wear-out estimate, which needs a history.
    wraps_summary: whether the summary may have several lines. Nagios requires one line.
    """

    width: int = WIDTH
    has_details: bool = True
    wraps_summary: bool = False


def text(result: CheckResult, layout: Layout, *, colour: bool) -> str:
    """Returns the summary and below it the table, at most as wide as `layout` permits.

    colour: whether to add terminal escape sequences for colours.
    """
    summary = result.summary
    first, _, rest = summary.partition(" - ")
    if layout.wraps_summary:
        lines_of_summary = textwrap.wrap(summary, layout.width, break_on_hyphens=False)
        rest = "\n".join(lines_of_summary).removeprefix(f"{first} - ")
    parts = [f"{_paint(first, result.status, colour)} - {rest}\n"]
    if result.problem:
        parts.append(_indented(Status.WARNING, printable(result.problem), colour, layout.width))
    if result.rows:
        parts.append("\n")
        parts += _table(result.rows, colour, layout)
    return "".join(parts)


def printable(words: str) -> str:
    """Returns the text with escaped control characters, and with "/" instead of "|".

    Nagios reads the text after "|" as performance data.
    """
    return escaped(words).replace("|", "/")


def cut(words: str, width: int) -> str:
    """Returns the text, shortened in the middle if it is longer than `width` characters.

    Model names are cut in the middle because they start with the maker and end with the size.
    """
    if len(words) <= width:
        return words
    right = (width - 2) // 2
    return f"{words[: width - 2 - right]}..{words[len(words) - right :]}"


def short_names(names: Sequence[str], width: int) -> list[str]:
    """Returns the names of drives, each with at most `width` characters.

    Names that are equal after they were shortened in the middle, such as those of files with the
    same beginning and type, are shown from the first character in which they differ.
    """
    alike: dict[str, set[str]] = {}
    for name in names:
        alike.setdefault(cut(name, width), set()).add(name)
    shown = []
    for name in names:
        each = cut(name, width)
        if len(alike[each]) > 1:
            places = enumerate(zip(*alike[each], strict=False))
            differ = next((at for at, letters in places if len({*letters}) > 1), 0)
            each = cut_end(f"..{name[min(differ, len(name) - width + 2) :]}", width)
        shown.append(each)
    return shown


def cut_end(words: str, width: int) -> str:
    """Returns the text, shortened at the end if it is longer than `width` characters."""
    return words if len(words) <= width else f"{words[: width - 2]}.."


def _table(lines: Sequence[Row], colour: bool, layout: Layout) -> Iterator[str]:
    name_width = _MAX_NAME_WIDTH if layout.width >= WIDTH else _MAX_NARROW_NAME_WIDTH
    names = short_names([printable(line.drive.label) for line in lines], name_width)
    cells = [_cells(line, name) for line, name in zip(lines, names, strict=True)]
    columns = [
        column
        for column in _COLUMNS
        if column.heading not in _DETAILS
        or (layout.has_details and any(row[column.heading] != _UNKNOWN for row in cells))
    ]
    widths = {
        column.heading: max(len(column.heading), *(len(row[column.heading]) for row in cells))
        for column in columns
    }
    least = {**widths, _MODEL: min(widths[_MODEL], _MIN_MODEL_WIDTH)}
    while rank := max(column.rank for column in columns):
        if _over(columns, widths if rank > _MODEL_RANK else least, layout.width) <= 0:
            break
        columns = [column for column in columns if column.rank < rank]
    over = _over(columns, widths, layout.width)
    widths[_MODEL] = max(least[_MODEL], widths[_MODEL] - max(over, 0))
    yield _joined({column.heading: column.heading for column in columns}, columns, widths) + "\n"
    for line, row in zip(lines, cells, strict=True):
        shown = {**row, _MODEL: cut(row[_MODEL], widths[_MODEL])}
        yield _joined(shown, columns, widths, line.status if colour else None) + "\n"
        below = [*((each.status, each.text) for each in line.problems), *_notes(line)]
        if layout.has_details:
            omitted = [column for column in _COLUMNS if column not in columns]
            below += [(Status.OK, words) for words in _details(line.drive, row, omitted)]
        for status, words in below:
            yield _indented(status, printable(words), colour, layout.width)


def _over(columns: Sequence[_Column], widths: Mapping[str, int], width: int) -> int:
    """Returns by how many characters these columns are wider than `width`."""
    used = sum(widths[column.heading] for column in columns)
    return used + len(_GAP) * (len(columns) - 1) - width


def _joined(
    row: Mapping[str, str],
    columns: Sequence[_Column],
    widths: Mapping[str, int],
    status: Status | None = None,
) -> str:
    cells = []
    for column in columns:
        cell, width = row[column.heading], widths[column.heading]
        padded = cell.rjust(width) if column.is_number else cell.ljust(width)
        if status is not None and column.heading == _HEALTH:
            padded = _paint(padded, status, colour=True)
        cells.append(padded)
    return _GAP.join(cells).rstrip()


def _details(
    drive: WatchedDrive, row: Mapping[str, str], omitted: Sequence[_Column]
) -> Iterator[str]:
    """Yields the lines with what the columns do not show: omitted columns, mounts, and reasons."""
    values = [
        column.words.format(row[column.heading])
        for column in omitted
        if column.words and row[column.heading] not in (_UNKNOWN, "0")
    ]
    if places := drive.mountpoints[:_MAX_MOUNTPOINTS]:
        more = len(drive.mountpoints) - len(places)
        values.append(f"mounted at {' '.join(places)}{f' and {more} more' if more else ''}")
    if values:
        yield ", ".join(values)
    if drive.wearout_missing:
        yield f"no wear-out date: {drive.wearout_missing}"


def _indented(status: Status, words: str, colour: bool, width: int) -> str:
    mark = _MARKS.get(status, "")
    head, *more = textwrap.wrap(f"{mark}{words}", width - 8, break_on_hyphens=False) or [""]
    if colour and mark:
        head = _paint(mark, status, colour) + head.removeprefix(mark)
    return f"    {head}\n" + "".join(f"        {line}\n" for line in more)


def _cells(line: Row, name: str) -> dict[str, str]:
    """Returns the text of each cell of a drive, keyed by the heading of the column.

    name: the name of the drive as it is shown.
    """
    drive = line.drive
    health = drive.health or DriveHealth()
    spare, celsius = health.spare_ratio, health.temperatures.get("drive")
    size, written, powered = (
        drive.identity.capacity_bytes,
        health.host_written,
        health.power_on_seconds,
    )
    return {
        "DRIVE": name,
        "MODEL": printable(drive.identity.model or _UNKNOWN),
        "SIZE": _UNKNOWN if size is None else quantity(size, "B"),
        "HEALTH": _health(line),
        "WEAR": _UNKNOWN if health.endurance is None else f"{wear_percent(health.endurance)} %",
        "SPARE": _UNKNOWN if spare is None else _spare(health, spare),
        "TEMP": _UNKNOWN if celsius is None else f"{celsius:.0f} C",
        "HOURS": _UNKNOWN if powered is None else _number(int(powered / 3600)),
        "WRITTEN": _UNKNOWN if written is None else quantity(written.bytes, "B"),
        "REALLOC": _number(health.reallocated_sectors),
        "MEDIA": _number(health.media_errors),
        "OTHER": _number(_other(health)),
        "WORN OUT IN": _wearout(drive),
    }


def _health(line: Row) -> str:
    health = line.drive.health
    if line.drive.is_missing:
        return "GONE"
    if line.status is Status.UNKNOWN:
        if health is not None and health.invalid_log:
            return "unknown"
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


def _spare(health: DriveHealth, spare: float) -> str:
    if not health.spare_step_ratio:
        return percent(spare)
    return f"{(spare - health.spare_step_ratio) * 100:.0f}-{percent(spare)}"


def _other(health: DriveHealth) -> int | None:
    known = [n for field, _ in _OTHER_ERRORS if (n := getattr(health, field)) is not None]
    return sum(known) if known else None


def _notes(line: Row) -> list[tuple[Status, str]]:
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
