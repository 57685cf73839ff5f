"""Yields the samples of CPU time, softirqs, network backlog and pressure.

Pressure is the kernel's pressure stall information (PSI): "waiting" is the time in which at least
one task waited for a resource, and "stalled" the time in which all non-idle tasks waited. It is
collected for the host and for control groups: those of mysqld and those in the settings.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import LimitReached, NotAvailable, ParseError, SourceError
from exporter.io.accumulators import MAX_WINDOW, MonotonicCounter
from exporter.io.sampler import Sampler
from exporter.io.service_watch import ServiceWatch
from exporter.io.services import ServiceIo
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

#: The resources with pressure. These are the names of the files in /proc/pressure.
_RESOURCES = ("io", "cpu", "memory", "irq")


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


def softirq_samples(softirqs: Softirqs, *, per_cpu: bool) -> Iterator[Sample]:
    """Yields the number of softirqs of each vector, which is the kernel's name for their kind.

    per_cpu: True yields also the numbers of each CPU.
    """
    for vector, counts in softirqs.items():
        yield metrics.SOFTIRQS(sum(counts.values()), vector)
    if per_cpu:
        for vector, counts in softirqs.items():
            for number, count in counts.items():
                yield metrics.SOFTIRQS_BY_CPU(count, str(number), vector)


def softnet_samples(softnet: SoftnetCounters) -> Iterator[Sample]:
    """Yields the samples of the network backlog."""
    yield metrics.SOFTNET_DROPPED(softnet.dropped)
    yield metrics.SOFTNET_SQUEEZED(softnet.times_squeezed)


def read_pressure(proc: Path) -> Parsed[dict[str, Pressure]]:
    """Returns the host's pressure, keyed by resource. Omits resources that the kernel lacks.

    proc: the path of /proc.

    Raises:
        NotAvailable: the kernel has no pressure stall information.
    """
    pressures: dict[str, Pressure] = {}
    faults: list[SourceError] = []
    for resource in _RESOURCES:
        try:
            pressures[resource] = pressure.read(proc / "pressure" / resource)
        except NotAvailable:
            continue
        except SourceError as e:
            faults.append(type(e)(f"{resource}: {e}"))
    if not pressures and not faults:
        raise NotAvailable(
            f"{proc}/pressure: the kernel has no pressure stall information "
            "(older than 4.20, or booted with psi=0)"
        )
    return Parsed(pressures, tuple(faults))


def pressure_samples(pressures: Mapping[str, Pressure], *, node_exporter: bool) -> Iterator[Sample]:
    """Yields the waiting and stalled times of the host.

    pressures: the pressure, keyed by resource.
    node_exporter: True means that the times are also yielded under node_exporter's names.
    """
    for resource, stalls in pressures.items():
        for kind, seconds in (
            ("waiting", stalls.waiting_seconds),
            ("stalled", stalls.stalled_seconds),
        ):
            if seconds is None:
                continue
            if desc := metrics.PRESSURE.get((resource, kind)):
                yield desc(seconds)
            if node_exporter and (desc := compat_families.PRESSURE.get((resource, kind))):
                yield desc(seconds)


@dataclass(frozen=True, slots=True)
class CgroupUsage:
    """The pressure and the I/O of one control group.

    name: the path of the group, as in /proc/<pid>/cgroup.
    pressure: the I/O pressure; None means unknown.
    io: the bytes read and written, keyed by the device's "major:minor"; None means unknown.
    """

    name: str
    pressure: Pressure | None
    io: IoStat | None


def read_cgroups(sys: Path, names: Sequence[str]) -> Parsed[list[CgroupUsage]]:
    """Returns the pressure and the I/O of the control groups with these names.

    Three kinds of groups are omitted: groups that do not exist, the root group, because it is the
    whole host, and names with "..". A cgroup namespace shows such names for groups outside of it.

    sys: the path of /sys.
    names: the paths of the groups, as in /proc/<pid>/cgroup.
    """
    root = cgroup.unified_root(sys)
    groups: list[CgroupUsage] = []
    faults: list[SourceError] = []
    devices = 0
    for name in dict.fromkeys(f"/{name.strip('/')}" for name in names):
        path = root / name[1:]
        if name == "/" or ".." in path.parts or not os.path.isdir(path):
            continue
        group_pressure: Pressure | None = None
        group_io: IoStat | None = None
        try:
            group_pressure = pressure.read(path / "io.pressure")
        except NotAvailable:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        if devices >= cgroup.MAX_GROUP_DEVICES:
            faults.append(LimitReached(f"{name}: io.stat: not read, because of the other groups"))
            groups.append(CgroupUsage(name, group_pressure, None))
            continue
        try:
            parsed = cgroup.read_io_stat(path)
            group_io = parsed.value
            devices += len(group_io)
            faults.extend(ParseError(f"{name}: {fault}") for fault in parsed.faults)
        except NotAvailable:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        groups.append(CgroupUsage(name, group_pressure, group_io))
    return Parsed(groups, tuple(faults))


def cgroup_samples(groups: Sequence[CgroupUsage], devices: Mapping[str, str]) -> Iterator[Sample]:
    """Yields the pressure of each control group, and the bytes that it read and wrote.

    devices: the names of the exposed devices, keyed by "major:minor".
    """
    for group in groups:
        if group.pressure is not None:
            if group.pressure.waiting_seconds is not None:
                yield metrics.CGROUP_WAITING(group.pressure.waiting_seconds, group.name)
            if group.pressure.stalled_seconds is not None:
                yield metrics.CGROUP_STALLED(group.pressure.stalled_seconds, group.name)
        for number, io_bytes in (group.io or {}).items():
            if device := devices.get(number):
                yield metrics.CGROUP_READ_BYTES(io_bytes.read_bytes, group.name, device)
                yield metrics.CGROUP_WRITTEN_BYTES(io_bytes.written_bytes, group.name, device)


def read_services(sys: Path, services: ServiceWatch) -> Parsed[list[Sample]]:
    """Returns the samples of mysqld's and the configured control groups, and of busy services.

    The groups are read now, and the services were read earlier.

    sys: the path of /sys.
    """
    parsed = read_cgroups(sys, services.configured_groups())
    samples = [
        *cgroup_samples(parsed.value, services.names_by_number()),
        *service_samples(services.totals),
    ]
    return Parsed(samples, parsed.faults)


def service_samples(
    totals: Mapping[str, Sequence[tuple[str, ServiceIo]]],
) -> Iterator[Sample]:
    """Yields the bytes and the requests of the busiest services of each device.

    totals: pairs of the name of the service and its I/O, keyed by device.
    """
    for device, services in totals.items():
        for name, io in services:
            yield metrics.SERVICE_READ_BYTES(io.read_bytes, device, name)
            yield metrics.SERVICE_WRITTEN_BYTES(io.written_bytes, device, name)
            yield metrics.SERVICE_READS(io.reads, device, name)
            yield metrics.SERVICE_WRITES(io.writes, device, name)
