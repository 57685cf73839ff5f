"""The collector `filesystem`: mounts, roles of drives, and the state and free space of filesystems.

A role is what a MySQL server uses a drive for, such as mysql-data, or a name from the settings.
"""

from collections.abc import Callable, Iterator

from exporter.families import device_families as metrics
from exporter.families.desc import Sample
from exporter.linux.filesystems import Filesystem
from exporter.linux.topology import Topology
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        topology = sources.survey.topology
        return Parsed([] if topology is None else list(samples(topology, sources.is_exported)))

    return collect


def samples(topology: Topology, wanted: Callable[[str], bool]) -> Iterator[Sample]:
    """Yields mounts, roles of drives, the state of filesystems on them, and the state of ZFS pools.

    wanted: returns True for the name of a device that is exposed.
    """
    for filesystem in topology.filesystems:
        for device in filter(wanted, filesystem.devices):
            yield metrics.MOUNT_INFO(1, device, filesystem.mountpoint, filesystem.fstype)
            if filesystem.is_watched:
                yield from _filesystem_state(device, filesystem)
    # Keyed by drive and role, because two servers with the same role on one drive must result in
    # one series. The value is True if one of these servers runs, and None for a role of settings.
    roles: dict[tuple[str, str], bool | None] = {}
    for role in topology.roles:
        runs = False if role.has_ended else None if role.pid is None else True
        for device in filter(wanted, role.devices):
            key = device, role.name
            roles[key] = roles.get(key) or runs
    for (device, role_name), runs in sorted(roles.items()):
        yield metrics.ROLE_INFO(1, device, role_name)
        if runs is not None:
            yield metrics.ROLE_ACTIVE(int(runs), device, role_name)
    for labels in _servers_of_roles(topology, wanted):
        yield metrics.ROLE_SERVER(1, *labels)
    for pool, state in topology.pool_states.items():
        yield metrics.ZFS_POOL_STATE(1, pool, state)


def _servers_of_roles(
    topology: Topology, wanted: Callable[[str], bool]
) -> list[tuple[str, str, str]]:
    """Returns drive, role and port of each server; empty unless several servers run."""
    if len(topology.servers) < 2:
        return []
    ports = {server.pid: server.port for server in topology.servers}
    return sorted(
        {
            (device, role.name, str(port))
            for role in topology.roles
            if role.pid is not None and (port := ports.get(role.pid)) is not None
            for device in filter(wanted, role.devices)
        }
    )


def _filesystem_state(device: str, filesystem: Filesystem) -> Iterator[Sample]:
    labels = device, filesystem.mountpoint
    yield metrics.FILESYSTEM_READONLY(int(filesystem.readonly), *labels)
    if filesystem.failed is not None:
        yield metrics.FILESYSTEM_FAILED(int(filesystem.failed), *labels)
    if filesystem.errors is not None:
        yield metrics.FILESYSTEM_ERRORS(filesystem.errors, *labels)
    if filesystem.usage is not None:
        yield metrics.FILESYSTEM_SIZE(filesystem.usage.size_bytes, *labels)
        yield metrics.FILESYSTEM_AVAIL(filesystem.usage.avail_bytes, *labels)
