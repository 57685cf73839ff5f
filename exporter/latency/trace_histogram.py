"""Parses the histograms that the kernel's tracing subsystem has counted.

https://docs.kernel.org/trace/histogram.html describes the format of the ``hist`` files. A file has
a table for each trigger of its event. This module parses the tables of the triggers of `triggers`:

::

    { dev:  265289728, op: RS                  , lat: ~ 1048576-1114111 } hitcount:          3

    Totals:
        Hits: 3
        Entries: 1
        Dropped: 0

Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.linux import files
from exporter.runtime.errors import Faults, Parsed, ParseError
from exporter.tails.request_histogram import RequestHistogram

_ROW = re.compile(
    r"\{ dev: +(\d{1,10})(?:, op: ([A-Z]{0,8}) *, lat: ~ (\d{1,20})-(\d{1,20}))? \}"
    r" hitcount: +(\d{1,20})",
    re.ASCII,
)
#: The keys of the tables that are parsed.
_OURS = re.compile(
    r":(?:keys=dev,op,lat\.buckets=\d+|name=ssd_exporter_issued:keys=dev):", re.ASCII
)
_TOTAL = re.compile(r" +(Hits|Dropped): (\d{1,20})", re.ASCII)

_MINOR_BITS = 20
_NANOSECONDS = 1e9

#: The largest number of lines that are parsed. It is above that of the full maps of one file:
#: `triggers` gives each of them at most 4096 entries.
_MAX_LINES = 50_000


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """What the kernel has counted in one file.

    histograms: the latencies, keyed by device number (``major:minor``) and the flags of the
        request, such as "WS".
    counts: the numbers of requests with the same keys. The flags are empty for requests that were
        only counted.
    hits: the number of counted requests.
    dropped: the number of requests that were not counted, because the map was full.
    """

    histograms: dict[tuple[str, str], RequestHistogram]
    counts: dict[tuple[str, str], int]
    hits: int = 0
    dropped: int = 0


def parse(text: str) -> Parsed[TraceCounts]:
    """Returns the sums of the tables in the text of a ``hist`` file.

    Tables with other keys, such as the map of requests, are not used. Each line with braces that
    has another format adds an exception to `Parsed.faults`.

    Raises:
        ParseError: the text has no such table, or is not complete.
    """
    lines, faults = files.split_complete_lines("hist", text, _MAX_LINES)
    latencies: dict[tuple[str, str], dict[tuple[float, float], int]] = {}
    counts: dict[tuple[str, str], int] = {}
    totals = {"Hits": 0, "Dropped": 0}
    tables = complete = 0
    is_ours = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("# trigger info:"):
            is_ours = _OURS.search(line) is not None
            tables += is_ours
        elif not is_ours:
            continue
        elif line.startswith("{"):
            _add_row(number, line, latencies, counts, faults)
        elif total := _TOTAL.fullmatch(line):
            totals[total[1]] += int(total[2])
            complete += total[1] == "Dropped"
    if not tables or tables != complete:
        raise ParseError(f"hist: {tables} tables begin and {complete} end")
    found = {key: RequestHistogram.from_counts(counted) for key, counted in latencies.items()}
    value = TraceCounts(found, counts, totals["Hits"], totals["Dropped"])
    return Parsed(value, faults.listed())


def _add_row(
    number: int,
    line: str,
    latencies: dict[tuple[str, str], dict[tuple[float, float], int]],
    counts: dict[tuple[str, str], int],
    faults: Faults,
) -> None:
    row = _ROW.fullmatch(line)
    if row is None:
        faults.add(ParseError(f"hist:{number}: {line[:120]!r}"))
        return
    device, flags, low, high, count = row.groups()
    key = device_number(int(device)), flags or ""
    counts[key] = counts.get(key, 0) + int(count)
    if low is None:
        return
    if int(high) < int(low):
        faults.add(ParseError(f"hist:{number}: the bucket {low}-{high} has no width"))
        return
    # The kernel prints the highest value of the bucket, in whole nanoseconds.
    ends = int(low) / _NANOSECONDS, (int(high) + 1) / _NANOSECONDS
    of_key = latencies.setdefault(key, {})
    of_key[ends] = of_key.get(ends, 0) + int(count)


def device_number(dev: int) -> str:
    """Returns ``major:minor`` of a number of the kernel's type dev_t.

    >>> device_number(266338304)
    '254:0'
    """
    return f"{dev >> _MINOR_BITS}:{dev & (1 << _MINOR_BITS) - 1}"


def kernel_number(number: str) -> int:
    """Returns the number of the kernel's type dev_t for ``major:minor``.

    >>> kernel_number("254:0")
    266338304
    """
    major, _, minor = number.partition(":")
    return int(major) << _MINOR_BITS | int(minor)


def operation(flags: str) -> str:
    """Returns the kind of a request: read, write, sync_write, flush, discard or other.

    flags: as in the kernel's trace points (blk_fill_rwbs of kernel/trace/blktrace.c). A leading F
        is the flush before a write; after the letter of the operation, S is a synchronous request,
        F a write that bypasses the cache of the drive, and A a read ahead.

    >>> operation("RA"), operation("W"), operation("FWS"), operation("FF"), operation("DS")
    ('read', 'write', 'sync_write', 'flush', 'discard')
    """
    letters = flags[1:] if flags.startswith("F") and len(flags) > 1 else flags
    if letters.startswith("W"):
        return "sync_write" if "S" in letters or "F" in letters else "write"
    return {"R": "read", "F": "flush", "D": "discard"}.get(letters[:1], "other")


def by_operation(
    histograms: Iterable[tuple[tuple[str, str], RequestHistogram]],
) -> dict[tuple[str, str], list[RequestHistogram]]:
    """Returns histograms keyed by device number and operation; the input is keyed by flags."""
    grouped: dict[tuple[str, str], list[RequestHistogram]] = {}
    for (number, flags), histogram in histograms:
        grouped.setdefault((number, operation(flags)), []).append(histogram)
    return grouped
