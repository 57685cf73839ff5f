"""What is mounted from which drive, for whom, and how full it is, to samples."""

from collections.abc import Callable, Iterator

from exporter.linux.filesystem import Filesystem
from exporter.linux.topology import Topology
from exporter.metrics import identity as metrics
from exporter.metrics.desc import Sample


def samples(topology: Topology, wanted: Callable[[str], bool]) -> Iterator[Sample]:
    """Mounts and roles of the wanted drives; ssd_filesystem_* for mounts with a role."""
    asked = {role.mountpoint for role in topology.roles}
    for filesystem in topology.filesystems:
        for device in filter(wanted, filesystem.devices):
            yield metrics.MOUNT_INFO(1, device, filesystem.mountpoint, filesystem.fstype)
            if filesystem.mountpoint in asked:
                yield from _condition(device, filesystem)
    # Two servers on one drive do the same for it once.
    roles = {(device, role.name) for role in topology.roles for device in role.devices}
    for device, role_name in sorted(roles):
        if wanted(device):
            yield metrics.ROLE_INFO(1, device, role_name)


def _condition(device: str, filesystem: Filesystem) -> Iterator[Sample]:
    labels = device, filesystem.mountpoint
    yield metrics.FILESYSTEM_READONLY(int(filesystem.readonly), *labels)
    if filesystem.errors is not None:
        yield metrics.FILESYSTEM_ERRORS(filesystem.errors, *labels)
    if filesystem.usage is not None:
        yield metrics.FILESYSTEM_SIZE(filesystem.usage.size_bytes, *labels)
        yield metrics.FILESYSTEM_AVAIL(filesystem.usage.avail_bytes, *labels)
