"""The drives that a command beside the daemon must not ask, for the daemon may be asking them.

Which rights are missing to reach the drives behind a MegaRAID controller.

smartctl talks to these by a node of the driver's, which it makes itself where it is not there; the
driver lets nobody open it without CAP_SYS_ADMIN. Where these rights are missing, a scan names no
such drive and does not say why (get_dev_megasas in os_linux.cpp of smartmontools;
megasas_mgmt_open in drivers/scsi/megaraid/megaraid_sas_base.c of Linux).

What is known of the drives that say nothing: who they are, and whether they owe an answer.
"""

import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.config import Settings
from exporter.drives.health import DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.errors import SourceError
from exporter.linux import capabilities, files
from exporter.linux.device_nodes import DeviceNodes
from exporter.linux.topology import Topology
from exporter.smart import addressing, polling_plan
from exporter.smart.discovery import Override
from exporter.smart.drive_labels import labels
from exporter.smart.inventory import Inventory
from exporter.smart.poll_document import PollResult
from exporter.smart.poller import PollingPlan
from exporter.smart.smartctl import Address, may_be_killed


def plan(settings: Settings) -> tuple[PollingPlan, tuple[Address, ...]]:
    """The daemon's plan without the drives that two must not ask at once, and these."""
    whole = polling_plan.of(settings)
    root, kept = settings.path.rootfs, []
    left: list[Address] = []
    for path, kind in whole.drives:
        if may_be_killed(kind):
            kept.append((path, kind))
        else:
            left += addressing.expanded(files.resolve_symlinks(root, path), kind)
    for name, override in whole.overrides.items():
        if override.type and not may_be_killed(override.type):
            path = f"/dev/{name.removeprefix('/dev/').partition(' ')[0]}"
            left.append(Address(path, override.type))
    # Nor by another type: a question through the bridge meets the other's in the middle.
    off = {address.path: Override(off=True) for address in left}
    overrides = {**whole.overrides, **off}
    rest = replace(whole, drives=tuple(kept), overrides=overrides)
    return rest, tuple(dict.fromkeys(left))


def shown(left: Sequence[Address], known: DeviceNodes) -> list[WatchedDrive]:
    """The same drives for people."""
    why = "asked by the daemon only: two that ask through such a bridge at once may do harm"
    return [
        WatchedDrive(label, "", str(address), was_reached=False, message=why)
        for address, label in labels(left, known).items()
    ]


_NODE = "megaraid_sas_ioctl_node"

_BEHIND = re.compile(r" -d (?:\S*\+)?megaraid,", re.ASCII)


def lacking(proc: Path, root: Path) -> tuple[str, ...]:
    """What this process, and so the smartctl that it runs, lacks; none where that is unknown.

    root: the / in which smartctl runs.
    """
    try:
        status = files.read(f"{proc}/self/status")
    except SourceError:
        return ()
    return parse(status, has_node=os.path.lexists(root / "dev" / _NODE))


def parse(status: str, *, has_node: bool) -> tuple[str, ...]:
    """The same out of the text of /proc/self/status (capabilities(7))."""
    held = capabilities.parse_effective(status)
    if held is None:
        return ()
    needed = [(capabilities.CAP_SYS_ADMIN, "CAP_SYS_ADMIN")]
    if not has_node:
        needed.append((capabilities.CAP_MKNOD, "CAP_MKNOD"))
    return tuple(name for bit, name in needed if not held & 1 << bit)


def explained(drives: Sequence[WatchedDrive], missing_rights: Sequence[str]) -> list[WatchedDrive]:
    """The same drives; those out of reach for want of these rights are said to be that.

    They are neither gone nor silent: nobody has asked them. Where another one answers through a
    controller, smartctl has the rights from elsewhere, and it is the drive's fault.
    """
    if not missing_rights or any(each.up and _is_behind(each) for each in drives):
        return list(drives)
    message = (
        "cannot be asked: it is behind a MegaRAID controller, and smartctl needs"
        f" {' and '.join(missing_rights)} to reach it; run this as root, or grant what is missing"
    )
    return [
        replace(each, is_missing=False, was_reached=False, message=message)
        if _is_behind(each) and (each.is_missing or PollResult.NO_ANSWER.value in each.polls)
        else each
        for each in drives
    ]


def _is_behind(drive: WatchedDrive) -> bool:
    return _BEHIND.search(drive.address) is not None


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
class UnansweredDrives:
    """What the kernel and the daemon know of a host's drives, without asking any."""

    nodes: DeviceNodes
    topology: Topology
    inventory: Inventory


def unheard(
    host: UnansweredDrives, addresses: Iterable[Address], heard: Container[Address], message: str
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
            was_reached=False,
            message=message,
        )


def owes_answer(host: UnansweredDrives, drive: WatchedDrive, address: Address | None) -> bool:
    """Whether a drive that was asked is there for sure, by the kernel or as it was known.

    address: where it was asked; None where it was not.
    """
    if drive.up or not drive.was_reached or drive.is_missing:
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


def without_drive(
    host: UnansweredDrives, known: Collection[str], problem: str
) -> Iterator[WatchedDrive]:
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
