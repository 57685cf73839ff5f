"""The line rate between drive and host, as the drive reports it.

NVMe drives do not report theirs: it stands in sysfs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.drives.fields import Fields, counter_sum

#: Payload bits of line bits. SATA and SAS up to 12 Gb/s code 8 bits in 10; SAS-4's 22.5 Gb/s has
#: 128 in 150 (SPL-4).
_CODE_8B_10B = 8 / 10
_CODE_128B_150B = 128 / 150
_SAS4_GIGABITS = 22.5

#: Far above any drive's link.
_FASTEST_BITS = 1e12

_GIGABITS = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) ?Gb(?:ps|/s)", re.ASCII)

#: Drives have two ports, and seldom more than one phy at each.
_MOST_PORTS = 4
_MOST_PHYS = 8

#: What SPL's phy log page counts of errors on the way, in smartctl's words.
_PHY_ERRORS = (
    "invalid_dword_count",
    "running_disparity_error_count",
    "loss_of_dword_synchronization_count",
    "phy_reset_problem_count",
)


@dataclass(frozen=True, slots=True)
class ReportedLink:
    """The rate after encoding, now and at its best; None is not said."""

    bytes_per_second: float | None = None
    max_bytes_per_second: float | None = None


def parse_link(fields: Fields) -> ReportedLink:
    """SATA's from IDENTIFY DEVICE words 76 and 77, SAS's from the phy log page.

    Of a SAS drive's two ports the slowest that has a link; one without says "unknown". Their
    maximum SAS drives do not tell.
    """
    rates = [rate for phy in _phys(fields) if (rate := _sas_rate(fields, phy)) is not None]
    sata = _sata_rate(fields, "current")
    return ReportedLink(
        min(rates, default=None) if sata is None else sata,
        _sata_rate(fields, "max"),
    )


def sas_link_errors(fields: Fields) -> int | None:
    """Errors on the link that the drive's phys have counted since power on."""
    return counter_sum(fields, *((*phy, key) for phy in _phys(fields) for key in _PHY_ERRORS))


def _sata_rate(fields: Fields, which: str) -> float | None:
    units = fields.number("interface_speed", which, "units_per_second", maximum=_FASTEST_BITS)
    bits = fields.number("interface_speed", which, "bits_per_unit", maximum=_FASTEST_BITS)
    if not units or not bits or units * bits > _FASTEST_BITS:
        return None
    return units * bits * _CODE_8B_10B / 8


def _phys(fields: Fields) -> Iterator[tuple[str, str]]:
    for port in (f"scsi_sas_port_{number}" for number in range(_MOST_PORTS)):
        if fields.get(port) is not None:
            phys = ((port, f"phy_{number}") for number in range(_MOST_PHYS))
            yield from (phy for phy in phys if fields.get(*phy) is not None)


def _sas_rate(fields: Fields, phy: tuple[str, str]) -> float | None:
    """``phy enabled; 12 Gbps`` as 1.2e9."""
    match = _GIGABITS.search(fields.text(*phy, "negotiated_logical_link_rate") or "")
    if match is None:
        return None
    gigabits = float(match[1])
    code = _CODE_128B_150B if gigabits >= _SAS4_GIGABITS else _CODE_8B_10B
    return gigabits * 1e9 * code / 8 or None
