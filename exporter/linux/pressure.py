"""/proc/pressure/* and a cgroup's *.pressure: time in which tasks waited for a resource.

https://docs.kernel.org/accounting/psi.html

::

    some avg10=0.06 avg60=0.21 avg300=0.99 total=8537362
    full avg10=0.00 avg60=0.13 avg300=0.96 total=8183134
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Pressure:
    """`waiting`: at least one task waited ("some"); `stalled`: all non-idle ones did ("full").

    None where the kernel does not say: cpu had no "full" before 5.13, irq has no "some".
    """

    waiting_seconds: float | None
    stalled_seconds: float | None


def read(file: Path) -> Pressure:
    """The pressure in one file.

    Raises:
        NotAvailable: no PSI in this kernel (before 4.20), or it is off (psi=0 answers ENOTSUP).
        ReadError: it is there and cannot be read.
        ParseError: as `parse`.
    """
    return parse(files.read(file))


def parse(text: str) -> Pressure:
    """Raises ParseError where neither line is there, or one has no total or is cut off."""
    totals: dict[str, float] = {}
    lines, faults = files.split_complete_lines("pressure", text)
    if faults:
        raise faults[0]
    for number, line in enumerate(lines, start=1):
        kind, *pairs = line.split() or [""]
        total = next((pair[6:] for pair in pairs if pair.startswith("total=")), "")
        try:
            totals[kind] = files.parse_counter(total) / _MICROSECONDS
        except ValueError as e:
            raise ParseError(f"pressure:{number}: no total: {line[:80]!r}") from e
    if not totals.keys() & {"some", "full"}:
        raise ParseError(f"pressure: neither some nor full: {text[:80]!r}")
    return Pressure(totals.get("some"), totals.get("full"))
