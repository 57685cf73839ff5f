"""Parses the bytes that an ATA drive has read and written, and checks the unit of its counter.

There are three sources. The best one that the drive has is used:

1. the device statistics, whose unit the ATA standard defines;
2. a rule of `written_table` for the make of the drive, which is a group of models whose attributes
   have the same meaning (see the module `makes`);
3. an attribute whose name contains the unit.

A count of 0 means that the drive does not count.

Vendors use different units (512 B, 32 MiB, 1 GiB and others) for attributes with the same name.
Even firmware versions of one model differ. So `unit_matches_kernel` compares the count of the drive
with the count of the kernel, in order to detect a wrong unit.
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

#: The page and offset of each counter in the device statistics. The counters are the numbers of
#: logical sectors written and read (ACS-4, 9.5.4).
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

#: The ids of three attributes of Micron drives: the flash pages that were programmed because of
#: host writes, the flash pages that the drive programmed for other reasons, and the sectors that
#: the host wrote (TN-FD-22, TN-FD-23).
_HOST_PAGES, _INTERNAL_PAGES, _HOST_SECTORS = 247, 248, 246
_MICRON_WITH_PAGES = frozenset({"micron_5000", "micron_client"})
#: The number of bytes per flash page, which is 512 * attribute 246 / attribute 247 on drives of the
#: models 5200 and 5300. If a drive has another ratio, its page size is unknown, and its page
#: counters are not used.
_PAGE_BYTES = 1 << 14

#: The raw values that mean "not valid": 0, and numbers of 32, 48 or 56 bits with all bits set.
_NOT_VALID = frozenset({0, (1 << 32) - 1, (1 << 48) - 1, (1 << 56) - 1})
#: The largest valid count, in bytes. No drive can write this much.
_MAX_BYTES = 1 << 62

_RULED = frozenset((rule.make, rule.counter) for rule in WRITTEN_RULES)

#: The shortest time for the comparison with the kernel, in seconds. Some drives update their
#: counters only once an hour.
_MIN_CHECK_SECONDS = 3600.0

#: The smallest increase of a count for the comparison, in units of the drive's counter. With 20
#: units, the rounding at the start and at the end causes an error of at most a tenth.
_MIN_CHECK_STEPS = 20

#: The largest ratio between the two increases if the unit is right. Merged writes, flushes and
#: writes that bypass this kernel cause a smaller ratio. If the unit is wrong, the ratio is larger,
#: because any two units that vendors use differ by more than this.
_MAX_UNIT_RATIO = 2


@dataclass(frozen=True, slots=True)
class AtaWritten:
    """The byte counters of an ATA drive over its whole life.

    None means that the drive does not report the count, or that its unit is unknown.

    host_read: the bytes that the host has read.
    host_written: the bytes that the host has written.
    nand_written: the bytes that the drive has written to its flash.
    """

    host_read: WrittenBytes | None = None
    host_written: WrittenBytes | None = None
    nand_written: WrittenBytes | None = None


def ata_written(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> AtaWritten:
    """Returns the byte counters of an ATA drive, each from its best source.

    attributes: the rows of the attribute table.
    """
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
    """True if the written bytes of the drive and of the kernel agree, False if the unit is wrong.

    smart_delta_bytes: the increase of the drive's count of written bytes.
    unit_bytes: the unit of the drive's count, in bytes.
    kernel_delta_bytes: the increase of the kernel's count of written bytes.
    seconds: the time in which both counts increased.

    The counts agree if neither increase is more than twice the other one. None if this cannot be
    decided: the time is less than an hour, both increases are less than 20 units, the drive's count
    decreased, or the kernel wrote nothing. Do not call this function for a drive to which other
    systems write, such as a drive behind a RAID controller or a drive that several hosts share.
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
    """True if `WRITTEN_RULES` has a row for the make and the counter. Names are then not used.

    A row whose unit is UNKNOWN counts too.
    """
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
    """Returns the count of the first attribute whose name contains the unit.

    None if there is no such attribute, or its count is not valid. The unit may be wrong: smartctl
    gives attribute 241 of a drive that its database does not list the name Total_LBAs_Written.
    """
    matching = _NAMES[counter].fullmatch
    for attribute in attributes:
        match = matching(attribute.name)
        if match is not None:
            unit = _UNITS[match[1]] if match[1] else block
            return _bytes(attribute.raw, unit, UnitSource.NAME)
    return None


def _from_micron_pages(make: str | None, rows: Mapping[int, AtaAttribute]) -> WrittenBytes | None:
    """Returns the bytes that a Micron drive has written to its flash, from its page counters.

    None for other drives, and if the counters do not confirm the assumed page size.
    """
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
