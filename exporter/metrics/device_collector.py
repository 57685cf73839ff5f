"""Yields the samples of devices and filesystems: identity, state, mounts, roles and free space.

A role is what a MySQL server uses a drive for, such as mysql-data, or a name from the settings.
"""

from collections.abc import Callable, Iterator, Mapping

from exporter.drives.health import DriveIdentity
from exporter.families import device_families as metrics
from exporter.families.desc import Sample
from exporter.linux import pcie
from exporter.linux.block import BlockDevice
from exporter.linux.device import Device
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.filesystems import Filesystem
from exporter.linux.pcie import PcieErrors
from exporter.linux.topology import Topology

_UNKNOWN = DriveIdentity()


def filesystem_samples(topology: Topology, wanted: Callable[[str], bool]) -> Iterator[Sample]:
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


def samples(
    topology: Topology, wanted: Callable[[str], bool], drives: Mapping[str, DriveIdentity]
) -> Iterator[Sample]:
    """Yields the samples of every exposed drive, and of Linux software RAID (md) on such drives.

    wanted: returns True for the name of a device that is exposed.
    drives: the identities from SMART, keyed by device name. They take precedence over the kernel's
        identities. For a drive behind a USB bridge, the kernel's identity describes the bridge.
    """
    for name, device in topology.devices.items():
        if device.block.is_leaf and wanted(name):
            yield from _identity(name, device, drives.get(name, _UNKNOWN))
            yield from _state(name, device)
            yield from _pcie_errors(name, device, topology)
        elif device.degraded_members is not None and any(map(wanted, topology.leaves_of(name))):
            yield metrics.MD_DEGRADED(device.degraded_members, name)
            if device.sync is not None:
                yield metrics.MD_SYNC_ACTION(1, name, device.sync.action)
                if device.sync.progress_ratio is not None:
                    yield metrics.MD_SYNC_PROGRESS(device.sync.progress_ratio, name)


def model_name(kernel: DeviceIdentity) -> str:
    """Returns the model name with the vendor, which SCSI reports separately; empty if unknown."""
    return " ".join(filter(None, (kernel.vendor, kernel.model)))


def _identity(name: str, device: Device, smart: DriveIdentity) -> Iterator[Sample]:
    kernel, block, queue = device.identity, device.block, device.block.queue
    yield metrics.DEVICE_INFO(
        1,
        name,
        ",".join(kernel.controllers),
        smart.model or model_name(kernel),
        smart.family or "",
        smart.serial or kernel.serial or "",
        smart.firmware or kernel.firmware or "",
        kernel.wwn or smart.wwn or "",
        kernel.transport or "",
        kernel.protocol or "",
        _flag(queue.rotational),
    )
    yield metrics.DEVICE_QUEUE_INFO(
        1,
        name,
        queue.scheduler or "",
        queue.write_cache or "",
        _flag(queue.fua),
        _flag(queue.discard),
    )
    if block.capacity_bytes is not None:
        yield metrics.DEVICE_CAPACITY(block.capacity_bytes, name)
    yield from _partitions(name, block)


def _partitions(name: str, block: BlockDevice) -> Iterator[Sample]:
    for partition in block.partitions:
        if partition.misaligned is not None:
            yield metrics.PARTITION_MISALIGNED(int(partition.misaligned), name, partition.name)


def _state(name: str, device: Device) -> Iterator[Sample]:
    state = device.state
    if state.ok is not None:
        yield metrics.DEVICE_STATE_OK(int(state.ok), name)
    if state.io_errors is not None:
        yield metrics.IO_ERRORS(state.io_errors, name)
    if state.io_timeouts is not None:
        yield metrics.IO_TIMEOUTS(state.io_timeouts, name)
    if state.link is not None:
        if state.link.speed_bytes_per_second is not None:
            yield metrics.LINK_SPEED(state.link.speed_bytes_per_second, name)
        if state.link.max_bytes_per_second is not None:
            yield metrics.LINK_SPEED_MAX(state.link.max_bytes_per_second, name)


def _pcie_errors(name: str, device: Device, topology: Topology) -> Iterator[Sample]:
    errors: PcieErrors | None = None
    for controller, counted in device.state.pcie_errors:
        if topology.first_namespaces.get(controller) == name:
            errors = counted if errors is None else pcie.sum_errors(errors, counted)
    if errors is not None:
        for severity in ("correctable", "nonfatal", "fatal"):
            count: int | None = getattr(errors, severity)
            if count is not None:
                yield metrics.PCIE_ERRORS(count, name, severity)


def _flag(value: bool | None) -> str:
    return "" if value is None else str(int(value))
