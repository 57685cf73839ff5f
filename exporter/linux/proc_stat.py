"""/proc/stat: where each CPU's time went.

https://man7.org/linux/man-pages/man5/proc_stat.5.html
"""

import os
from dataclasses import dataclass
from typing import NamedTuple

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed

#: USER_HZ, the unit of this file: 100 on every architecture that runs MySQL.
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_new = tuple.__new__


class CpuTimes(NamedTuple):
    """Seconds since boot, by what they were spent on; guest time stands in user and nice too."""

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
    """`total` over every CPU that was ever there (the line "cpu"); `cpus` are those on line."""

    total: CpuTimes | None
    cpus: dict[int, CpuTimes]


def parse(text: str) -> Parsed[CpuStat]:
    """The CPU lines; a broken one is a fault and costs its own CPU.

    Raises:
        ParseError: no CPU line could be read at all.
    """
    total: CpuTimes | None = None
    cpus: dict[int, CpuTimes] = {}
    lines, faults = files.split_complete_lines("stat", text)
    for number, line in enumerate(lines, start=1):
        if not line.startswith("cpu"):
            # The CPU lines come first; intr and softirq below them are long.
            break
        try:
            name, *columns = line.split()
            times = _times(columns)
            if name == "cpu":
                total = times
            else:
                cpus[int(name[3:])] = times
        except ValueError as e:
            faults.append(ParseError(f"stat:{number}: {e}: {line[:200]!r}"))
    if not cpus and total is None:
        raise faults[0] if faults else ParseError(f"stat: no CPU line in {text[:80]!r}")
    return Parsed(CpuStat(total, cpus), tuple(faults))


def _times(columns: list[str]) -> CpuTimes:
    if len(columns) < 7:
        raise ValueError(f"{len(columns)} columns, where kernels print 7 or more")
    # Steal came with 2.6.11; guest and guest_nice behind it are part of user and nice already.
    ticks = list(map(int, columns[:8]))
    if min(ticks) < 0 or max(ticks) >= 1 << 64:
        raise ValueError("a number that is no counter of the kernel")
    if len(ticks) < 8:
        ticks.append(0)
    # Past the class's own constructor: on a host of 128 CPUs this is most of a sample.
    return _new(CpuTimes, [tick / TICKS_PER_SECOND for tick in ticks])
