"""Reads how long tasks waited for a resource, which the kernel calls pressure stall information.

The files are /proc/pressure/* for the host, and *.pressure for a control group:
https://docs.kernel.org/accounting/psi.html

The text of a file::

    some avg10=0.06 avg60=0.21 avg300=0.99 total=8537362
    full avg10=0.00 avg60=0.13 avg300=0.96 total=8183134
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files
from exporter.runtime.errors import ParseError

#: The totals in the file are in microseconds.
_MICROSECONDS_PER_SECOND = 1_000_000

#: The maximum size of the file, in bytes. It has two lines.
MAX_FILE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Pressure:
    """The total time in which tasks waited for a resource.

    The time is counted since boot, or since the control group was created.

    waiting_seconds: the time in which at least one task waited ("some"), in seconds. None for the
        file irq, which has no such line.
    stalled_seconds: the time in which all tasks that were not idle waited ("full"), in seconds.
        None for the file cpu before Linux 5.13, which has no such line.
    """

    waiting_seconds: float | None
    stalled_seconds: float | None


def read(file: Path | str) -> Pressure:
    """Returns the totals in one pressure file.

    Raises:
        NotAvailable: the file is absent, because the kernel is older than Linux 4.20, or the
            feature is disabled (psi=0).
        ReadError: the file exists but cannot be read.
        ParseError: a line is cut off or has no valid total, or both lines are missing.
    """
    return parse(files.read(file, MAX_FILE_BYTES))


def parse(text: str) -> Pressure:
    """Returns the totals from the text of a pressure file.

    Raises:
        ParseError: a line is cut off or has no valid total, or both lines are missing.
    """
    totals: dict[str, float] = {}
    lines, faults = files.split_complete_lines("pressure", text, 16)
    if faults.first is not None:
        raise faults.first
    for number, line in enumerate(lines, start=1):
        kind, *pairs = line.split() or [""]
        total = ""
        for pair in pairs:
            if pair.startswith("total="):
                total = pair[6:]
                break
        try:
            totals[kind] = files.parse_counter(total) / _MICROSECONDS_PER_SECOND
        except ValueError as e:
            raise ParseError(f"pressure:{number}: no valid total: {line[:80]!r}") from e
    if not totals.keys() & {"some", "full"}:
        raise ParseError(f"pressure: neither a some nor a full line: {text[:80]!r}")
    return Pressure(totals.get("some"), totals.get("full"))
