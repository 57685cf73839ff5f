"""Parses the time that each CPU spent in each mode, such as user or idle, from /proc/stat.

https://man7.org/linux/man-pages/man5/proc_stat.5.html

It does no I/O.
"""

import os
from dataclasses import dataclass
from typing import NamedTuple

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import COUNTER_END, Parsed

#: The number of ticks per second (USER_HZ). The unit of the file is one tick. The number is 100 on
#: x86, ARM and POWER.
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

#: The maximum number of lines: one per CPU, and others that are not used.
_MAX_LINES = files.MAX_CPUS + 64

_new = tuple.__new__


class CpuTimes(NamedTuple):
    """The time that a CPU spent in each mode since boot, in seconds.

    The modes are those of the kernel. The modes user and nice include the time of virtual machines
    that ran on the CPU.
    """

    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float


@dataclass(frozen=True, slots=True)
class CpuStat:
    """The CPU times of a host.

    total: the sum over all CPUs, including those that are offline now. None means that the line
        with the sum is missing or malformed.
    cpus: the times of each online CPU, keyed by the number of the CPU.
    """

    total: CpuTimes | None
    cpus: dict[int, CpuTimes]


def parse(text: str) -> Parsed[CpuStat]:
    """Returns the CPU times from the text of /proc/stat.

    Each malformed line adds an exception to `Parsed.faults`.

    Raises:
        ParseError: no CPU line is valid.
    """
    total: CpuTimes | None = None
    cpus: dict[int, CpuTimes] = {}
    lines, faults = files.split_complete_lines("stat", text, _MAX_LINES)
    for number, line in enumerate(lines, start=1):
        if not line.startswith("cpu"):
            # The CPU lines come first. The other lines are skipped, because some are very long.
            break
        try:
            name, *columns = line.split()
            times = _parse_times(columns)
            if name == "cpu":
                total = times
            else:
                cpus[int(name[3:])] = times
        except ValueError as e:
            faults.add(ParseError(f"stat:{number}: {e}: {line[:200]!r}"))
    if not cpus and total is None:
        raise faults.first or ParseError(f"stat: no CPU line in {text[:80]!r}")
    return Parsed(CpuStat(total, cpus), faults.listed())


def _parse_times(columns: list[str]) -> CpuTimes:
    if len(columns) < 7:
        raise ValueError(f"{len(columns)} columns instead of at least 7")
    # The eighth column, steal, is absent before Linux 2.6.11. The columns after it are guest and
    # guest_nice. They are not read, because user and nice already include them.
    ticks = list(map(int, columns[:8]))
    if min(ticks) < 0 or max(ticks) >= COUNTER_END:
        raise ValueError("a number is not an unsigned 64-bit counter")
    if len(ticks) < 8:
        ticks.append(0)
    # On a host with 128 CPUs, calling the constructor of the class would take most of the time of
    # each reading.
    return _new(CpuTimes, [tick / TICKS_PER_SECOND for tick in ticks])
