"""PCI Express: the link of a function, and the errors that AER counts on it.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci) and
https://docs.kernel.org/PCI/pcieaer-howto.html
"""

import re
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotAvailable, ParseError, SourceError
from exporter.linux import files, links
from exporter.linux.files import Parsed

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_TOTAL = re.compile(r"^TOTAL_ERR_[A-Z]+[ \t]+(\d{1,20})[ \t]*$", re.ASCII | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PcieErrors:
    """AER totals since the device appeared; None where the kernel does not count."""

    correctable: int | None
    nonfatal: int | None
    fatal: int | None


@dataclass(frozen=True, slots=True)
class AerFiles:
    """Where the AER totals of a function stand: found once, read again and again."""

    correctable: Path
    nonfatal: Path
    fatal: Path


def is_pci_function(directory: Path) -> bool:
    """Whether a sysfs directory is a PCI function's: 0000:03:00.0."""
    return _ADDRESS.fullmatch(directory.name) is not None


def parse_lane_rate(text: str) -> float | None:
    """Bytes per second of one lane for ``8.0 GT/s PCIe``; None for an unknown speed.

    Up to 5 GT/s the line code is 8b/10b, up to 32 GT/s 128b/130b; from 64 GT/s on a flit of 256
    bytes carries 242.
    """
    transfers = links.parse_gigabits(text)
    if transfers is None:
        return None
    if transfers <= 5:
        return links.bytes_per_second(transfers, links.EFFICIENCY_8B_10B)
    if transfers < 64:
        return links.bytes_per_second(transfers, links.EFFICIENCY_128B_130B)
    return links.bytes_per_second(transfers, links.EFFICIENCY_242B_256B)


def find_pcie_link(function: Path) -> links.LinkFiles | None:
    """The link of a PCI function; its maximum is what both the device and the slot can do.

    Speed and width are limited one by one: a 16 GT/s x4 drive in an 8 GT/s x8 slot runs at
    8 GT/s x4, slower than either.
    """
    speed = function / "current_link_speed"
    if files.read_attribute(speed) is None:
        return None
    # The port above is the parent directory; a root complex or a bridge of a guest has no link.
    ends = (function, function.parent)
    lanes = [w for end in ends if (w := _max_lanes(end)) is not None]
    rates = [r for end in ends if (r := _max_lane_rate(end)) is not None]
    maximum = min(lanes) * min(rates) if lanes and rates else None
    return links.LinkFiles((speed,), parse_lane_rate, maximum, function / "current_link_width")


def parse_aer_total(text: str) -> int:
    """The total of one aer_dev_* file.

    Raises:
        ParseError: it has no TOTAL_ERR line.
    """
    match = _TOTAL.search(text)
    if match is None:
        raise ParseError(f"no TOTAL_ERR line in {text[:80]!r}")
    return int(match[1])


def find_aer_files(function: Path) -> AerFiles | None:
    """The counts of a function; None where the kernel keeps none for it."""
    found = AerFiles(
        correctable=function / "aer_dev_correctable",
        nonfatal=function / "aer_dev_nonfatal",
        fatal=function / "aer_dev_fatal",
    )
    return None if files.read_attribute(found.correctable) is None else found


def read_aer_errors(source: AerFiles) -> Parsed[PcieErrors | None]:
    """The AER totals of a function; None where none of them can be read."""
    faults: list[ParseError] = []
    correctable = _total(source.correctable, faults)
    nonfatal = _total(source.nonfatal, faults)
    fatal = _total(source.fatal, faults)
    if correctable is nonfatal is fatal is None:
        return Parsed(None, tuple(faults))
    return Parsed(PcieErrors(correctable, nonfatal, fatal), tuple(faults))


def sum_errors(one: PcieErrors, other: PcieErrors) -> PcieErrors:
    """The errors of two ways to one drive together."""
    return PcieErrors(
        correctable=_sum(one.correctable, other.correctable),
        nonfatal=_sum(one.nonfatal, other.nonfatal),
        fatal=_sum(one.fatal, other.fatal),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _total(path: Path, faults: list[ParseError]) -> int | None:
    try:
        return parse_aer_total(files.read(path))
    except NotAvailable:
        return None
    except ParseError as e:
        faults.append(ParseError(f"{path}: {e}"))
        return None
    except SourceError:
        # An unplugged function answers with I/O errors until it is gone.
        return None


def _max_lanes(end: Path) -> int | None:
    return links.lane_count(files.read_integer(end / "max_link_width"))


def _max_lane_rate(end: Path) -> float | None:
    text = files.read_attribute(end / "max_link_speed")
    return None if text is None else parse_lane_rate(text)
