"""Determines the `device` label of each drive, and the block devices that use a hidden drive.

A hidden drive has no block device of its own, for example because a RAID controller uses it for a
volume.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from exporter.drives.drive_identity import DriveIdentity, is_same_identity, usable_wwn
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.smartctl import Address


def labels(addresses: Iterable[Address], nodes: DeviceNodes) -> dict[Address, str]:
    """Returns the `device` label of each address, keyed by address. All labels are different.

    - A drive in a controller's slot: path and slot (bus/0:megaraid,3).
    - An NVMe controller: the name of its lowest namespace.
    - A drive with a block device: the name of that device, such as sda. This is also true if the
      address is its generic node /dev/sg0.
    - A hidden disk: the name of its generic node (sg3).

    If another address already has this label, the label is the name of the node. If this name is
    also in use, the label is node and type.
    """
    blocks = {generic.name: generic.block for generic in nodes.generics}
    taken: set[str] = set()
    named: dict[Address, str] = {}
    for address in addresses:
        if address not in named:
            named[address] = next(n for n in _names(address, nodes, blocks) if n not in taken)
            taken.add(named[address])
    return named


def _names(address: Address, nodes: DeviceNodes, blocks: Mapping[str, str | None]) -> Iterator[str]:
    name, slot = address.path.removeprefix("/dev/"), addressing.slot(address)
    if slot:
        yield f"{name}:{slot}"
    else:
        place = nodes.sysfs_path(address.path)
        controller = name if place is None else place.name
        yield nodes.first_namespaces.get(controller) or blocks.get(name) or name
        yield name
    number = 1
    while True:
        yield f"{name}:{address.type}" if number == 1 else f"{name}:{address.type}#{number}"
        number += 1


def natural_order(label: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Returns a sort key for labels: nvme2n1 comes before nvme10n1, and sdb before sdaa."""
    parts = re.findall(r"[0-9]+|[^0-9]+", label)
    return label[:2], [(0, int(p[:18]), p) if p.isdecimal() else (1, len(p), p) for p in parts]


def blocks_behind(
    drives: Mapping[Address, DriveIdentity], nodes: DeviceNodes, disks: Mapping[str, DeviceIdentity]
) -> dict[Address, tuple[str, ...]]:
    """Returns the names of the block devices that use each hidden drive, keyed by its address.

    A kernel disk with the same WWN or serial number as the hidden drive is the same drive (JBOD).
    Only the name of this disk is then returned. Otherwise all volumes of the drive's SCSI host are
    returned, because only the controller knows which drive belongs to which volume. A disk on a
    SAS, SATA or USB link, or with the ATA protocol, is a drive and not a volume.
    """
    hidden = {a: drive for a, drive in drives.items() if not addressing.is_direct(a, nodes)}
    by_name = _by_name(hidden)
    same = {
        name: address for name, disk in disks.items() if (address := _of(disk, by_name, hidden))
    }
    volumes: dict[PurePath, list[str]] = {}
    for name in sorted(disks.keys() - same.keys()):
        place = nodes.sysfs_paths.get(name)
        host = None if place is None else device_nodes.scsi_host(place)
        if host is not None and not _is_drive(disks[name]):
            volumes.setdefault(host, []).append(name)
    result: dict[Address, tuple[str, ...]] = {}
    for address in hidden:
        own = tuple(sorted(name for name, drive in same.items() if drive == address))
        result[address] = own or _volumes_of(address, nodes, volumes)
    return result


def _by_name(drives: Mapping[Address, DriveIdentity]) -> dict[str, list[Address]]:
    """Returns the addresses of drives, keyed by WWN and by serial number."""
    result: dict[str, list[Address]] = {}
    for address, drive in drives.items():
        for name in filter(None, (usable_wwn(drive.wwn), drive.serial)):
            result.setdefault(name, []).append(address)
    return result


def _of(
    disk: DeviceIdentity,
    by_name: Mapping[str, Sequence[Address]],
    hidden: Mapping[Address, DriveIdentity],
) -> Address | None:
    """Returns the address of the hidden drive that is this disk of the kernel.

    None if none is, or if several have its names. The model is not compared, because a controller
    may report another one.
    """
    names = filter(None, (usable_wwn(disk.wwn), disk.serial))
    near = dict.fromkeys(address for name in names for address in by_name.get(name, ()))
    own = replace(disk, model=None)
    found = [address for address in near if is_same_identity(own, hidden[address])]
    return found[0] if len(found) == 1 else None


def _is_drive(disk: DeviceIdentity) -> bool:
    return disk.transport in ("sata", "sas", "usb") or disk.protocol == "ata"


def _volumes_of(
    address: Address, nodes: DeviceNodes, volumes: Mapping[PurePath, list[str]]
) -> tuple[str, ...]:
    place = nodes.sysfs_path(address.path)
    host = None if place is None else device_nodes.scsi_host(place)
    return () if host is None else tuple(volumes.get(host, ()))
