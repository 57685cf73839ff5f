"""Parses the bytes that an ATA drive has read and written, and checks the unit of its counter.

The sources, best first: the device statistics, whose unit the standard defines; a rule of
`written_table` for the make of the drive; an attribute whose name contains the unit. A count of 0
means that the drive does not count.

Vendors use units of 512 B, 32 MiB, 1 GiB and others under one attribute name, and firmware
versions of one model differ. `unit_matches_kernel` compares the drive's count with that of the
kernel to detect a wrong unit.
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
    WrittenCounter,
)

#: Page and offset of a counter in the device statistics: logical sectors written and logical
#: sectors read (ACS-4, 9.5.4).
_DEVICE_STATISTICS: Mapping[WrittenCounter, tuple[int, int]] = {
    "host_written": (1, 0x18),
    "host_read": (1, 0x28),
}

_UNITS = {"32MiB": MIB_32, "GiB": GIB, "1GiB": GIB, "MiB": MIB, "GB": GB}
_NAMES: Mapping[WrittenCounter, re.Pattern[str]] = {
    "host_written": re.compile(
        r"(?:Host|Lifetime|Total)_Writes_(32MiB|1?GiB|MiB|GB)|(Total_LBAs_Written)"
    ),
    "host_read": re.compile(
        r"(?:Host|Lifetime|Total)_Reads_(32MiB|1?GiB|MiB|GB)|(Total_LBAs_Read)"
    ),
    "nand_written": re.compile(r"(?:Total_)?(?:NAND|Flash)_Writes_(32MiB|1?GiB)"),
}

#: Micron drives count the flash pages that host writes and internal writes programmed, and the
#: sectors that the host wrote (TN-FD-22, TN-FD-23).
_HOST_PAGES, _INTERNAL_PAGES, _HOST_SECTORS = 247, 248, 246
_MICRON_WITH_PAGES = frozenset({"micron_5000", "micron_client"})
#: Bytes per page: 512 * attribute 246 / attribute 247 on 5200 and 5300 drives. The page counters
#: of a drive with another ratio are not used, because its page size is unknown.
_PAGE_BYTES = 1 << 14

#: Raw values that mean "not valid": 0, and all ones in one of the usual widths.
_NOT_VALID = frozenset({0, (1 << 32) - 1, (1 << 48) - 1, (1 << 56) - 1})
#: Limits a lifetime count, in bytes. No drive can write this much.
_MAX_BYTES = 1 << 62

_RULED = frozenset((rule.make, rule.counter) for rule in WRITTEN_RULES)

#: The shortest time for the comparison with the kernel, in seconds. Some drives update their
#: counters only once an hour.
_MIN_CHECK_SECONDS = 3600.0

#: The smallest growth for the comparison, in steps of the drive's counter. With 20 steps the
#: rounding at both ends is at most a tenth.
_MIN_CHECK_STEPS = 20

#: The largest ratio of the two counts if the unit is right. Merged writes, flushes and writes that
#: bypass this kernel cause a smaller ratio. The ratio of any two units in use is larger.
_MAX_UNIT_RATIO = 2


@dataclass(frozen=True, slots=True)
class AtaWritten:
    """Lifetime byte counters: read by the host, written by the host, and written to the flash.

    None means that the drive does not report the count, or that its unit is unknown.
    """

    host_read: WrittenBytes | None = None
    host_written: WrittenBytes | None = None
    nand_written: WrittenBytes | None = None


def ata_written(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> AtaWritten:
    """The byte counters of an ATA drive, each from its best source."""
    make = identify_make(identity)
    block = identity.logical_block_bytes or SECTOR
    rows = {attribute.id: attribute for attribute in attributes}

    def count(counter: WrittenCounter) -> WrittenBytes | None:
        standard = _from_device_statistics(fields, counter, block)
        if standard is not None:
            return standard
        by_rule = None if make is None else _by_rule(make, counter, rows, block)
        if by_rule is not None:
            return by_rule
        return None if _has_rule(make, counter) else _by_name(counter, attributes, block)

    return AtaWritten(
        host_read=count("host_read"),
        host_written=count("host_written"),
        nand_written=_from_micron_pages(make, rows) or count("nand_written"),
    )


def unit_matches_kernel(
    smart_delta_bytes: int, unit_bytes: int, kernel_delta_bytes: int, seconds: float
) -> bool | None:
    """True if the drive's count and the kernel's count grew alike, False if the unit is wrong.

    smart_delta_bytes, kernel_delta_bytes: the growth of the two counts, in bytes.
    unit_bytes: one step of the drive's counter.
    seconds: the time in which the counts grew.

    None if this cannot be decided: the time is less than an hour, both counts grew by less than
    20 steps, the drive's counter went backward, or the kernel wrote nothing. Do not call it for
    a drive that other systems write to: behind a RAID controller, or shared between hosts.
    """
    if seconds < _MIN_CHECK_SECONDS or unit_bytes <= 0:
        return None
    if kernel_delta_bytes <= 0 or smart_delta_bytes < 0:
        return None
    if max(smart_delta_bytes, kernel_delta_bytes) < _MIN_CHECK_STEPS * unit_bytes:
        return None
    scaled = _MAX_UNIT_RATIO * smart_delta_bytes
    return kernel_delta_bytes <= scaled <= _MAX_UNIT_RATIO**2 * kernel_delta_bytes


def _from_device_statistics(
    fields: Fields, counter: WrittenCounter, block: int
) -> WrittenBytes | None:
    location = _DEVICE_STATISTICS.get(counter)
    sectors = None if location is None else device_statistic(fields, *location)
    return None if sectors is None else _bytes(sectors, block, UnitSource.STANDARD)


def _has_rule(make: str | None, counter: WrittenCounter) -> bool:
    """True if the table has a row for the make, also with unit UNKNOWN. Names are then not used."""
    return (make, counter) in _RULED


def _by_rule(
    make: str, counter: WrittenCounter, rows: Mapping[int, AtaAttribute], block: int
) -> WrittenBytes | None:
    for rule in WRITTEN_RULES:
        if rule.make == make and rule.counter == counter and rows.keys() >= set(rule.attributes):
            if rule.unit == UNKNOWN:
                return None
            unit = block if rule.unit == LOGICAL_BLOCK else rule.unit
            counts = [rows[attribute].raw for attribute in rule.attributes]
            return _bytes(sum(counts), unit, UnitSource.FAMILY_RULE)
    return None


def _by_name(
    counter: WrittenCounter, attributes: Sequence[AtaAttribute], block: int
) -> WrittenBytes | None:
    """The first attribute whose name contains the unit.

    smartctl also names attribute 241 of an unknown drive Total_LBAs_Written.
    """
    matching = _NAMES[counter].fullmatch
    for attribute in attributes:
        match = matching(attribute.name)
        if match is not None:
            unit = _UNITS[match[1]] if match[1] else block
            return _bytes(attribute.raw, unit, UnitSource.NAME)
    return None


def _from_micron_pages(make: str | None, rows: Mapping[int, AtaAttribute]) -> WrittenBytes | None:
    """The bytes written to the flash of a Micron drive, whose page size is confirmed."""
    needed = {_HOST_PAGES, _INTERNAL_PAGES, _HOST_SECTORS}
    if make not in _MICRON_WITH_PAGES or not rows.keys() >= needed:
        return None
    by_pages = rows[_HOST_PAGES].raw * _PAGE_BYTES
    by_sectors = rows[_HOST_SECTORS].raw * SECTOR
    if not 0.9 <= by_sectors / max(by_pages, 1) <= 1.1:
        return None
    pages = rows[_HOST_PAGES].raw + rows[_INTERNAL_PAGES].raw
    return _bytes(pages, _PAGE_BYTES, UnitSource.FAMILY_RULE)


def _bytes(count: int, unit: int, source: UnitSource) -> WrittenBytes | None:
    total = count * unit
    if count in _NOT_VALID or total > _MAX_BYTES:
        return None
    return WrittenBytes(total, unit, source)
