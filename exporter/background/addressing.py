"""What an address says by itself: a slot of a controller, or a drive that the kernel knows."""

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from exporter.errors import ConfigError
from exporter.linux import nodes
from exporter.linux.nodes import Nodes
from exporter.tools.smartctl import Address

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


class Seat(NamedTuple):
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


def seat(address: Address, known: Nodes) -> Seat:
    """Two volumes of one host lead to the same slots, so with a slot the place is the host's."""
    place, its_slot = known.place(address.path), slot(address)
    if place is None:
        return Seat(address.path, its_slot)
    return Seat(str((nodes.scsi_host(place) or place) if its_slot else place), its_slot)


def is_direct(address: Address, known: Nodes) -> bool:
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
