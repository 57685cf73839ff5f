"""Parses the data rate and the error counters of a SATA or SAS link, as the drive reports them.

A phy is the transceiver at one end of a SAS link; a port consists of one or more phys. NVMe drives
do not report their link. `exporter.linux.links` reads the link of an NVMe drive from sysfs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.drives.fields import Fields, counter_sum
from exporter.drives.health import RejectedValue

#: The number of data bits per transmitted bit. SATA, and SAS up to 12 Gb/s, use 8b/10b encoding.
#: SAS-4, which transmits 22.5 Gb/s, uses 128b/150b encoding (SPL-4).
_PAYLOAD_8B_10B = 8 / 10
_PAYLOAD_128B_150B = 128 / 150
_SAS4_GIGABITS = 22.5

#: The largest valid line rate, in bits per second. No drive has a link that is nearly as fast, so a
#: higher rate is an error in the report.
_MAX_LINE_BITS = 1e12

#: The rate in "phy enabled; 12 Gbps". A part of a longer number is no rate.
_GIGABITS = re.compile(r"(?<![\w.,-])(\d{1,3}(?:\.\d{1,2})?) ?Gb(?:ps|/s)(?!\w)", re.ASCII)
_ANY_GIGABITS = re.compile(r"\d ?Gb(?:ps|/s)", re.ASCII)

#: The largest numbers of ports per drive, and of phys per port, that are read. A SAS drive has two
#: ports, typically with one phy each.
_MAX_PORTS = 4
_MAX_PHYS = 8

#: The keys of smartctl's JSON for the error counters in the log page of the phys (SPL).
_PHY_ERRORS = (
    "invalid_dword_count",
    "running_disparity_error_count",
    "loss_of_dword_synchronization_count",
    "phy_reset_problem_count",
)


#: The largest value of one of these counters. They have 32 bits (SPL).
_MAX_PHY_ERRORS = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class ReportedLink:
    """The data rates of the link of a drive, as the drive reports them. None means unknown.

    bytes_per_second: the current data rate: the line rate without the bits that the encoding adds.
    max_bytes_per_second: the largest data rate that the drive supports.
    """

    bytes_per_second: float | None = None
    max_bytes_per_second: float | None = None


def parse_link(fields: Fields) -> ReportedLink:
    """Returns the data rates of the link of a SATA or SAS drive.

    For a SATA drive they are from IDENTIFY DEVICE, words 76 and 77. For a SAS drive the current
    rate is from the log page of the phys: the rate of the slowest phy that has a link. A phy
    without a link reports "unknown". SAS drives do not report a maximum rate.
    """
    rates = [rate for phy in _phys(fields) if (rate := _sas_rate(fields, phy)) is not None]
    sata = _sata_rate(fields, "current")
    return ReportedLink(
        min(rates, default=None) if sata is None else sata,
        _sata_rate(fields, "max"),
    )


def sas_link_errors(fields: Fields) -> int | None:
    """Returns the number of link errors of a SAS drive since power on; None if unknown.

    The number is the sum of all error counters of all phys. It is unknown if all bits of a counter
    are set: the counter has reached its maximum, or the drive does not use it.
    """
    paths = [(*phy, key) for phy in _phys(fields) for key in _PHY_ERRORS]
    total = counter_sum(fields, *paths, maximum=_MAX_PHY_ERRORS)
    for path in paths if total is not None and total >= _MAX_PHY_ERRORS else ():
        if fields.integer(*path) == _MAX_PHY_ERRORS:
            reason = "all 32 bits of the counter are 1"
            metric = "interface_errors_total"
            fields.reject(RejectedValue(metric, float(total or 0), ".".join(path), reason))
            return None
    return total


def _sata_rate(fields: Fields, which: str) -> float | None:
    units = fields.number("interface_speed", which, "units_per_second", maximum=_MAX_LINE_BITS)
    bits = fields.number("interface_speed", which, "bits_per_unit", maximum=_MAX_LINE_BITS)
    if not units or not bits or units * bits > _MAX_LINE_BITS:
        return None
    return units * bits * _PAYLOAD_8B_10B / 8


def _phys(fields: Fields) -> Iterator[tuple[str, str]]:
    for port in (f"scsi_sas_port_{number}" for number in range(_MAX_PORTS)):
        if fields.get(port) is not None:
            phys = ((port, f"phy_{number}") for number in range(_MAX_PHYS))
            yield from (phy for phy in phys if fields.get(*phy) is not None)


def _sas_rate(fields: Fields, phy: tuple[str, str]) -> float | None:
    """Returns the data rate of one phy in bytes per second; None if the phy has no link.

    For the text ``phy enabled; 12 Gbps`` the result is 1.2e9.
    """
    path = (*phy, "negotiated_logical_link_rate")
    text = fields.text(*path) or ""
    match = _GIGABITS.search(text)
    if match is None:
        if _ANY_GIGABITS.search(text):
            fields.fault(path, text)
        return None
    gigabits = float(match[1])
    payload = _PAYLOAD_128B_150B if gigabits >= _SAS4_GIGABITS else _PAYLOAD_8B_10B
    return gigabits * 1e9 * payload / 8 or None
