"""What the CPUs did between two samples."""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuTimes


class CpuShare(NamedTuple):
    """One CPU's (or all CPUs') time between two samples, as ratios of what passed for it.

    `softirq` counts hard interrupts too: where the driver completes in the interrupt itself, the
    same load shows there.
    """

    softirq: float
    iowait: float
    idle: float


class CpuInterval(NamedTuple):
    """Every CPU between two samples, and all of them together."""

    host: CpuShare
    cpus: dict[int, CpuShare]

    @property
    def hottest(self) -> int | None:
        """The CPU with the largest softirq share; None where no CPU could be compared."""
        return max(self.cpus, key=lambda cpu: self.cpus[cpu].softirq, default=None)

    @property
    def iowait_max(self) -> float | None:
        return max((share.iowait for share in self.cpus.values()), default=None)


def cpu_interval(then: Mapping[int, CpuTimes], now: Mapping[int, CpuTimes]) -> CpuInterval | None:
    """The shares of each CPU that is in both samples; None where no time passed on any.

    iowait and idle step back on idle CPUs (proc_stat(5) calls iowait unreliable), and a CPU that
    was off line begins anew: a time that went back counts as none.
    """
    cpus = {}
    everything = softirq = iowait = idle = 0.0
    for number, times in now.items():
        if (before := then.get(number)) is None:
            continue
        # Whole ticks, without the noise of binary fractions, which would name a hottest CPU.
        passed = [
            round((b - a) * TICKS_PER_SECOND) if b > a else 0
            for a, b in zip(before, times, strict=True)
        ]
        if (total := sum(passed)) <= 0:
            continue
        _, _, _, cpu_idle, cpu_iowait, cpu_irq, cpu_softirq, _ = passed
        cpus[number] = CpuShare(
            (cpu_softirq + cpu_irq) / total, cpu_iowait / total, cpu_idle / total
        )
        everything += total
        softirq += cpu_softirq + cpu_irq
        iowait += cpu_iowait
        idle += cpu_idle
    if not cpus:
        return None
    return CpuInterval(CpuShare(softirq / everything, iowait / everything, idle / everything), cpus)
