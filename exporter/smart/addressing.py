"""Interprets smartctl addresses: controller slots, attachment points, and duplicates of a drive."""

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

#: Types with several drives at one path, which a number in the type selects: smartctl(8), -d.
_SLOTTED = frozenset(
    {
        *("megaraid", "cciss", "aacraid", "areca", "3ware", "hpt", "sssraid", "intelliprop"),
        *("usbasm1352r", "jmb39x", "jmb39x-q", "jmb39x-q2", "jms56x"),
    }
)

_RANGE = re.compile(r"(?<=[,/])(\d{1,4})-(\d{1,4})(?![^,/])", re.ASCII)

#: Limit of drives in a configured range; no controller has more.
_MAX_RANGE = 256


class AttachmentPoint(NamedTuple):
    """Where a drive is attached. Two addresses with one attachment point lead to one drive.

    place: its path in /sys, or the device path. slot: as in smartctl's type ("megaraid,3"); empty
    for a drive that is alone at its place.
    """

    place: str
    slot: str


def slot(address: Address) -> str:
    """The part of the type that selects one drive of a controller; else empty.

    >>> slot(Address("/dev/bus/0", "sat+megaraid,3"))
    'megaraid,3'
    """
    parts = address.type.split("+")
    return next((part for part in parts if part.partition(",")[0] in _SLOTTED), "")


def attachment_point(address: Address, known: DeviceNodes) -> AttachmentPoint:
    """The attachment point. With a slot its place is the SCSI host: its volumes share the slots."""
    place, own_slot = known.sysfs_path(address.path), slot(address)
    if place is None:
        return AttachmentPoint(address.path, own_slot)
    return AttachmentPoint(
        str((device_nodes.scsi_host(place) or place) if own_slot else place), own_slot
    )


def is_direct(address: Address, known: DeviceNodes) -> bool:
    """Whether the drive is a block device or NVMe controller of the kernel."""
    name = address.path.removeprefix("/dev/")
    owns = name in known.blocks or name in known.controllers
    return owns and not slot(address)


def expanded(path: str, kind: str) -> Iterator[Address]:
    """The addresses of a configured drive: "cciss,0-3" yields four.

    Raises:
        ConfigError: a range is descending, or has more drives than a controller.
    """
    pieces: list[list[str]] = []
    end, count = 0, 1
    for match in _RANGE.finditer(kind):
        first, last = int(match[1]), int(match[2])
        count *= last - first + 1
        if first > last or count > _MAX_RANGE:
            raise ConfigError(
                f"the type {kind!r} of {path} names no drives, or more than {_MAX_RANGE}",
                'write a range upwards, as in "cciss,0-3"',
            )
        pieces += [[kind[end : match.start()]], [str(n) for n in range(first, last + 1)]]
        end = match.end()
    for each in product(*pieces, [kind[end:]]):
        yield Address(path, "".join(each))


@dataclass(frozen=True, slots=True)
class Answer:
    """The identity that answered at an address.

    is_direct: the result of `is_direct`.
    weight: amount of health data in the report. The address with the most is polled. It must not
    change between polls, because the drive's label depends on it.
    """

    address: Address
    identity: DriveIdentity
    attachment_point: AttachmentPoint
    is_direct: bool
    weight: int = 0


def is_same_drive(one: Answer, other: Answer) -> bool:
    """Whether two addresses lead to one drive.

    Two slots of one controller are two drives. If both have a WWN, equal WWNs mean one drive.
    The exception is two kernel devices with different serial numbers: some NVMe drives all have the
    same WWN (NVME_QUIRK_BOGUS_NID of Linux). Without WWNs, equal serial number, model and capacity
    mean one drive, unless both are kernel devices: cheap drives share serial numbers.
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
    """The answers grouped by drive, with each drive's best address first.

    `is_same_drive` is not transitive: a drive without WWN may match two that differ. Such an answer
    forms a group of its own, so that no drive hides another. The best address is the one with the
    greatest weight, then a direct one, then the first.
    """
    same: list[set[int]] = [{index} for index in range(len(answers))]
    for bucket in _buckets(answers):
        for i, k in combinations(bucket, 2):
            if is_same_drive(answers[i], answers[k]):
                same[i].add(k)
                same[k].add(i)
    clear = [all(same[i] <= same[k] for k in same[i]) for i in range(len(answers))]
    groups: list[tuple[Answer, ...]] = []
    for i, matches in enumerate(same):
        members = sorted(k for k in matches if clear[k]) if clear[i] else [i]
        if members[0] == i:
            group = [answers[k] for k in members]
            groups.append(tuple(sorted(group, key=lambda a: (-a.weight, not a.is_direct))))
    return tuple(groups)


def usable_wwn(wwn: str | None) -> str | None:
    """A WWN in lower case; None if the field is not filled in, as naa.5000000000000000."""
    text = (wwn or "").strip().lower()
    digits = text.rpartition(".")[2]
    # The first digit is the kind of name.
    return text if len(set(digits[1:])) > 1 else None


def _are_two_slots(one: AttachmentPoint, other: AttachmentPoint) -> bool:
    both = bool(one.slot and other.slot)
    return both and one.place == other.place and one.slot != other.slot


def _buckets(answers: Sequence[Answer]) -> Iterator[list[int]]:
    """Indices of answers with equal WWN or serial number, to avoid comparing all pairs."""
    found: dict[Hashable, list[int]] = {}
    for index, answer in enumerate(answers):
        who = answer.identity
        for key in (("wwn", usable_wwn(who.wwn)), ("serial", who.serial)):
            if key[1]:
                found.setdefault(key, []).append(index)
    return iter(found.values())
