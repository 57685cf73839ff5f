"""What an address says by itself: a slot of a controller, or a drive that the kernel knows.

Telling whether two addresses lead to one physical drive, once the drives have answered.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from exporter.drives.health import DriveIdentity
from exporter.errors import ConfigError
from exporter.linux import device_nodes
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart.smartctl import Address

#: Types of which one path serves several drives, told apart by what follows: smartctl(8), -d.
_SLOTTED = frozenset(
    {
        *("megaraid", "cciss", "aacraid", "areca", "3ware", "hpt", "sssraid", "intelliprop"),
        *("usbasm1352r", "jmb39x", "jmb39x-q", "jmb39x-q2", "jms56x"),
    }
)

_RANGE = re.compile(r"(?<=[,/])(\d{1,4})-(\d{1,4})(?![^,/])", re.ASCII)

#: More drives than one controller has.
_MOST_OF_A_RANGE = 256


class AttachmentPoint(NamedTuple):
    """Where a drive sits: two addresses of one seat are one drive.

    `place` is what /sys shows of it, or the path; `slot` as in smartctl's type ("megaraid,3"),
    empty for a drive that has the place for itself.
    """

    place: str
    slot: str


def slot(address: Address) -> str:
    """The part of the type that tells one drive of a controller from the others; else empty.

    >>> slot(Address("/dev/bus/0", "sat+megaraid,3"))
    'megaraid,3'
    """
    parts = address.type.split("+")
    return next((part for part in parts if part.partition(",")[0] in _SLOTTED), "")


def attachment_point(address: Address, known: DeviceNodes) -> AttachmentPoint:
    """Two volumes of one host lead to the same slots, so with a slot the place is the host's."""
    place, its_slot = known.sysfs_path(address.path), slot(address)
    if place is None:
        return AttachmentPoint(address.path, its_slot)
    return AttachmentPoint(
        str((device_nodes.scsi_host(place) or place) if its_slot else place), its_slot
    )


def is_direct(address: Address, known: DeviceNodes) -> bool:
    """Whether the kernel has this drive as a block device or NVMe controller of its own."""
    name = address.path.removeprefix("/dev/")
    owns = name in known.blocks or name in known.controllers
    return owns and not slot(address)


def expanded(path: str, kind: str) -> Iterator[Address]:
    """The addresses that a configured drive stands for: "cciss,0-3" is four.

    Raises:
        ConfigError: a range runs backwards, or there are more drives than a controller has.
    """
    pieces: list[list[str]] = []
    end, count = 0, 1
    for match in _RANGE.finditer(kind):
        first, last = int(match[1]), int(match[2])
        count *= last - first + 1
        if first > last or count > _MOST_OF_A_RANGE:
            raise ConfigError(
                f"the type {kind!r} of {path} names no drives, or more than {_MOST_OF_A_RANGE}",
                'write a range upwards, as in "cciss,0-3"',
            )
        pieces += [[kind[end : match.start()]], [str(n) for n in range(first, last + 1)]]
        end = match.end()
    for each in product(*pieces, [kind[end:]]):
        yield Address(path, "".join(each))


@dataclass(frozen=True, slots=True)
class Answer:
    """Who answered at an address.

    `direct` says that the kernel has the drive as a block device or NVMe controller of its own.
    `weight` is how much its report says of its health: the more, the sooner it stands for the
    drive. Keep it from changing between polls, for the drive's label follows.
    """

    address: Address
    identity: DriveIdentity
    attachment_point: AttachmentPoint
    is_direct: bool
    weight: int = 0


def is_same_drive(one: Answer, other: Answer) -> bool:
    """Whether two addresses lead to one drive.

    Equal WWNs say yes, different ones no, whatever the serial numbers. Without them equal serial
    number, model and capacity say yes where at least one of the two leads through a controller:
    cheap drives share serial numbers, so two disks that the kernel itself tells apart are two.
    So are two slots of one controller; and so are two disks with one WWN and different serial
    numbers, for there are NVMe drives that all have the same (NVME_QUIRK_BOGUS_NID of Linux).
    """
    a, b = one.identity, other.identity
    if _are_two_slots(one.attachment_point, other.attachment_point):
        return False
    both_direct = one.is_direct and other.is_direct
    wwns = usable_wwn(a.wwn), usable_wwn(b.wwn)
    if None not in wwns:
        differ = bool(a.serial and b.serial and a.serial != b.serial)
        return wwns[0] == wwns[1] and not (both_direct and differ)
    if both_direct or not a.serial:
        return False
    return (a.serial, a.model, a.capacity_bytes) == (b.serial, b.model, b.capacity_bytes)


def deduplicated(answers: Sequence[Answer]) -> tuple[tuple[Answer, ...], ...]:
    """The answers by drive, each drive's best address first: in every group all are the same.

    Being the same does not carry over: a drive without WWN may resemble two that differ. What is
    the same as two that differ stays by itself, so that no drive is hidden behind another.
    The best is the one of most weight, then a direct one, then the first.
    """
    same: list[set[int]] = [{index} for index in range(len(answers))]
    for bucket in _buckets(answers):
        for i, k in combinations(bucket, 2):
            if is_same_drive(answers[i], answers[k]):
                same[i].add(k)
                same[k].add(i)
    clear = [all(same[i] <= same[k] for k in same[i]) for i in range(len(answers))]
    groups: list[tuple[Answer, ...]] = []
    for i, its in enumerate(same):
        members = sorted(k for k in its if clear[k]) if clear[i] else [i]
        if members[0] == i:
            group = [answers[k] for k in members]
            groups.append(tuple(sorted(group, key=lambda a: (-a.weight, not a.is_direct))))
    return tuple(groups)


def usable_wwn(wwn: str | None) -> str | None:
    """A WWN in small letters; None where it is no name, but a field that nobody filled in."""
    text = (wwn or "").strip().lower()
    digits = text.rpartition(".")[2]
    # The first digit is the kind of name: naa.5000000000000000 is empty.
    return text if len(set(digits[1:])) > 1 else None


def _are_two_slots(one: AttachmentPoint, other: AttachmentPoint) -> bool:
    both = bool(one.slot and other.slot)
    return both and one.place == other.place and one.slot != other.slot


def _buckets(answers: Sequence[Answer]) -> Iterator[list[int]]:
    """Those with something in common, so that a thousand drives are not a million pairs."""
    found: dict[Hashable, list[int]] = {}
    for index, answer in enumerate(answers):
        who = answer.identity
        for key in (("wwn", usable_wwn(who.wwn)), ("serial", who.serial)):
            if key[1]:
                found.setdefault(key, []).append(index)
    return iter(found.values())
