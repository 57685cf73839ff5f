"""Accumulates the intervals of the CPUs into counters and maxima."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.config.disk_rules import VerdictRules
from exporter.io.accumulators import (
    MAX_WINDOW_SECONDS,
    MonotonicCounter,
    RollingMax,
    counter_state,
    restored_counter,
)
from exporter.io.block_completions import BlockCompletions
from exporter.io.interval import CpuInterval
from exporter.io.verdict import completing_cpu_is_full, cpu_is_bottleneck, softirq_is_saturated
from exporter.linux.proc_stat import CpuStat


@dataclass(slots=True)
class CpuActivity:
    """The rolling maxima and counters of the CPUs.

    softirq_max_ratio, iowait_max_ratio: the largest share of a CPU's time in the last minute,
        0 to 1.
    hottest: the number of the CPU with the largest softirq share in the last interval; None before
        the first interval.
    is_softirq_saturated: True if a CPU was saturated by interrupts in the last interval.
    softirq_saturated_seconds: counter of the time in which a CPU was saturated by interrupts.
    idle, iowait: counters of seconds, summed over all CPUs, that never decrease.
    idle_by_cpu, iowait_by_cpu: the same counters per CPU, keyed by CPU number; empty unless the
        settings enable them.
    """

    softirq_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    iowait_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    hottest: int | None = None
    is_softirq_saturated: bool = False
    softirq_saturated_seconds: float = 0.0
    idle: MonotonicCounter = field(default_factory=MonotonicCounter)
    iowait: MonotonicCounter = field(default_factory=MonotonicCounter)
    idle_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)
    iowait_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)

    def restore(self, state: Mapping[str, Any], boot_id: str) -> None:
        """Continues the idle and iowait counters of an earlier run; see `restored_counter`.

        state: the values of the state file; invalid ones are ignored.
        """
        self.idle = restored_counter(state.get("idle"), boot_id)
        self.iowait = restored_counter(state.get("iowait"), boot_id)

    def to_state(self, boot_id: str, *, at_end: bool) -> dict[str, Any]:
        """Returns the idle and iowait counters for the state file; see `counter_state`."""
        return {
            "idle": counter_state(self.idle, boot_id, at_end=at_end),
            "iowait": counter_state(self.iowait, boot_id, at_end=at_end),
        }

    def record_idle_time(self, sampled: CpuStat, *, per_cpu: bool) -> None:
        """Advances the idle and iowait counters to the values of this sample."""
        if (total := sampled.total) is not None:
            self.idle.advance(total.idle)
            self.iowait.advance(total.iowait)
        if per_cpu:
            for number, times in sampled.cpus.items():
                self.idle_by_cpu.setdefault(number, MonotonicCounter()).advance(times.idle)
                self.iowait_by_cpu.setdefault(number, MonotonicCounter()).advance(times.iowait)

    def record(self, now: float, shares: CpuInterval, seconds: float, rules: VerdictRules) -> None:
        """Records the interval that ended at `now` (monotonic seconds) and lasted `seconds`."""
        if (hottest := shares.hottest) is None:
            return
        self.hottest = hottest
        self.softirq_max_ratio.observe(now, shares.cpus[hottest].softirq)
        if (iowait_max := shares.iowait_max) is not None:
            self.iowait_max_ratio.observe(now, iowait_max)
        self.is_softirq_saturated = softirq_is_saturated(shares, rules)
        if self.is_softirq_saturated:
            self.softirq_saturated_seconds += seconds

    def delays_completions(
        self, shares: CpuInterval | None, completions: BlockCompletions, rules: VerdictRules
    ) -> tuple[bool, bool]:
        """Returns the results of `cpu_is_bottleneck` and `completing_cpu_is_full`.

        shares: those of the last call of `record`; None if it was not called for this interval.
        """
        if shares is None or not self.is_softirq_saturated:
            return False, False
        completing = completions.shares(rules.block_softirqs_per_second)
        return (
            cpu_is_bottleneck(shares, completing, rules),
            completing_cpu_is_full(shares, completing, rules),
        )
