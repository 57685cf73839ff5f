"""Describes the drives for which a command has no SMART data, and states the reason.

There are three kinds of such drives: those that only the daemon may poll, those that did not answer
in time, and block devices for which smartctl's scan found no drive. The inventory is the list of
all drives that the daemon ever saw.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.drives.health import DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux.device_nodes import DeviceNodes
from exporter.linux.topology import Topology
from exporter.smart import addressing, mmc_drives
from exporter.smart.drive_labels import labels
from exporter.smart.inventory import Inventory
from exporter.smart.smartctl import Address

#: The transports of physical drives. Volumes and virtual disks have other transports.
_DRIVE_TRANSPORTS = frozenset({"nvme", "sata", "sas", "usb"})

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
    """What is known about the drives of the host without a poll.

    nodes, topology: the device nodes and the block devices of the kernel.
    inventory: the drives that the daemon ever saw.
    """

    nodes: DeviceNodes
    topology: Topology
    inventory: Inventory


def excluded_drives(excluded: Sequence[Address], nodes: DeviceNodes) -> list[WatchedDrive]:
    """Returns the drives that `polling_plan.shared` left out, as drives that were not polled.

    excluded: their addresses.
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
    host: HostDrives, addresses: Iterable[Address], answered: Container[Address], message: str
) -> Iterator[WatchedDrive]:
    """Yields the drives that have no result: those of `addresses` that are not in `answered`.

    message: why there is no result, for people.
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
            was_reached=False,
            message=message,
        )


def must_answer(host: HostDrives, drive: WatchedDrive, address: Address | None) -> bool:
    """Returns True if the drive did not answer its poll, but certainly exists.

    It exists if the inventory or the kernel lists a physical drive at its address.

    address: the address at which the drive was polled; None if it was not polled.
    """
    if drive.up or not drive.was_reached or drive.is_missing:
        return False
    if address is None or host.inventory.at(address) is not None:
        return address is not None
    if not addressing.is_direct(address, host.nodes):
        return False
    device = host.topology.devices.get(drive.label)
    if device is None:
        return True  # an NVMe controller without a namespace
    transport = device.identity.transport
    # An empty card reader is a block device of size zero.
    is_empty = transport == "usb" and not device.block.capacity_bytes
    return transport in _DRIVE_TRANSPORTS and not is_empty


def devices_without_drive(
    host: HostDrives, known: Collection[str], problem: str
) -> Iterator[WatchedDrive]:
    """Yields the block devices for which no drive is known, as drives without SMART data.

    known: the names of the block devices that belong to known drives.
    problem: why the scan for drives failed; empty if it did not.
    """
    for name, device in host.topology.devices.items():
        if not device.block.is_leaf or name in known or _has_no_drive(name):
            continue
        identity = device.identity
        yield WatchedDrive(
            label=name,
            serial=identity.serial or "",
            address=f"/dev/{name}",
            message=_REASONS_BY_TRANSPORT.get(identity.transport or "")
            or problem
            or "smartctl's scan finds no drive with SMART data here",
        )


def _has_no_drive(name: str) -> bool:
    return name.startswith(("loop", "ram", "zram", "sr", "fd", "nbd"))
