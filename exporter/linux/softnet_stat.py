"""Reads from /proc/net/softnet_stat how often the kernel dropped or postponed network packets.

Received packets are handled in a softirq, which is work that the kernel postpones when it handles
an interrupt. The file has one line per CPU, with hexadecimal numbers. softnet_seq_show in
net/core/net-procfs.c defines the columns, and
https://docs.kernel.org/admin-guide/sysctl/net.html (netdev_budget) explains them.
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed


@dataclass(frozen=True, slots=True)
class SoftnetCounters:
    """The sums of the counters of all CPUs since boot.

    dropped: the number of packets that were dropped because the queue of a CPU was full.
    times_squeezed: the number of softirqs that ended before all packets were handled, because their
        maximum number of packets (netdev_budget) or maximum time was reached.
    """

    dropped: int
    times_squeezed: int


def read(proc: Path) -> Parsed[SoftnetCounters]:
    """Returns the counters of the host, from /proc/net/softnet_stat.

    They are the same in all network namespaces. Each malformed line adds an exception to
    `Parsed.faults`.

    Raises:
        NotAvailable: the kernel has no such file.
        ReadError: the file exists but cannot be read.
        ParseError: no line is valid.
    """
    return parse(files.read(proc / "net" / "softnet_stat"))


def parse(text: str) -> Parsed[SoftnetCounters]:
    """Returns the sums over all CPUs, from the text of /proc/net/softnet_stat.

    Each malformed line adds an exception to `Parsed.faults`.

    Raises:
        ParseError: no line is valid.
    """
    dropped = squeezed = valid_lines = 0
    lines, faults = files.split_complete_lines("softnet_stat", text, files.MAX_CPUS)
    for number, line in enumerate(lines, start=1):
        try:
            _, cpu_dropped, cpu_squeezed = (
                files.parse_counter(word, 16) for word in line.split()[:3]
            )
        except ValueError:
            faults.add(ParseError(f"softnet_stat:{number}: {line[:80]!r}"))
            continue
        dropped += cpu_dropped
        squeezed += cpu_squeezed
        valid_lines += 1
    if not valid_lines:
        raise faults.first or ParseError("softnet_stat: empty")
    return Parsed(SoftnetCounters(dropped, squeezed), faults.listed())
