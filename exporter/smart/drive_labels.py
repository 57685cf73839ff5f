"""What a drive is called on the page, and the block devices that it stands under."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from exporter.drives.health import DriveIdentity
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.addressing import usable_wwn
from exporter.smart.smartctl import Address


def labels(addresses: Iterable[Address], known: DeviceNodes) -> dict[Address, str]:
    """The `device` label of each address; no two have the same.

    A drive that is a block device has the block device's name: sda also for its /dev/sg0, the
    lowest namespace for an NVMe controller. A drive in a controller's slot has path and slot
    (bus/0:megaraid,3); a hidden disk its generic node's name (sg3), which is what smartctl takes.
    Of two that would be called the same, the later one is called by its node, then by node and
    type.
    """
    blocks = {each.name: each.block for each in known.generics}
    taken: set[str] = set()
    named: dict[Address, str] = {}
    for address in addresses:
        if address not in named:
            named[address] = next(n for n in _names(address, known, blocks) if n not in taken)
            taken.add(named[address])
    return named


def _names(address: Address, known: DeviceNodes, blocks: Mapping[str, str | None]) -> Iterator[str]:
    name, slot = address.path.removeprefix("/dev/"), addressing.slot(address)
    if slot:
        yield f"{name}:{slot}"
    else:
        place = known.sysfs_path(address.path)
        controller = name if place is None else place.name
        yield known.first_namespaces.get(controller) or blocks.get(name) or name
        yield name
    number = 1
    while True:
        yield f"{name}:{address.type}" if number == 1 else f"{name}:{address.type}#{number}"
        number += 1


def carried(
    drives: Mapping[Address, DriveIdentity], known: DeviceNodes, disks: Mapping[str, DeviceIdentity]
) -> dict[Address, tuple[str, ...]]:
    """The block devices that each drive without one of its own stands under, by name.

    `disks` are the kernel's whole disks, and who each of them says it is. A disk that says the
    drive's own WWN or serial number is that drive (JBOD). Else it is every volume of the drive's
    SCSI host, for which drive is in which volume the controller alone knows; a disk that the
    kernel sees on a SAS or SATA link, or that speaks ATA, is a drive and no volume.
    """
    behind = {a: who for a, who in drives.items() if not addressing.is_direct(a, known)}
    by_name = _by_name(behind)
    same = {name: address for name, who in disks.items() if (address := _of(who, by_name))}
    volumes: dict[PurePath, list[str]] = {}
    for name in sorted(disks.keys() - same.keys()):
        place = known.sysfs_paths.get(name)
        host = None if place is None else device_nodes.scsi_host(place)
        if host is not None and not _is_drive(disks[name]):
            volumes.setdefault(host, []).append(name)
    found: dict[Address, tuple[str, ...]] = {}
    for address in behind:
        own = tuple(sorted(name for name, its in same.items() if its == address))
        found[address] = own or _volumes_of(address, known, volumes)
    return found


def _by_name(drives: Mapping[Address, DriveIdentity]) -> dict[tuple[str, str], Address | None]:
    """The drives by WWN and by serial number; None where several have the same."""
    found: dict[tuple[str, str], Address | None] = {}
    for address, who in drives.items():
        for key in (("wwn", usable_wwn(who.wwn)), ("serial", who.serial)):
            if key[1]:
                name = (key[0], key[1])
                found[name] = None if name in found else address
    return found


def _of(who: DeviceIdentity, by_name: Mapping[tuple[str, str], Address | None]) -> Address | None:
    wwn = usable_wwn(who.wwn)
    if wwn and ("wwn", wwn) in by_name:
        return by_name["wwn", wwn]
    return by_name.get(("serial", who.serial or ""))


def _is_drive(who: DeviceIdentity) -> bool:
    return who.transport in ("sata", "sas", "usb") or who.protocol == "ata"


def _volumes_of(
    address: Address, known: DeviceNodes, volumes: Mapping[PurePath, list[str]]
) -> tuple[str, ...]:
    place = known.sysfs_path(address.path)
    host = None if place is None else device_nodes.scsi_host(place)
    return () if host is None else tuple(volumes.get(host, ()))
