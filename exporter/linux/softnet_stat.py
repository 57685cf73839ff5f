"""Reads /proc/net/softnet_stat: packets that the network softirq dropped or postponed.

The file has one line per CPU, in hexadecimal. softnet_seq_show in net/core/net-procfs.c defines
the columns; https://docs.kernel.org/admin-guide/sysctl/net.html (netdev_budget) explains them.
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed


@dataclass(frozen=True, slots=True)
class SoftnetCounters:
    """The counters of all CPUs, added, since boot.

    dropped: packets dropped because a CPU's backlog was full.
    times_squeezed: number of softirqs that ended with packets left, because their budget or time
        was used up.
    """

    dropped: int
    times_squeezed: int


def read(proc: Path) -> Parsed[SoftnetCounters]:
    """Returns the counters of the host. They do not depend on the network namespace.

    Raises:
        NotAvailable: the kernel has no such file.
        ReadError: the file exists but cannot be read.
        ParseError: no line is valid.
    """
    return parse(files.read(proc / "net" / "softnet_stat"))


def parse(text: str) -> Parsed[SoftnetCounters]:
    """Returns the sums over all CPUs; each malformed line is a fault.

    Raises:
        ParseError: no line is valid.
    """
    dropped = squeezed = valid_lines = 0
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
        valid_lines += 1
    if not valid_lines:
        raise faults[0] if faults else ParseError("softnet_stat: empty")
    return Parsed(SoftnetCounters(dropped, squeezed), tuple(faults))
