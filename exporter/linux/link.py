"""How fast the way to a drive is, and how fast it could be.

Every rate here is the line rate after encoding: what is left of the wire's bits once those that
only keep the receiver in step are gone. Frames and commands still take their share of it.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files

#: Payload bits of line bits.
CODE_8B_10B = 8 / 10
CODE_128B_130B = 128 / 130
CODE_128B_132B = 128 / 132
CODE_128B_150B = 128 / 150
CODE_242B_256B = 242 / 256

_GIGA = re.compile(r"\s*(\d{1,4}(?:\.\d{1,4})?)\s+G(?:T/s|bps|bit)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Link:
    """A link's rate now and at its best, after encoding; None is unknown."""

    speed_bytes_per_second: float | None
    max_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class LinkSource:
    """Where a link's speed stands: found once per device, read again and again.

    `rate` turns the text of each of `speeds` into bytes per second (of one lane where there is a
    `width`). A wide SAS port has several phys, hence several speeds, and carries their sum.
    """

    speeds: tuple[Path, ...]
    rate: Callable[[str], float | None]
    max_bytes_per_second: float | None
    width: Path | None = None


def read(source: LinkSource) -> Link | None:
    """The link as it is negotiated now; None where neither its speed nor its maximum is known."""
    rates = [
        rate
        for path in source.speeds
        if (text := files.attribute(path)) is not None and (rate := source.rate(text)) is not None
    ]
    speed = sum(rates) if rates else None
    if source.width is not None and speed is not None:
        lanes = lane_count(files.integer(source.width))
        speed = None if lanes is None else speed * lanes
    if speed is None and source.max_bytes_per_second is None:
        return None
    return Link(speed, source.max_bytes_per_second)


def slowest(links: Iterable[Link]) -> Link | None:
    """Of several ways to one drive the one that limits it; None for none."""
    return min(
        links,
        key=lambda each: (
            float("inf") if each.speed_bytes_per_second is None else each.speed_bytes_per_second
        ),
        default=None,
    )


def gigabits(text: str) -> float | None:
    """``6.0 Gbps``, ``12.0 Gbit``, ``8.0 GT/s PCIe`` as 6, 12, 8; None for ``<unknown>``."""
    match = _GIGA.match(text)
    return (float(match[1]) or None) if match else None


def bytes_per_second(gigabits_per_second: float, code: float) -> float:
    return gigabits_per_second * 1e9 * code / 8


def lane_count(width: int | None) -> int | None:
    """A PCIe width; None for 0 (link down) and for 63 or 255, which stand for unknown."""
    return width if width is not None and 0 < width <= 32 else None
