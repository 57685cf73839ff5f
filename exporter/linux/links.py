"""How fast the way to a drive is, and how fast it could be.

Every rate here is the line rate after encoding: what is left of the wire's bits once those that
only keep the receiver in step are gone. Frames and commands still take their share of it.

SAS links: the phys of the port that a drive hangs on, and what the drive speaks there.

The attributes are those of sas_phy and sas_device in drivers/scsi/scsi_transport_sas.c; no kernel
document lists them.

SATA links: /sys/class/ata_link, found from a drive's own path.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-ata)

USB links: the speed of the bus device that a drive hangs on.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-usb)
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files

#: Payload bits of line bits.
EFFICIENCY_8B_10B = 8 / 10
EFFICIENCY_128B_130B = 128 / 130
EFFICIENCY_128B_132B = 128 / 132
EFFICIENCY_128B_150B = 128 / 150
EFFICIENCY_242B_256B = 242 / 256

_GIGA = re.compile(r"\s*(\d{1,4}(?:\.\d{1,4})?)\s+G(?:T/s|bps|bit)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """A link's rate now and at its best, after encoding; None is unknown."""

    speed_bytes_per_second: float | None
    max_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class LinkFiles:
    """Where a link's speed stands: found once per device, read again and again.

    `rate` turns the text of each of `speeds` into bytes per second (of one lane where there is a
    `width`). A wide SAS port has several phys, hence several speeds, and carries their sum.
    """

    speeds: tuple[Path, ...]
    rate: Callable[[str], float | None]
    max_bytes_per_second: float | None
    width: Path | None = None


def read_link(source: LinkFiles) -> LinkSpeed | None:
    """The link as it is negotiated now; None where neither its speed nor its maximum is known."""
    rates = [
        rate
        for path in source.speeds
        if (text := files.read_attribute(path)) is not None
        and (rate := source.rate(text)) is not None
    ]
    speed = sum(rates) if rates else None
    if source.width is not None and speed is not None:
        lanes = lane_count(files.read_integer(source.width))
        speed = None if lanes is None else speed * lanes
    if speed is None and source.max_bytes_per_second is None:
        return None
    return LinkSpeed(speed, source.max_bytes_per_second)


def slowest_link(links: Iterable[LinkSpeed]) -> LinkSpeed | None:
    """Of several ways to one drive the one that limits it; None for none."""
    return min(
        links,
        key=lambda each: (
            float("inf") if each.speed_bytes_per_second is None else each.speed_bytes_per_second
        ),
        default=None,
    )


def parse_gigabits(text: str) -> float | None:
    """``6.0 Gbps``, ``12.0 Gbit``, ``8.0 GT/s PCIe`` as 6, 12, 8; None for ``<unknown>``."""
    match = _GIGA.match(text)
    return (float(match[1]) or None) if match else None


def bytes_per_second(gigabits_per_second: float, code: float) -> float:
    return gigabits_per_second * 1e9 * code / 8


def lane_count(width: int | None) -> int | None:
    """A PCIe width; None for 0 (link down) and for 63 or 255, which stand for unknown."""
    return width if width is not None and 0 < width <= 32 else None


def parse_sas_rate(text: str) -> float | None:
    """Bytes per second for ``12.0 Gbit``; None for ``Unknown``, ``Phy disabled`` and the like.

    SAS-4 (22.5 Gbit) sends 128 bits in 150, everything before it 8 in 10.
    """
    gigabits = parse_gigabits(text)
    if gigabits is None:
        return None
    code = EFFICIENCY_128B_150B if gigabits > 12 else EFFICIENCY_8B_10B
    return bytes_per_second(gigabits, code)


def read_speaks_sata(end_device: Path) -> bool | None:
    """Whether the drive is a SATA one on a SAS adapter; None where the kernel does not say."""
    protocols = files.read_attribute(
        end_device / "sas_device" / end_device.name / "target_port_protocols"
    )
    return None if protocols is None else "sata" in protocols or "stp" in protocols


def find_sas_link(end_device: Path, drive_gigabits: float | None) -> LinkFiles | None:
    """The link between a drive and the adapter's or expander's port above it.

    The port's directory holds a link to each phy that belongs to it. `drive_gigabits` is the
    drive's own best per phy, where known; maximum_linkrate_hw speaks for the port alone.
    """
    port = end_device.parent
    phys = [port / n / "sas_phy" / n for n in files.list_names(port) if n.startswith("phy-")]
    if not phys:
        return None
    drive = None if drive_gigabits is None else parse_sas_rate(f"{drive_gigabits} Gbit")
    limits = [
        parse_sas_rate(files.read_attribute(phy / "maximum_linkrate_hw") or "") for phy in phys
    ]
    known = [each if drive is None else min(each, drive) for each in limits if each is not None]
    # A sum over some of the phys would be no maximum of the whole.
    maximum = sum(known) if len(known) == len(phys) else None
    return LinkFiles(tuple(phy / "negotiated_linkrate" for phy in phys), parse_sas_rate, maximum)


def parse_sata_rate(text: str) -> float | None:
    """Bytes per second for ``6.0 Gbps``; None for ``<unknown>``, which a link that is down says."""
    gigabits = parse_gigabits(text)
    return None if gigabits is None else bytes_per_second(gigabits, EFFICIENCY_8B_10B)


def find_sata_link(port: Path, channel: str, drive_gigabits: float | None) -> LinkFiles | None:
    """The link of a drive at an ATA port (a directory ataN).

    `channel` is the drive's SCSI channel, which libata sets to the port of a port multiplier;
    without a multiplier there is one link. `drive_gigabits` is the drive's own best, where known:
    hw_sata_spd_limit speaks for the port alone.
    """
    number = port.name.removeprefix("ata")
    for name in (f"link{number}.{channel}", f"link{number}"):
        directory = port / name / "ata_link" / name
        if files.read_attribute(directory / "sata_spd") is None:
            continue
        limits = [
            None if drive_gigabits is None else parse_sata_rate(f"{drive_gigabits} Gbps"),
            parse_sata_rate(files.read_attribute(directory / "hw_sata_spd_limit") or ""),
        ]
        maximum = min((each for each in limits if each is not None), default=None)
        return LinkFiles((directory / "sata_spd",), parse_sata_rate, maximum)
    return None


# A device is <bus>-<port>[.<port>...]; with :<configuration>.<interface> it is an interface.
_DEVICE = re.compile(r"\d+-\d+(?:\.\d+)*", re.ASCII)
_MEGABITS = re.compile(r"\d{1,6}(?:\.\d)?", re.ASCII)


def parse_usb_rate(text: str) -> float | None:
    """Bytes per second for the ``speed`` attribute, Mb/s.

    Up to 480 Mb/s the number is already data (NRZI has no code bits to count off), 5000 is 8b/10b,
    more is 128b/132b.
    """
    if not _MEGABITS.fullmatch(text):
        return None
    megabits = float(text)
    if megabits <= 480:
        return megabits * 1e6 / 8 or None
    code = EFFICIENCY_8B_10B if megabits <= 5000 else EFFICIENCY_128B_132B
    return bytes_per_second(megabits / 1000, code)


def nearest_usb_device(path: Path) -> Path | None:
    """The USB device on the way from a drive's directory up to the root."""
    return next((each for each in path.parents if _DEVICE.fullmatch(each.name)), None)


def find_usb_link(path: Path) -> LinkFiles | None:
    """The link of the USB device above a drive; what it could do at its best, sysfs hides."""
    device = nearest_usb_device(path)
    if device is None or files.read_attribute(device / "speed") is None:
        return None
    return LinkFiles((device / "speed",), parse_usb_rate, None)
