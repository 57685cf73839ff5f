"""CPU time and its worst seconds, softirqs, and the network softirq's backlog."""

from collections.abc import Iterator

from exporter.io.accumulators import MonotonicCounter
from exporter.io.disk_activity import MAX_WINDOW
from exporter.io.sampler import Sampler
from exporter.linux.proc_stat import CpuTimes
from exporter.linux.softirqs import Softirqs
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics import cpu_families as metrics
from exporter.metrics.desc import Sample


def samples(sampler: Sampler, now: float, *, per_cpu: bool) -> Iterator[Sample]:
    """The CPUs as the last sample saw them."""
    if sampler.stat is None:
        return
    cpu = sampler.cpu
    if sampler.stat.total is not None:
        for mode, seconds in _modes(sampler.stat.total, cpu.idle, cpu.iowait):
            yield metrics.CPU_SECONDS(seconds, mode)
    if (softirq := cpu.softirq_max_ratio.value(now)) is not None:
        yield metrics.SOFTIRQ_MAX_RATIO(softirq, MAX_WINDOW)
    if cpu.hottest is not None:
        yield metrics.SOFTIRQ_HOTTEST_CPU(cpu.hottest)
    if (iowait := cpu.iowait_max_ratio.value(now)) is not None:
        yield metrics.IOWAIT_MAX_RATIO(iowait, MAX_WINDOW)
    yield metrics.SOFTIRQ_SATURATED(cpu.softirq_saturated_seconds)
    if per_cpu:
        for number, times in sampler.stat.cpus.items():
            for mode, seconds in _modes(times, cpu.idle_by_cpu[number], cpu.iowait_by_cpu[number]):
                yield metrics.CPU_SECONDS_BY_CPU(seconds, str(number), mode)


def _modes(
    times: CpuTimes, idle: MonotonicCounter, iowait: MonotonicCounter
) -> Iterator[tuple[str, float]]:
    yield "user", times.user + times.nice
    yield "system", times.system
    yield "idle", idle.said
    yield "iowait", iowait.said
    yield "softirq", times.softirq
    yield "irq", times.irq
    yield "steal", times.steal


def softirq_samples(softirqs: Softirqs, *, per_cpu: bool) -> Iterator[Sample]:
    """Softirqs by vector, and by CPU where asked for."""
    for vector, counts in softirqs.items():
        yield metrics.SOFTIRQS(sum(counts.values()), vector)
    if per_cpu:
        for vector, counts in softirqs.items():
            for number, count in counts.items():
                yield metrics.SOFTIRQS_BY_CPU(count, str(number), vector)


def softnet_samples(softnet: SoftnetCounters) -> Iterator[Sample]:
    """The network backlog."""
    yield metrics.SOFTNET_DROPPED(softnet.dropped)
    yield metrics.SOFTNET_SQUEEZED(softnet.times_squeezed)
