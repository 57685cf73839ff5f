"""What the sampler has seen of the CPUs since it began to watch them."""

from dataclasses import dataclass, field

from exporter.io.accumulators import MonotonicCounter, RollingMax
from exporter.io.cpu_interval import CpuInterval
from exporter.io.disk_activity import MAX_WINDOW_SECONDS
from exporter.io.verdict import BottleneckRules, softirq_bound
from exporter.linux.proc_stat import CpuStat


@dataclass(slots=True)
class CpuActivity:
    """The CPUs' maxima and counters.

    hottest: the CPU with the largest softirq share in the last interval that could be compared.
    idle, iowait: of all CPUs, as counters that never step back; by CPU only where that is wanted.
    """

    softirq_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    iowait_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    hottest: int | None = None
    softirq_saturated_seconds: float = 0.0
    idle: MonotonicCounter = field(default_factory=MonotonicCounter)
    iowait: MonotonicCounter = field(default_factory=MonotonicCounter)
    idle_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)
    iowait_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)

    def count_idle(self, sampled: CpuStat, *, per_cpu: bool) -> None:
        """Go on with what the kernel has counted until this sample."""
        if sampled.total is not None:
            self.idle.advance(sampled.total.idle)
            self.iowait.advance(sampled.total.iowait)
        if per_cpu:
            for number, times in sampled.cpus.items():
                self.idle_by_cpu.setdefault(number, MonotonicCounter()).advance(times.idle)
                self.iowait_by_cpu.setdefault(number, MonotonicCounter()).advance(times.iowait)

    def work(self, now: float, shares: CpuInterval, seconds: float, rules: BottleneckRules) -> None:
        """Take in what the CPUs did in the `seconds` until `now`."""
        if (hottest := shares.hottest) is None:
            return
        self.hottest = hottest
        self.softirq_max_ratio.observe(now, shares.cpus[hottest].softirq)
        if (iowait_max := shares.iowait_max) is not None:
            self.iowait_max_ratio.observe(now, iowait_max)
        if softirq_bound(shares, rules):
            self.softirq_saturated_seconds += seconds
