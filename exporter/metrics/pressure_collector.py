"""Pressure stall information of the host.

Pressure and bytes of mysqld's control groups, and of those configured.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotThere, ParseError, SourceError
from exporter.linux import cgroup, pressure
from exporter.linux.cgroup import IoStat
from exporter.linux.files import Parsed
from exporter.linux.pressure import Pressure
from exporter.metrics import compat_families
from exporter.metrics import cpu_families as metrics
from exporter.metrics.desc import Sample

_RESOURCES = ("io", "cpu", "memory", "irq")


def read_pressure(proc: Path) -> Parsed[dict[str, Pressure]]:
    """The host's pressures by resource: io, cpu, memory, irq, those that the kernel keeps.

    Raises:
        NotThere: it keeps none.
    """
    found: dict[str, Pressure] = {}
    faults: list[SourceError] = []
    for resource in _RESOURCES:
        try:
            found[resource] = pressure.read(proc / "pressure" / resource)
        except NotThere:
            continue
        except SourceError as e:
            faults.append(type(e)(f"{resource}: {e}"))
    if not found and not faults:
        raise NotThere(f"{proc}/pressure: this kernel keeps no pressure (before 4.20, or psi=0)")
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
class Group:
    """One control group; None where the kernel keeps that for no group, or not for this one."""

    name: str
    pressure: Pressure | None
    io: IoStat | None


def read_groups(sys: Path, names: Sequence[str]) -> Parsed[list[Group]]:
    """The groups of these names, as /proc/<pid>/cgroup spells them; those gone are left out.

    The root group is the whole host, and names that lead out of the tree (a cgroup namespace
    shows such) are nobody's.
    """
    root = cgroup.unified_root(sys)
    groups: list[Group] = []
    faults: list[SourceError] = []
    for name in dict.fromkeys(f"/{name.strip('/')}" for name in names):
        place = root / name[1:]
        if name == "/" or ".." in place.parts or not os.path.isdir(place):
            continue
        its_pressure: Pressure | None = None
        its_io: IoStat | None = None
        try:
            its_pressure = pressure.read(place / "io.pressure")
        except NotThere:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        try:
            parsed = cgroup.read_io_stat(place)
            its_io = parsed.value
            faults.extend(ParseError(f"{name}: {fault}") for fault in parsed.faults)
        except NotThere:
            pass
        except SourceError as e:
            faults.append(type(e)(f"{name}: {e}"))
        groups.append(Group(name, its_pressure, its_io))
    return Parsed(groups, tuple(faults))


def group_samples(groups: Sequence[Group], devices: Mapping[str, str]) -> Iterator[Sample]:
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
