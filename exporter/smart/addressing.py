"""Interprets smartctl addresses, and finds the addresses that lead to the same drive.

An address is the device path and the device type (-d) that smartctl needs. A slot is the number by
which a RAID controller or a USB dock selects one of the drives behind one path.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from exporter.drives.drive_identity import DriveIdentity, serials_differ, usable_wwn
from exporter.linux import device_nodes
from exporter.linux.device_nodes import DeviceNodes
from exporter.runtime.errors import ConfigError
from exporter.smart.smartctl import Address

#: Device types with several drives behind one path. A number in the type selects one of them:
#: smartctl(8), option -d.
_SLOTTED = frozenset(
    {
        *("megaraid", "cciss", "aacraid", "areca", "3ware", "hpt", "sssraid", "intelliprop"),
        *("usbasm1352r", "jmb39x", "jmb39x-q", "jmb39x-q2", "jms56x"),
    }
)

_RANGE = re.compile(r"(?<=[,/])(\d{1,4})-(\d{1,4})(?![^,/])", re.ASCII)

#: The largest number of drives in a configured range. No controller has more.
_MAX_RANGE = 256


class AttachmentPoint(NamedTuple):
    """Where a drive is attached. Two addresses with the same attachment point lead to one drive.

    place: the path in /sys; the device path if /sys does not contain the device.
    slot: the part of smartctl's type that selects the drive ("megaraid,3"). Empty means that the
        drive is the only one at its place.
    """

    place: str
    slot: str


def slot(address: Address) -> str:
    """Returns the part of the type that selects one drive of a controller; empty without a slot.

    >>> slot(Address("/dev/bus/0", "sat+megaraid,3"))
    'megaraid,3'
    """
    parts = address.type.split("+")
    return next((part for part in parts if part.partition(",")[0] in _SLOTTED), "")


def attachment_point(address: Address, known: DeviceNodes) -> AttachmentPoint:
    """Returns the attachment point of an address.

    For an address with a slot, the place is the SCSI host of the controller. All volumes of the
    controller lead to the same slots.
    """
    place, own_slot = known.sysfs_path(address.path), slot(address)
    if place is None:
        return AttachmentPoint(address.path, own_slot)
    return AttachmentPoint(
        str((device_nodes.scsi_host(place) or place) if own_slot else place), own_slot
    )


def is_direct(address: Address, known: DeviceNodes) -> bool:
    """True if the kernel has a block device or an NVMe controller for the drive itself."""
    name = address.path.removeprefix("/dev/")
    owns = name in known.blocks or name in known.controllers
    return owns and not slot(address)


def expanded(path: str, kind: str) -> Iterator[Address]:
    """Yields the addresses of one configured entry. The type "cciss,0-3" yields four addresses.

    Raises:
        ConfigError: a range is descending, or the ranges together give more than 256 addresses.
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
    """The identity that a drive reported at one address.

    is_direct: the result of the function `is_direct` for the address.
    weight: the number of health logs in the report. Of the addresses of a drive, the one with the
        largest weight is polled. The weight must not change between polls, because the drive's
        label depends on the address.
    """

    address: Address
    identity: DriveIdentity
    attachment_point: AttachmentPoint
    is_direct: bool
    weight: int = 0


def is_same_drive(one: Answer, other: Answer) -> bool:
    """True if two addresses lead to one drive. The first rule that applies decides:

    - Two slots of one controller are two drives.
    - If both addresses report a WWN, they lead to one drive if the WWNs are equal. Different serial
      numbers mean two drives, because some makers give all drives of a batch one WWN
      (NVME_QUIRK_BOGUS_NID of Linux). Serial numbers are compared only between two kernel devices
      and between drives with the same known protocol.
    - Two kernel devices are two drives, because cheap drives share serial numbers.
    - Otherwise equal serial number, model and capacity mean one drive.
    """
    a, b = one.identity, other.identity
    if _are_two_slots(one.attachment_point, other.attachment_point):
        return False
    both_direct = one.is_direct and other.is_direct
    wwns = usable_wwn(a.wwn), usable_wwn(b.wwn)
    if None not in wwns:
        # A controller may translate the serial number of a SATA drive to that of a SCSI drive.
        is_exact = both_direct or a.protocol is b.protocol is not None
        return wwns[0] == wwns[1] and not (is_exact and serials_differ(a, b))
    if both_direct or not a.serial:
        return False
    return (a.serial, a.model, a.capacity_bytes) == (b.serial, b.model, b.capacity_bytes)


def deduplicated(answers: Sequence[Answer]) -> tuple[tuple[Answer, ...], ...]:
    """Returns the answers grouped by drive. In each group the best address is the first.

    `is_same_drive` is not transitive: an answer without a WWN may match two answers that do not
    match each other. Such an answer forms a group of its own, so that no drive hides another. The
    best address has the largest weight. Among equal weights, a direct address is preferred, then
    the order of `answers`.
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


def _are_two_slots(one: AttachmentPoint, other: AttachmentPoint) -> bool:
    both = bool(one.slot and other.slot)
    return both and one.place == other.place and one.slot != other.slot


def _buckets(answers: Sequence[Answer]) -> Iterator[list[int]]:
    """Returns groups of indices of the answers with equal WWN or equal serial number.

    Only answers in one group can be the same drive, so that not all pairs must be compared.
    """
    found: dict[Hashable, list[int]] = {}
    for index, answer in enumerate(answers):
        who = answer.identity
        for key in (("wwn", usable_wwn(who.wwn)), ("serial", who.serial)):
            if key[1]:
                found.setdefault(key, []).append(index)
    return iter(found.values())
