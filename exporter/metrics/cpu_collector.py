"""CPU time and its worst seconds, softirqs, and the network softirq's backlog.

Pressure stall information of the host.

Pressure and bytes of mysqld's control groups, and of those configured.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotAvailable, ParseError, SourceError
from exporter.io.accumulators import MonotonicCounter
from exporter.io.activity import MAX_WINDOW
from exporter.io.sampler import Sampler
from exporter.linux import cgroup, pressure
from exporter.linux.cgroup import IoStat
from exporter.linux.files import Parsed
from exporter.linux.pressure import Pressure
from exporter.linux.proc_stat import CpuTimes
from exporter.linux.softirqs import Softirqs
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics import compat_families
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
    yield "idle", idle.value
    yield "iowait", iowait.value
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


_RESOURCES = ("io", "cpu", "memory", "irq")


def read_pressure(proc: Path) -> Parsed[dict[str, Pressure]]:
    """The host's pressures by resource: io, cpu, memory, irq, those that the kernel keeps.

    Raises:
        NotAvailable: it keeps none.
    """
    found: dict[str, Pressure] = {}
    faults: list[SourceError] = []
    for resource in _RESOURCES:
        try:
            found[resource] = pressure.read(proc / "pressure" / resource)
        except NotAvailable:
            continue
        except SourceError as e:
            faults.append(type(e)(f"{resource}: {e}"))
    if not found and not faults:
        raise NotAvailable(
            f"{proc}/pressure: this kernel keeps no pressure (before 4.20, or psi=0)"
        )
    return Parsed(found, tuple(faults))


def pressure_samples(pressures: Mapping[str, Pressure], *, node_exporter: bool) -> Iterator[Sample]:
    """Waiting and stalled time by resource, and under node_exporter's names where asked for."""
    for resource, found in pressures.items():
        for kind, seconds in (
            ("waiting", found.waiting_seconds),
            ("stalled", found.stalled_seconds),
        ):
            if seconds is None:
                continue
            if desc := metrics.PRESSURE.get((resource, kind)):
                yield desc(seconds)
            if node_exporter and (desc := compat_families.PRESSURE.get((resource, kind))):
                yield desc(seconds)


@dataclass(frozen=True, slots=True)
class CgroupUsage:
    """One control group; None where the kernel keeps that for no group, or not for this one."""

    name: str
    pressure: Pressure | None
    io: IoStat | None


def read_groups(sys: Path, names: Sequence[str]) -> Parsed[list[CgroupUsage]]:
    """The groups of these names, as /proc/<pid>/cgroup spells them; those gone are left out.

    The root group is the whole host, and names that lead out of the tree (a cgroup namespace
    shows such) are nobody's.
    """
    root = cgroup.unified_root(sys)
    groups: list[CgroupUsage] = []
    faults: list[SourceError] = []
    for name in dict.fromkeys(f"/{name.strip('/')}" for name in names):
        place = root / name[1:]
        if name == "/" or ".." in place.parts or not os.path.isdir(place):
            continue
        its_pressure: Pressure | None = None
        its_io: IoStat | None = None
        try:
            its_pressure = pressure.read(place / "io.pressure")
        except NotAvailable:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        try:
            parsed = cgroup.read_io_stat(place)
            its_io = parsed.value
            faults.extend(ParseError(f"{name}: {fault}") for fault in parsed.faults)
        except NotAvailable:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        groups.append(CgroupUsage(name, its_pressure, its_io))
    return Parsed(groups, tuple(faults))


def group_samples(groups: Sequence[CgroupUsage], devices: Mapping[str, str]) -> Iterator[Sample]:
    """Pressure and bytes by group; `devices` names the devices wanted, by "major:minor"."""
    for group in groups:
        if group.pressure is not None:
            if group.pressure.waiting_seconds is not None:
                yield metrics.CGROUP_WAITING(group.pressure.waiting_seconds, group.name)
            if group.pressure.stalled_seconds is not None:
                yield metrics.CGROUP_STALLED(group.pressure.stalled_seconds, group.name)
        for number, counted in (group.io or {}).items():
            if device := devices.get(number):
                yield metrics.CGROUP_READ_BYTES(counted.read_bytes, group.name, device)
                yield metrics.CGROUP_WRITTEN_BYTES(counted.written_bytes, group.name, device)
