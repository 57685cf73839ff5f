"""fio's bandwidth log, ``<name>_bw.log``: fio(1), write_bw_log.

::

    145, 204800, 1, 0, 0
    300, 204800, 1, 0, 0

The time since the start in ms, KiB/s since the row before, the direction (0 read, 1 write), block
size, offset; newer versions add a priority, so only the first three columns are read.
"""

from dataclasses import dataclass

from exporter.errors import ParseError

_WRITE = "1"

#: Of a run of an hour at 100 ms, several times over.
_MOST_ROWS = 200_000

_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was written in a stretch of time, which is not of equal length in each row."""

    end_seconds: float
    seconds: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class BandwidthLog:
    """The writes of a run, in order of time; `faults` are the rows that were not understood."""

    writes: tuple[Throughput, ...]
    faults: tuple[ParseError, ...] = ()


def parse(text: str) -> BandwidthLog:
    """The rows of writes. A last line that does not end may be half a number, and is left out."""
    *lines, rest = text.split("\n")
    faults: list[ParseError] = []
    if rest:
        faults.append(ParseError(f"fio's log: the last line is cut off: {rest[:80]!r}"))
    if len(lines) > _MOST_ROWS:
        faults.append(ParseError(f"fio's log: more than {_MOST_ROWS} rows; the rest is left out"))
    writes: list[Throughput] = []
    before = 0.0
    for number, line in enumerate(lines[:_MOST_ROWS], start=1):
        try:
            row = _row(line, before)
        except ValueError as e:
            if len(faults) < _MOST_FAULTS:
                faults.append(ParseError(f"fio's log:{number}: {line[:80]!r}: {e}"))
            continue
        if row is not None:
            writes.append(row)
            before = row.end_seconds
    return BandwidthLog(tuple(writes), tuple(faults))


def _row(line: str, before: float) -> Throughput | None:
    if not line.strip():
        return None
    columns = [each.strip() for each in line.split(",")]
    if len(columns) < 3:
        raise ValueError("too few columns")
    if columns[2] != _WRITE:
        return None
    milliseconds, kib_per_second = _count(columns[0]), _count(columns[1])
    end = milliseconds / 1000
    if end <= before:
        raise ValueError("time stands still")
    return Throughput(end, end - before, kib_per_second * 1024.0)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise ValueError("no number")
    return int(text)
