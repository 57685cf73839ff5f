"""Parses the line rate and the error counters of a SATA or SAS link, as the drive reports them.

NVMe drives do not report their link. `exporter.linux.links` reads it from sysfs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.drives.fields import Fields, counter_sum

#: Payload bits per line bit. SATA, and SAS up to 12 Gb/s, use 8b/10b encoding. SAS-4, whose line
#: rate is 22.5 Gb/s, uses 128b/150b (SPL-4).
_PAYLOAD_8B_10B = 8 / 10
_PAYLOAD_128B_150B = 128 / 150
_SAS4_GIGABITS = 22.5

#: Limits the line rate, in bits per second. No drive link is near it, so a higher rate is an error.
_MAX_LINE_BITS = 1e12

_GIGABITS = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) ?Gb(?:ps|/s)", re.ASCII)

#: Limits the ports and phys that are read. A SAS drive has two ports, typically with one phy each.
_MAX_PORTS = 4
_MAX_PHYS = 8

#: smartctl's keys for the error counters of the phy log page (SPL).
_PHY_ERRORS = (
    "invalid_dword_count",
    "running_disparity_error_count",
    "loss_of_dword_synchronization_count",
    "phy_reset_problem_count",
)


@dataclass(frozen=True, slots=True)
class ReportedLink:
    """The current and the maximum line rate of a drive, after encoding; None means unknown."""

    bytes_per_second: float | None = None
    max_bytes_per_second: float | None = None


def parse_link(fields: Fields) -> ReportedLink:
    """The link of a SATA drive (IDENTIFY DEVICE words 76 and 77) or SAS drive (phy log page).

    For a SAS drive the rate is that of the slowest phy that has a link. A phy without a link
    reports "unknown". SAS drives do not report a maximum.
    """
    rates = [rate for phy in _phys(fields) if (rate := _sas_rate(fields, phy)) is not None]
    sata = _sata_rate(fields, "current")
    return ReportedLink(
        min(rates, default=None) if sata is None else sata,
        _sata_rate(fields, "max"),
    )


def sas_link_errors(fields: Fields) -> int | None:
    """The sum of the link errors of all phys of a SAS drive since power on. None if unknown."""
    return counter_sum(fields, *((*phy, key) for phy in _phys(fields) for key in _PHY_ERRORS))


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
    """Bytes per second of one phy: 1.2e9 for ``phy enabled; 12 Gbps``."""
    match = _GIGABITS.search(fields.text(*phy, "negotiated_logical_link_rate") or "")
    if match is None:
        return None
    gigabits = float(match[1])
    payload = _PAYLOAD_128B_150B if gigabits >= _SAS4_GIGABITS else _PAYLOAD_8B_10B
    return gigabits * 1e9 * payload / 8 or None
