"""Telling whether two addresses lead to one physical drive, once the drives have answered."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from exporter.background.addressing import Seat
from exporter.drives.health import DriveIdentity
from exporter.tools.smartctl import Address


@dataclass(frozen=True, slots=True)
class Answer:
    """Who answered at an address.

    `direct` says that the kernel has the drive as a block device or NVMe controller of its own.
    `weight` is how much its report says of its health: the more, the sooner it stands for the
    drive. Keep it from changing between polls, for the drive's label follows.
    """

    address: Address
    identity: DriveIdentity
    seat: Seat
    direct: bool
    weight: int = 0


def same_drive(one: Answer, other: Answer) -> bool:
    """Whether two addresses lead to one drive.

    Equal WWNs say yes, different ones no, whatever the serial numbers. Without them equal serial
    number, model and capacity say yes where at least one of the two leads through a controller:
    cheap drives share serial numbers, so two disks that the kernel itself tells apart are two.
    So are two slots of one controller; and so are two disks with one WWN and different serial
    numbers, for there are NVMe drives that all have the same (NVME_QUIRK_BOGUS_NID of Linux).
    """
    a, b = one.identity, other.identity
    if one.seat.slot and other.seat.slot and _two_slots(one.seat, other.seat):
        return False
    both_direct = one.direct and other.direct
    wwns = usable_wwn(a.wwn), usable_wwn(b.wwn)
    if None not in wwns:
        differ = bool(a.serial and b.serial and a.serial != b.serial)
        return wwns[0] == wwns[1] and not (both_direct and differ)
    if both_direct or not a.serial:
        return False
    return (a.serial, a.model, a.capacity_bytes) == (b.serial, b.model, b.capacity_bytes)


def distinct(answers: Sequence[Answer]) -> tuple[tuple[Answer, ...], ...]:
    """The answers by drive, each drive's best address first: in every group all are the same.

    Being the same does not carry over: a drive without WWN may resemble two that differ. What is
    the same as two that differ stays by itself, so that no drive is hidden behind another.
    The best is the one of most weight, then a direct one, then the first.
    """
    same: list[set[int]] = [{index} for index in range(len(answers))]
    for bucket in _buckets(answers):
        for i, k in combinations(bucket, 2):
            if same_drive(answers[i], answers[k]):
                same[i].add(k)
                same[k].add(i)
    clear = [all(same[i] <= same[k] for k in same[i]) for i in range(len(answers))]
    groups: list[tuple[Answer, ...]] = []
    for i, its in enumerate(same):
        members = sorted(k for k in its if clear[k]) if clear[i] else [i]
        if members[0] == i:
            group = [answers[k] for k in members]
            groups.append(tuple(sorted(group, key=lambda a: (-a.weight, not a.direct))))
    return tuple(groups)


def usable_wwn(wwn: str | None) -> str | None:
    """A WWN in small letters; None where it is no name, but a field that nobody filled in."""
    text = (wwn or "").strip().lower()
    digits = text.rpartition(".")[2]
    # The first digit is the kind of name: naa.5000000000000000 is empty.
    return text if len(set(digits[1:])) > 1 else None


def _two_slots(one: Seat, other: Seat) -> bool:
    return one.place == other.place and one.slot != other.slot


def _buckets(answers: Sequence[Answer]) -> Iterator[list[int]]:
    """Those with something in common, so that a thousand drives are not a million pairs."""
    found: dict[Hashable, list[int]] = {}
    for index, answer in enumerate(answers):
        who = answer.identity
        for key in (("wwn", usable_wwn(who.wwn)), ("serial", who.serial)):
            if key[1]:
                found.setdefault(key, []).append(index)
    return iter(found.values())
