"""The collector `cpu`: CPU time by mode, and its largest values within the last minute."""

from collections.abc import Iterator

from exporter.families import cpu_families as metrics
from exporter.families.desc import Sample
from exporter.io.accumulators import MAX_WINDOW, MonotonicCounter
from exporter.io.sampler import Sampler
from exporter.linux.proc_stat import CpuTimes
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        sampler, settings = sources.sampler, sources.settings
        with sampler.flushed():
            found = list(samples(sampler, sources.clock.monotonic(), per_cpu=settings.cpu.per_cpu))
            if settings.compat.node_exporter:
                # Imported only if it is used, because the daemon's memory is limited.
                from exporter.metrics import node_exporter_compat  # noqa: PLC0415

                found += node_exporter_compat.cpu_samples(sampler)
        return Parsed(found)

    return collect


def samples(sampler: Sampler, now: float, *, per_cpu: bool) -> Iterator[Sample]:
    """Yields the samples of CPU time, and of its largest values within the last minute.

    now: the monotonic time.
    per_cpu: True yields also the times of each CPU.
    """
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
    yield "idle", idle.value
    yield "iowait", iowait.value
    yield "softirq", times.softirq
    yield "irq", times.irq
    yield "steal", times.steal
