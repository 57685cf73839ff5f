"""The collector `cgroup`: pressure and I/O of mysqld's and the configured groups, and of services.

The groups are read at each rendering of the page; `ServiceWatch` has read the services earlier.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.families import cpu_families as metrics
from exporter.families.desc import Sample
from exporter.io.services import ServiceIo
from exporter.linux import cgroup, pressure
from exporter.linux.cgroup import IoStat
from exporter.linux.pressure import Pressure
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import LimitReached, NotAvailable, Parsed, ParseError, SourceError


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        services = sources.services
        parsed = read_cgroups(sources.settings.path.sysfs, services.configured_groups())
        found = [
            *samples(parsed.value, services.names_by_number()),
            *service_samples(services.totals),
        ]
        return Parsed(found, parsed.faults)

    return collect


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


def samples(groups: Sequence[CgroupUsage], devices: Mapping[str, str]) -> Iterator[Sample]:
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
