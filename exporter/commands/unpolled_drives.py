"""Describes the drives for which a command has no SMART data, and states the reason.

There are three kinds of such drives: those that only the daemon may poll, those that did not answer
in time, and block devices for which smartctl's scan found no drive. The inventory is the list of
all drives that the daemon ever saw.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.drives.health import DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux.device_nodes import DeviceNodes
from exporter.linux.topology import Topology
from exporter.smart import mmc_drives
from exporter.smart.drive_labels import labels
from exporter.smart.inventory import Inventory
from exporter.smart.smartctl import Address

#: Why smartctl's scan finds no drive. The key is the transport of the block device.
_REASONS_BY_TRANSPORT = {
    "mmc": mmc_drives.NO_WEAR,
    "virtio": "it is a virtual disk and has no SMART data; check SMART on the hypervisor",
    "usb": (
        "smartctl does not recognize its USB bridge; set smart_type of this device in the"
        " configuration: sat for a SATA drive; sntjmicron, sntasmedia or sntrealtek for an NVMe"
        " drive"
    ),
}


@dataclass(frozen=True, slots=True)
class HostDrives:
    """The data about the drives of the host that need no poll.

    nodes, topology: the device nodes and the block devices of the kernel.
    inventory: the drives that the daemon ever saw.
    """

    nodes: DeviceNodes
    topology: Topology
    inventory: Inventory


def excluded_drives(excluded: Sequence[Address], nodes: DeviceNodes) -> list[WatchedDrive]:
    """Returns the drives that `polling_plan.shared` left out, as drives that were not polled.

    excluded: the addresses of these drives.
    """
    message = (
        "not polled: only the daemon may poll it, because two smartctl processes behind this type"
        " of bridge can disturb each other"
    )
    return [
        WatchedDrive(label, "", str(address), was_reached=False, message=message)
        for address, label in labels(excluded, nodes).items()
    ]


def unanswered_drives(
    host: HostDrives,
    addresses: Iterable[Address],
    answered: Container[Address],
    message: str,
    *,
    is_known: Callable[[Address], bool],
    is_late: bool,
) -> Iterator[WatchedDrive]:
    """Yields the drives of `addresses` that are not in `answered`.

    message: why there is no result, as text for people.
    is_known: `DriveRegistry.is_known`.
    is_late: True if the drives were polled and did not answer in time.
    """
    for address, label in labels(addresses, host.nodes).items():
        if address in answered:
            continue
        known = host.inventory.at(address)
        device = host.topology.devices.get(label)
        identity = known or (device.identity if device else DriveIdentity())
        yield WatchedDrive(
            label,
            identity.serial or "",
            str(address),
            DriveIdentity(model=identity.model, serial=identity.serial, firmware=identity.firmware),
            was_reached=is_late,
            message=message,
            is_known=is_known(address),
        )


def devices_without_drive(
    host: HostDrives, known: Collection[str], problem: str
) -> Iterator[WatchedDrive]:
    """Yields the block devices for which no drive is known, as drives without SMART data.

    Devices that the kernel lists as virtual are left out, such as loop devices and ZFS volumes.

    known: the names of the block devices that belong to known drives.
    problem: why the scan for drives failed; empty if it succeeded.
    """
    for name, device in host.topology.devices.items():
        if device.block.kind != "disk" or device.block.slaves or name in known:
            continue
        identity = device.identity
        yield WatchedDrive(
            label=name,
            serial=identity.serial or "",
            address=f"/dev/{name}",
            message=_REASONS_BY_TRANSPORT.get(identity.transport or "")
            or problem
            or "smartctl's scan finds no drive with SMART data here",
            is_known=False,
        )
