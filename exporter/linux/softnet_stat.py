"""/proc/net/softnet_stat: packets that the network softirq dropped or had to leave for later.

A line a CPU, in hexadecimal; net/core/net-procfs.c says what the columns are.
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed


@dataclass(frozen=True, slots=True)
class SoftnetCounters:
    """Summed over the CPUs."""

    dropped: int
    times_squeezed: int


def read(proc: Path) -> Parsed[SoftnetCounters]:
    """The host's counters: they are global, whatever network namespace asks.

    Raises NotAvailable and ReadError as `files.read`, ParseError where no line can be read.
    """
    return parse(files.read(proc / "net" / "softnet_stat"))


def parse(text: str) -> Parsed[SoftnetCounters]:
    """Raises ParseError where no line can be read; one broken line is a fault."""
    dropped = squeezed = understood = 0
    lines, faults = files.split_complete_lines("softnet_stat", text)
    for number, line in enumerate(lines, start=1):
        try:
            _, cpu_dropped, cpu_squeezed = (
                files.parse_counter(word, 16) for word in line.split()[:3]
            )
        except ValueError:
            faults.append(ParseError(f"softnet_stat:{number}: {line[:80]!r}"))
            continue
        dropped += cpu_dropped
        squeezed += cpu_squeezed
        understood += 1
    if not understood:
        raise faults[0] if faults else ParseError("softnet_stat: empty")
    return Parsed(SoftnetCounters(dropped, squeezed), tuple(faults))
