"""The collector `device`: the identity, state and links of drives, and software RAID."""

from collections.abc import Callable, Iterator, Mapping

from exporter.drives.health import DriveIdentity
from exporter.families import device_families as metrics
from exporter.families.desc import Sample, SampleBlock, blocks
from exporter.linux import pcie
from exporter.linux.block import BlockDevice
from exporter.linux.device import Device
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.pcie import PcieErrors
from exporter.linux.topology import Topology
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed

_UNKNOWN = DriveIdentity()


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""
    last: tuple[object, object, object] = (None, None, None)
    found: list[SampleBlock] = []

    def collect() -> Parsed[list[SampleBlock]]:
        nonlocal last, found
        topology, settings, health = sources.survey.topology, sources.settings, sources.health
        if topology is None:
            return Parsed([])
        smart_identities = {} if health is None else health.drives.identities()
        # The topology is a value that a survey replaces, so the samples change only with it.
        if topology is not last[0] or (settings, smart_identities) != last[1:]:
            found = blocks(samples(topology, sources.is_exported, smart_identities))
            last = topology, settings, smart_identities
        return Parsed(found)

    return collect


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
