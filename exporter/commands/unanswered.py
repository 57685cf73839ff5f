"""What is known of the drives that say nothing: who they are, and whether they owe an answer."""

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass

from exporter.background import addressing
from exporter.background.drive_labels import labels
from exporter.background.inventory import Inventory
from exporter.drives.health import DriveIdentity
from exporter.drives.watched import WatchedDrive
from exporter.linux.nodes import Nodes
from exporter.linux.topology import Topology
from exporter.tools.smartctl import Address

#: How a disk is attached that is one drive, and no volume or virtual disk.
_OF_DRIVES = frozenset({"nvme", "sata", "sas", "usb"})

#: Why smartctl's scan names no drive here, by what the drive hangs on.
_UNASKED = {
    "virtio": "a virtual disk: it has no SMART; look at the host it lives on",
    "usb": (
        "smartctl does not know its USB bridge: set the type of this device in the configuration, "
        "sat for a SATA drive, sntjmicron, sntasmedia or sntrealtek for an NVMe drive"
    ),
}


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What the kernel and the daemon know of a host's drives, without asking any."""

    nodes: Nodes
    topology: Topology
    inventory: Inventory


def unheard(
    host: KnownHost, addresses: Iterable[Address], heard: Container[Address], message: str
) -> Iterator[WatchedDrive]:
    """Those of the addresses of which there is no word.

    message: why, for people.
    """
    for address, label in labels(addresses, host.nodes).items():
        if address in heard:
            continue
        known = host.inventory.at(address)
        device = host.topology.devices.get(label)
        who = known or (device.identity if device else DriveIdentity())
        yield WatchedDrive(
            label,
            who.serial or "",
            str(address),
            DriveIdentity(model=who.model, serial=who.serial, firmware=who.firmware),
            was_asked=False,
            message=message,
        )


def owes_answer(host: KnownHost, drive: WatchedDrive, address: Address | None) -> bool:
    """Whether a drive that was asked is there for sure, by the kernel or as it was known.

    address: where it was asked; None where it was not.
    """
    if drive.up or not drive.was_asked or drive.is_missing:
        return False
    if address is None or host.inventory.at(address) is not None:
        return address is not None
    if not addressing.is_direct(address, host.nodes):
        return False
    device = host.topology.devices.get(drive.label)
    if device is None:
        return True  # an NVMe controller that has no namespace, or lost it
    transport = device.identity.transport
    # An empty card reader is a disk of no size.
    is_empty = transport == "usb" and not device.block.capacity_bytes
    return transport in _OF_DRIVES and not is_empty


def without_drive(host: KnownHost, known: Collection[str], problem: str) -> Iterator[WatchedDrive]:
    """The block devices that no drive is known of.

    known: the devices of drives. problem: why the look for drives failed; else empty.
    """
    for name, device in host.topology.devices.items():
        if not device.block.is_leaf or name in known or _is_no_drive(name):
            continue
        who = device.identity
        yield WatchedDrive(
            label=name,
            serial=who.serial or "",
            address=f"/dev/{name}",
            message=_UNASKED.get(who.transport or "")
            or problem
            or "smartctl finds no drive here that has SMART",
        )


def _is_no_drive(name: str) -> bool:
    return name.startswith(("loop", "ram", "zram", "sr", "fd", "nbd"))
