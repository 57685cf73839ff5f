"""Is the unit right in which a drive is believed to count the bytes written to it?

Vendors count in 512 B, 32 MiB, 1 GiB and more under one attribute name, and firmware of one model
differs; the kernel's own count of what it wrote to the drive settles it.

Bytes that an ATA drive's host read and wrote, and that its flash took.

First device statistics, whose unit the standard fixes, then the make's attribute, then one whose
name says its unit. A total of 0 is a drive that does not count.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import AtaAttribute, DriveIdentity, UnitSource, WrittenBytes
from exporter.drives.makes import identify_make
from exporter.drives.written_table import (
    GB,
    GIB,
    LOGICAL_BLOCK,
    MIB,
    MIB_32,
    SECTOR,
    UNKNOWN,
    WRITTEN_RULES,
)

#: Drives bring their counters up to date now and then, some once an hour.
_LEAST_SECONDS = 3600.0

#: So many steps make the rounding of both ends at most a tenth.
_LEAST_STEPS = 20

#: Right units agree within this factor: merged, flushed and foreign writes lie below it, and no
#: two units in use are as near.
_FACTOR = 2


def unit_matches_kernel(
    smart_delta_bytes: int, unit_bytes: int, kernel_delta_bytes: int, seconds: float
) -> bool | None:
    """True where the growth of both counts agrees, False where the unit must be wrong.

    None where that cannot be told: less than an hour, less than 20 steps of the counter by either
    count, a counter that went back, or a kernel that wrote nothing. It is for drives that only
    this kernel writes to, so not for one behind a RAID controller or shared between hosts.
    """
    if seconds < _LEAST_SECONDS or unit_bytes <= 0:
        return None
    if kernel_delta_bytes <= 0 or smart_delta_bytes < 0:
        return None
    if max(smart_delta_bytes, kernel_delta_bytes) < _LEAST_STEPS * unit_bytes:
        return None
    return kernel_delta_bytes <= _FACTOR * smart_delta_bytes <= _FACTOR**2 * kernel_delta_bytes


#: General statistics: logical sectors written and read (ACS-4, 9.5.4).
_PAGE = 1
_OFFSETS = {"host_written": 0x18, "host_read": 0x28}

_UNITS = {"32MiB": MIB_32, "GiB": GIB, "1GiB": GIB, "MiB": MIB, "GB": GB}
_NAMES = {
    "host_written": re.compile(
        r"(?:Host|Lifetime|Total)_Writes_(32MiB|1?GiB|MiB|GB)|(Total_LBAs_Written)"
    ),
    "host_read": re.compile(
        r"(?:Host|Lifetime|Total)_Reads_(32MiB|1?GiB|MiB|GB)|(Total_LBAs_Read)"
    ),
    "nand_written": re.compile(r"(?:Total_)?(?:NAND|Flash)_Writes_(32MiB|1?GiB)"),
}

#: Micron counts pages that the host and that the drive itself had programmed (TN-FD-22, -23).
_HOST_PAGES, _OWN_PAGES, _HOST_SECTORS = 247, 248, 246
_MICRON_PAGED = frozenset({"micron_5000", "micron_client"})
#: 512 x 246 / 247 on 5200 and 5300 drives; a drive where it is not has other pages.
_PAGE_BYTES = 1 << 14

#: All ones in any of the widths in use is "not valid"; nobody has written 2^62 bytes.
_NOT_VALID = frozenset({0, (1 << 32) - 1, (1 << 48) - 1, (1 << 56) - 1})
_MOST_BYTES = 1 << 62

_RULED = frozenset((rule.make, rule.counter) for rule in WRITTEN_RULES)


@dataclass(frozen=True, slots=True)
class AtaWritten:
    host_read: WrittenBytes | None = None
    host_written: WrittenBytes | None = None
    nand_written: WrittenBytes | None = None


def ata_written(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> AtaWritten:
    make = identify_make(identity)
    block = identity.logical_block_bytes or SECTOR
    rows = {attribute.id: attribute for attribute in attributes}

    def counted(counter: str) -> WrittenBytes | None:
        standard = _standard(fields, counter, block)
        if standard is not None:
            return standard
        rule = None if make is None else _by_make(make, counter, rows, block)
        if rule is not None:
            return rule
        return None if _is_ruled(make, counter) else _by_name(counter, attributes, block)

    return AtaWritten(
        host_read=counted("host_read"),
        host_written=counted("host_written"),
        nand_written=_micron_pages(make, rows) or counted("nand_written"),
    )


def _standard(fields: Fields, counter: str, block: int) -> WrittenBytes | None:
    offset = _OFFSETS.get(counter)
    sectors = None if offset is None else device_statistic(fields, _PAGE, offset)
    return None if sectors is None else _bytes(sectors, block, UnitSource.STANDARD)


def _is_ruled(make: str | None, counter: str) -> bool:
    """A make whose unit is known, or known to be doubtful: its attributes' names do not count."""
    return (make, counter) in _RULED


def _by_make(
    make: str, counter: str, rows: Mapping[int, AtaAttribute], block: int
) -> WrittenBytes | None:
    for rule in WRITTEN_RULES:
        if rule.make == make and rule.counter == counter and rows.keys() >= set(rule.attributes):
            if rule.unit == UNKNOWN:
                return None
            unit = block if rule.unit == LOGICAL_BLOCK else rule.unit
            counts = [rows[attribute].raw for attribute in rule.attributes]
            return _bytes(sum(counts), unit, UnitSource.FAMILY_RULE)
    return None


def _by_name(counter: str, attributes: Sequence[AtaAttribute], block: int) -> WrittenBytes | None:
    """Total_LBAs_Written is also what smartctl calls 241 of a drive that it does not know."""
    named = _NAMES[counter].fullmatch
    for attribute in attributes:
        match = named(attribute.name)
        if match is not None:
            unit = _UNITS[match[1]] if match[1] else block
            return _bytes(attribute.raw, unit, UnitSource.NAME)
    return None


def _micron_pages(make: str | None, rows: Mapping[int, AtaAttribute]) -> WrittenBytes | None:
    if make not in _MICRON_PAGED or not rows.keys() >= {_HOST_PAGES, _OWN_PAGES, _HOST_SECTORS}:
        return None
    host = rows[_HOST_PAGES].raw * _PAGE_BYTES
    by_sectors = rows[_HOST_SECTORS].raw * SECTOR
    if not 0.9 <= by_sectors / max(host, 1) <= 1.1:
        return None
    pages = rows[_HOST_PAGES].raw + rows[_OWN_PAGES].raw
    return _bytes(pages, _PAGE_BYTES, UnitSource.FAMILY_RULE)


def _bytes(count: int, unit: int, source: UnitSource) -> WrittenBytes | None:
    total = count * unit
    if count in _NOT_VALID or total > _MOST_BYTES:
        return None
    return WrittenBytes(total, unit, source)
