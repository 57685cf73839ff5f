"""Reads the current and the maximum speed of the link to a drive, for PCIe, SATA, SAS and USB.

All speeds are in bytes per second. The overhead of the line code, which are bits that only
synchronise the receiver, is subtracted. The headers of frames and commands are not subtracted.

The `find_..._link` functions are called once per device. They return the files in which the kernel
reports the speed. `read_link` reads these files at each refresh of the topology.

- PCIe: https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci: current_link_speed)
- SATA: https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-ata: sata_spd)
- SAS: sas_phy and sas_device in drivers/scsi/scsi_transport_sas.c; no kernel document lists them
- USB: https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-usb: speed)
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files

#: The fraction of a link's bits that carry data, for each line code.
EFFICIENCY_8B_10B = 8 / 10
EFFICIENCY_128B_130B = 128 / 130
EFFICIENCY_128B_132B = 128 / 132
EFFICIENCY_128B_150B = 128 / 150
EFFICIENCY_242B_256B = 242 / 256

#: The maximum number of lanes of a PCIe link.
_MAX_LANES = 32

_GIGABITS = re.compile(r"\s*(\d{1,4}(?:\.\d{1,4})?)\s+G(?:T/s|bps|bit)\b", re.ASCII)
_USB_MEGABITS = re.compile(r"\d{1,6}(?:\.\d)?", re.ASCII)
#: The directory of a USB device is named <bus>-<port>[.<port>...]. A name with a colon is that
#: of an interface of the device.
_USB_DEVICE = re.compile(r"\d+-\d+(?:\.\d+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """The current and the maximum speed of a link, in bytes per second. None means unknown."""

    speed_bytes_per_second: float | None
    max_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class LinkFiles:
    """The files in which the kernel reports the current speed of a link.

    speeds: one file. A wide SAS port has one file per phy (transceiver), and the speeds are added.
    rate: a function that converts the text of such a file to bytes per second. It returns None if
        the text has no speed. If there is a `width`, the result is the speed of one lane.
    max_bytes_per_second: the maximum speed of the link; None means unknown. It does not change
        while the device exists.
    width: the file with the number of lanes; None for all links but PCIe.
    """

    speeds: tuple[Path, ...]
    rate: Callable[[str], float | None]
    max_bytes_per_second: float | None
    width: Path | None = None


def read_link(link: LinkFiles) -> LinkSpeed | None:
    """Returns the current and the maximum speed of a link; None if both are unknown."""
    rates = [
        rate
        for path in link.speeds
        if (text := files.read_attribute(path)) is not None
        and (rate := link.rate(text)) is not None
    ]
    speed = sum(rates) if rates else None
    if link.width is not None and speed is not None:
        lanes = _lanes(files.read_integer(link.width))
        speed = None if lanes is None else speed * lanes
    if speed is None and link.max_bytes_per_second is None:
        return None
    return LinkSpeed(speed, link.max_bytes_per_second)


def slowest_link(links: Iterable[LinkSpeed]) -> LinkSpeed | None:
    """Returns the link with the lowest current speed; None if there are no links.

    A link of unknown speed is returned only if the speeds of all links are unknown.
    """
    return min(
        links,
        key=lambda link: (
            float("inf") if link.speed_bytes_per_second is None else link.speed_bytes_per_second
        ),
        default=None,
    )


def find_pcie_link(function: Path) -> LinkFiles | None:
    """Returns the files of the link of a PCI function; None if the kernel reports no speed.

    The maximum speed is that which both the device and the port above it support. The rate per lane
    and the number of lanes are limited separately: a 16 GT/s x4 drive in an 8 GT/s x8 slot runs at
    8 GT/s x4, which is slower than the maximum of the drive and of the slot.

    function: the directory of the PCI function.
    """
    speed = function / "current_link_speed"
    if files.read_attribute(speed) is None:
        return None
    # The parent directory is the port above. It has no link attributes if it is a root complex, or
    # a bridge in a virtual machine.
    ends = (function, function.parent)
    lanes = [n for end in ends if (n := _read_max_lanes(end)) is not None]
    rates = [rate for end in ends if (rate := _read_max_lane_rate(end)) is not None]
    maximum = min(lanes) * min(rates) if lanes and rates else None
    return LinkFiles((speed,), parse_lane_rate, maximum, function / "current_link_width")


def find_sata_link(port: Path, channel: str, drive_gigabits: float | None) -> LinkFiles | None:
    """Returns the files of the link of a SATA drive; None if the kernel reports no speed.

    port: the directory of the ATA port (ataN).
    channel: the SCSI channel of the drive. libata sets it to the port of a port multiplier.
    drive_gigabits: the maximum speed of the drive in Gbit/s; None means unknown. It is needed
        because the kernel's attribute hw_sata_spd_limit is the limit of the port only.
    """
    number = port.name.removeprefix("ata")
    # Without a port multiplier, the port has a single link, and the name has no channel number.
    for name in (f"link{number}.{channel}", f"link{number}"):
        directory = port / name / "ata_link" / name
        if files.read_attribute(directory / "sata_spd") is None:
            continue
        limits = [
            None if drive_gigabits is None else parse_sata_rate(f"{drive_gigabits} Gbps"),
            parse_sata_rate(files.read_attribute(directory / "hw_sata_spd_limit") or ""),
        ]
        maximum = min((limit for limit in limits if limit is not None), default=None)
        return LinkFiles((directory / "sata_spd",), parse_sata_rate, maximum)
    return None


def find_sas_link(end_device: Path, drive_gigabits: float | None) -> LinkFiles | None:
    """Returns the files of the link of a drive at a SAS port; None if the port has no phys.

    The SAS port belongs to the adapter or expander above the drive. Its directory has a symbolic
    link to each of its phys (transceivers).

    end_device: the directory of the drive's end device, which is below that of the port.
    drive_gigabits: the maximum speed of the drive per phy in Gbit/s; None means unknown. It is
        needed because the kernel's attribute maximum_linkrate_hw is the limit of the port only.
    """
    port = end_device.parent
    phys = [port / n / "sas_phy" / n for n in files.list_names(port) if n.startswith("phy-")]
    if not phys:
        return None
    drive = None if drive_gigabits is None else parse_sas_rate(f"{drive_gigabits} Gbit")
    limits = [
        parse_sas_rate(files.read_attribute(phy / "maximum_linkrate_hw") or "") for phy in phys
    ]
    known = [limit if drive is None else min(limit, drive) for limit in limits if limit is not None]
    # The maximum is unknown if that of one phy is unknown: the sum of the others would be too low.
    maximum = sum(known) if len(known) == len(phys) else None
    return LinkFiles(tuple(phy / "negotiated_linkrate" for phy in phys), parse_sas_rate, maximum)


def find_usb_link(directory: Path) -> LinkFiles | None:
    """Returns the file of the link of a USB drive; None if the kernel reports no speed.

    The maximum speed is always unknown, because sysfs does not report what a USB device supports.

    directory: the directory of the disk in sysfs. The link is that of the nearest USB device above.
    """
    device = nearest_usb_device(directory)
    if device is None or files.read_attribute(device / "speed") is None:
        return None
    return LinkFiles((device / "speed",), parse_usb_rate, None)


def nearest_usb_device(directory: Path) -> Path | None:
    """Returns the directory of the nearest USB device above a drive; None if there is none."""
    return next((above for above in directory.parents if _USB_DEVICE.fullmatch(above.name)), None)


def is_sata_end_device(end_device: Path) -> bool | None:
    """True if a drive at a SAS adapter is a SATA drive; None if the kernel does not report it."""
    protocols = files.read_attribute(
        end_device / "sas_device" / end_device.name / "target_port_protocols"
    )
    return None if protocols is None else "sata" in protocols or "stp" in protocols


def parse_lane_rate(text: str) -> float | None:
    """Returns the speed of one PCIe lane in bytes per second, from a text like ``8.0 GT/s PCIe``.

    None means that the text has no speed. The line code is 8b/10b up to 5 GT/s, and 128b/130b up to
    32 GT/s. From 64 GT/s on, data is sent in units of 256 bytes (flits), of which 242 carry data.
    """
    transfers = parse_gigabits(text)
    if transfers is None:
        return None
    if transfers <= 5:
        return _bytes_per_second(transfers, EFFICIENCY_8B_10B)
    if transfers < 64:
        return _bytes_per_second(transfers, EFFICIENCY_128B_130B)
    return _bytes_per_second(transfers, EFFICIENCY_242B_256B)


def parse_sata_rate(text: str) -> float | None:
    """Returns the speed of a SATA link in bytes per second, from a text like ``6.0 Gbps``.

    None means that the text has no speed. The kernel prints ``<unknown>`` if the link is down.
    """
    gigabits = parse_gigabits(text)
    return None if gigabits is None else _bytes_per_second(gigabits, EFFICIENCY_8B_10B)


def parse_sas_rate(text: str) -> float | None:
    """Returns the speed of a SAS phy in bytes per second, from a text like ``12.0 Gbit``.

    None means that the text has no speed: it is ``Unknown`` or ``Phy disabled``. SAS-4 (22.5
    Gbit/s) encodes 128 bits in 150. Older generations encode 8 bits in 10.
    """
    gigabits = parse_gigabits(text)
    if gigabits is None:
        return None
    efficiency = EFFICIENCY_128B_150B if gigabits > 12 else EFFICIENCY_8B_10B
    return _bytes_per_second(gigabits, efficiency)


def parse_usb_rate(text: str) -> float | None:
    """Returns the speed of a USB link in bytes per second, from a number of Mbit/s.

    None means that the text is not a speed. Up to 480 Mbit/s the line code is NRZI, and no overhead
    is subtracted. Links of 5000 Mbit/s use 8b/10b, and faster links use 128b/132b.
    """
    if not _USB_MEGABITS.fullmatch(text):
        return None
    megabits = float(text)
    if megabits <= 480:
        return megabits * 1e6 / 8 or None
    efficiency = EFFICIENCY_8B_10B if megabits <= 5000 else EFFICIENCY_128B_132B
    return _bytes_per_second(megabits / 1000, efficiency)


def parse_gigabits(text: str) -> float | None:
    """Returns the number in a text like ``6.0 Gbps``, ``12.0 Gbit`` or ``8.0 GT/s PCIe``.

    The unit is Gbit/s or GT/s. None means that the text has no such number, or that it is 0.
    """
    match = _GIGABITS.match(text)
    return (float(match[1]) or None) if match else None


def _bytes_per_second(gigabits_per_second: float, efficiency: float) -> float:
    return gigabits_per_second * 1e9 * efficiency / 8


def _lanes(width: int | None) -> int | None:
    # The width 0 means that the link is down. Kernels report 63 or 255 for an unknown width.
    return width if width is not None and 0 < width <= _MAX_LANES else None


def _read_max_lanes(end: Path) -> int | None:
    return _lanes(files.read_integer(end / "max_link_width"))


def _read_max_lane_rate(end: Path) -> float | None:
    text = files.read_attribute(end / "max_link_speed")
    return None if text is None else parse_lane_rate(text)
