"""Decides whether a drive is certainly present at an address at which no drive answers.

The settings may list addresses without a drive, such as all slots of a controller. An address
without an answer is a failure only if the kernel, the controller or a scan lists a drive there.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from exporter.linux.device import Device
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.smartctl import Address

#: The transports of physical drives. Volumes and virtual disks have other transports.
_DRIVE_TRANSPORTS = frozenset({"nvme", "sata", "sas", "ufs", "usb"})

#: A type that selects one of the two drives behind a USB bridge by the number of its port
#: (smartctl(8), usbjmicron). The block device may belong to the other drive.
_BRIDGE_PORT = re.compile(r"usbjmicron.*,[01]", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostContext:
    """Values about devices that other parts of the monitor provide.

    disks: returns the kernel's identity of each disk, keyed by name.
    written_bytes: returns the bytes that the kernel has written to the device with a given name
        since it appeared; None means unknown.
    rated_bytes: the configured rated endurance in bytes, keyed by label.
    empty: returns the names of the block devices of size zero, such as empty card readers.
    """

    disks: Callable[[], Mapping[str, DeviceIdentity]]
    written_bytes: Callable[[str], int | None]
    rated_bytes: Mapping[str, int] = field(default_factory=dict)
    empty: Callable[[], frozenset[str]] = frozenset


def empty_devices(devices: Mapping[str, Device]) -> frozenset[str]:
    """Returns the names of the block devices of size zero."""
    return frozenset(name for name, device in devices.items() if device.block.capacity_bytes == 0)


def is_certain(
    address: Address,
    label: str,
    nodes: DeviceNodes,
    context: HostContext,
    *,
    only_configured: bool,
) -> bool:
    """True if the kernel, the controller or a scan lists a drive at the address.

    label: the `device` label of the address.
    only_configured: True if the settings name the address, and no scan has found it.
    """
    if _BRIDGE_PORT.fullmatch(address.type):
        return False
    if not addressing.is_direct(address, nodes):
        return not only_configured
    disk = context.disks().get(label)
    if disk is None:
        # An NVMe controller without a namespace, or a block device that was added just now.
        return True
    is_physical = disk.transport in _DRIVE_TRANSPORTS or disk.serial is not None
    return is_physical and label not in context.empty()
