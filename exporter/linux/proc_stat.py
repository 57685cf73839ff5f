"""Parses the time that each CPU spent in each mode, such as user or idle, from /proc/stat.

https://man7.org/linux/man-pages/man5/proc_stat.5.html

It does no I/O.
"""

import os
from dataclasses import dataclass
from typing import NamedTuple

from exporter.linux import files
from exporter.linux.files import COUNTER_END
from exporter.runtime.errors import Parsed, ParseError

#: The number of ticks per second (USER_HZ). The unit of the file is one tick. The number is 100 on
#: x86, ARM and POWER.
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

#: The maximum number of lines: one per CPU, and others that are not used.
_MAX_LINES = files.MAX_CPUS + 64

#: The number of the column steal. The columns after it are guest and guest_nice. They are not read,
#: because user and nice already include them.
_LAST_COLUMN = 8

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


#: The same times as the kernel counts them, in ticks.
CpuTicks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CpuStat:
    """The CPU times of a host.

    The properties convert the ticks to seconds. The conversion is separate because the file is
    parsed every second, but only the last sample is converted for a scrape. Integers also give
    exact differences.

    total_ticks: the sum over all CPUs, including those that are offline now. None means that the
        line with the sum is missing or malformed.
    ticks: the times of each online CPU, keyed by the number of the CPU.
    """

    total_ticks: CpuTicks | None
    ticks: dict[int, CpuTicks]

    @property
    def total(self) -> CpuTimes | None:
        return None if self.total_ticks is None else _seconds(self.total_ticks)

    @property
    def cpus(self) -> dict[int, CpuTimes]:
        return {number: _seconds(ticks) for number, ticks in self.ticks.items()}


def parse(text: str) -> Parsed[CpuStat]:
    """Returns the CPU times from the text of /proc/stat.

    Each malformed line adds an exception to `Parsed.faults`.

    Raises:
        ParseError: no CPU line is valid.
    """
    total: CpuTicks | None = None
    cpus: dict[int, CpuTicks] = {}
    lines, faults = files.split_complete_lines("stat", text, _MAX_LINES)
    for number, line in enumerate(lines, start=1):
        if not line.startswith("cpu"):
            # The CPU lines come first. The other lines are skipped, because some are very long.
            break
        try:
            words = line.split(None, _LAST_COLUMN + 1)
            ticks = _parse_ticks(words)
            if words[0] == "cpu":
                total = ticks
            else:
                cpus[int(words[0][3:])] = ticks
        except ValueError as e:
            faults.add(ParseError(f"stat:{number}: {e}: {line[:200]!r}"))
    if not cpus and total is None:
        raise faults.first or ParseError(f"stat: no CPU line in {text[:80]!r}")
    return Parsed(CpuStat(total, cpus), faults.listed())


def _parse_ticks(words: list[str]) -> CpuTicks:
    ticks = tuple(map(int, words[1 : _LAST_COLUMN + 1]))
    if len(ticks) < 7:
        raise ValueError(f"{len(ticks)} columns instead of at least 7")
    # If no number is negative and the sum of all is in range, then each number is in range.
    if min(ticks) < 0 or (sum(ticks) >= COUNTER_END and max(ticks) >= COUNTER_END):
        raise ValueError("a number is not an unsigned 64-bit counter")
    # The column steal is absent before Linux 2.6.11.
    return ticks if len(ticks) == _LAST_COLUMN else (*ticks, 0)


def _seconds(ticks: CpuTicks) -> CpuTimes:
    # On a host with 128 CPUs, calling the constructor of the class would take most of the time.
    return _new(CpuTimes, [tick / TICKS_PER_SECOND for tick in ticks])
