"""Parses the bytes that an ATA drive has read and written, and checks the unit of its counter.

There are two sources:

1. the device statistics, whose unit the ATA standard defines;
2. a rule of `written_table` for the make of the drive, which is a group of models whose attributes
   have the same meaning (see the module `makes`).

The device statistics are used unless the attribute shows that they are wrong: on many drives the
count of sectors restarts at 2^32, which is 2.2 TB. The name of an attribute is not used, except for
hard disks: smartctl gives attribute 241 of an unknown drive the name Total_LBAs_Written, although
most SSDs count in GiB or in units of 32 MiB. A count of 0 means that the drive does not count.

Vendors use different units (512 B, 32 MiB, 1 GiB and others) for attributes with the same name.
Even firmware versions of one model differ. So `unit_matches_kernel` compares the count of the drive
with the count of the kernel, in order to detect a wrong unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    DriveIdentity,
    RejectedValue,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.makes import identify_makes
from exporter.drives.written_table import (
    GB,
    GIB,
    GIB_OR_SECTOR,
    LOGICAL_BLOCK,
    MIB,
    SECTOR,
    UNKNOWN,
    WRITTEN_RULES,
    WrittenCounter,
    WrittenRule,
)

#: The page and offset of each counter in the device statistics. The counters are the numbers of
#: logical sectors written and read (ACS-4, 9.5.4).
_DEVICE_STATISTICS: Mapping[WrittenCounter, tuple[int, int]] = {
    "host_written": (1, 0x18),
    "host_read": (1, 0x28),
}

_STATISTICS_RULES: Mapping[WrittenCounter, str] = {
    "host_written": "device statistics, page 1: Logical Sectors Written",
    "host_read": "device statistics, page 1: Logical Sectors Read",
}
#: The names of the metric families, for rejected values.
_METRICS: Mapping[WrittenCounter, str] = {
    "host_written": "host_written_bytes_total",
    "host_read": "host_read_bytes_total",
    "nand_written": "nand_written_bytes_total",
}

_RULES: Mapping[tuple[str, WrittenCounter], tuple[WrittenRule, ...]] = {
    key: tuple(rule for rule in WRITTEN_RULES if (rule.make, rule.counter) == key)
    for key in {(rule.make, rule.counter) for rule in WRITTEN_RULES}
}

#: The attributes of hard disks that count logical sectors, with their names.
_HARD_DISK_ATTRIBUTES: Mapping[WrittenCounter, tuple[int, str]] = {
    "host_written": (241, "Total_LBAs_Written"),
    "host_read": (242, "Total_LBAs_Read"),
}

#: The number of sectors at which the device statistics of many drives restart at 0.
_WRAP_SECTORS = 1 << 32
#: The largest difference between a restarted count and the attribute, as a share of 2^32.
_MAX_WRAP_DISTANCE = 0.02
#: If the count of sectors is smaller than the attribute by this ratio, its unit is not a sector:
#: some drives report the raw value of the attribute.
_MIN_OTHER_UNIT = 10_000
#: The largest ratio of two counts that agree. Drives update their two counters at different times.
_MAX_RATIO = 1.05
#: The makes on which the device statistics are sometimes a random number. If they differ from the
#: attribute by more than this ratio, neither is used.
_RANDOM_STATISTICS = frozenset({"wd", "sandisk_173", "sandisk_value", "sandisk_x35"})
_MAX_RANDOM_RATIO = 2.0

#: The smallest raw value that is a number of sectors, for GIB_OR_SECTOR. As a number of GiB it
#: would be 10 PB, which no SATA drive has written.
MIN_SECTORS = 10**7

#: The largest plausible count, in multiples of the capacity. SLC flash, the most durable flash, is
#: rated for 100,000 erase cycles.
_MAX_CAPACITIES = 100_000

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


def ata_written(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> DriveHealth:
    """Returns the byte counters of an ATA drive, each from its best source.

    Counts that are not plausible are recorded as rejected in `fields`.

    attributes: the rows of the attribute table.
    """
    makes = identify_makes(identity, [attribute.id for attribute in attributes])
    block = identity.logical_block_bytes or SECTOR
    rows = {attribute.id: attribute for attribute in attributes}

    def count(counter: WrittenCounter) -> WrittenBytes | None:
        standard = _from_device_statistics(fields, counter, block)
        by_rule = _by_rule(makes, counter, rows, block)
        if by_rule is None and identity.rotational:
            by_rule = _of_hard_disk(counter, rows, block)
        chosen, rejected = _better(standard, by_rule, makes, block)
        for each in rejected:
            _reject(fields, counter, each, "the other counter of the drive contradicts it")
        capacity = identity.capacity_bytes
        if chosen is not None and capacity and chosen.bytes > capacity * _MAX_CAPACITIES:
            _reject(fields, counter, chosen, "it is too large for the capacity")
            return None
        return chosen

    return DriveHealth(
        host_read=count("host_read"),
        host_written=count("host_written"),
        nand_written=_from_micron_pages(makes, rows) or count("nand_written"),
    )


def _better(
    standard: WrittenBytes | None, by_rule: WrittenBytes | None, makes: Sequence[str], block: int
) -> tuple[WrittenBytes | None, tuple[WrittenBytes, ...]]:
    """Returns the count to use, None if there is none, and the counts that are not used.

    standard: the count of the device statistics.
    by_rule: the count of the attribute.
    """
    if standard is None or by_rule is None:
        return standard or by_rule, ()
    difference = abs(standard.bytes - by_rule.bytes)
    if difference <= (_MAX_RATIO - 1) * standard.bytes + 2 * by_rule.unit_bytes:
        return replace(standard, is_confirmed=True), ()
    if _has_restarted(standard.bytes // block, by_rule.bytes // block):
        return by_rule, (standard,)
    is_random = not _RANDOM_STATISTICS.isdisjoint(makes) and (
        standard.bytes > _MAX_RANDOM_RATIO * by_rule.bytes
        or by_rule.bytes > _MAX_RANDOM_RATIO * standard.bytes
    )
    return (None, (standard, by_rule)) if is_random else (standard, (by_rule,))


def _has_restarted(sectors: int, expected: int) -> bool:
    """Returns True if a count of sectors has restarted at 2^32, or does not count sectors.

    expected: the number of sectors by the attribute.
    """
    if sectors >= _WRAP_SECTORS or expected <= sectors:
        return False
    difference = (expected - sectors) % _WRAP_SECTORS
    distance = min(difference, _WRAP_SECTORS - difference)
    return distance <= _MAX_WRAP_DISTANCE * _WRAP_SECTORS or sectors < expected / _MIN_OTHER_UNIT


def _reject(fields: Fields, counter: WrittenCounter, count: WrittenBytes, reason: str) -> None:
    fields.reject(RejectedValue(_METRICS[counter], float(count.bytes), count.rule, reason))


def unit_matches_kernel(
    smart_delta_bytes: int, unit_bytes: int, kernel_delta_bytes: int, seconds: float
) -> bool | None:
    """True if the written bytes of the drive and of the kernel agree, False if the unit is wrong.

    smart_delta_bytes: the increase of the drive's count of written bytes.
    unit_bytes: the unit of the drive's count, in bytes.
    kernel_delta_bytes: the increase of the kernel's count of written bytes.
    seconds: the time in which both counts increased.

    The counts agree if neither increase is more than twice the other one. None if there is too
    little data: the time is less than an hour, both increases are less than 20 units, the drive's
    count decreased, or the kernel wrote nothing. Do not call this function for a drive to which
    other systems write, such as a drive behind a RAID controller or a drive that several hosts
    share.
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
    return (
        None
        if sectors is None
        else _bytes(sectors, block, UnitSource.STANDARD, _STATISTICS_RULES[counter])
    )


def _by_rule(
    makes: Sequence[str],
    counter: WrittenCounter,
    rows: Mapping[int, AtaAttribute],
    block: int,
) -> WrittenBytes | None:
    for make in makes:
        rules = _RULES.get((make, counter), ())
        for rule in rules:
            if not rows.keys() >= set(rule.attributes):
                continue
            if rule.unit == UNKNOWN:
                return None
            total = sum(rows[attribute].raw for attribute in rule.attributes)
            unit = rule.unit
            if unit == LOGICAL_BLOCK:
                unit = block
            elif unit == GIB_OR_SECTOR:
                unit = SECTOR if total >= MIN_SECTORS else GIB
            numbers = " + ".join(str(attribute) for attribute in rule.attributes)
            text = f"{make}: attribute {numbers}, in units of {_unit_name(unit)}"
            return _bytes(total, unit, UnitSource.FAMILY_RULE, text)
        if rules:
            return None
    return None


def _of_hard_disk(
    counter: WrittenCounter, rows: Mapping[int, AtaAttribute], block: int
) -> WrittenBytes | None:
    """Returns the count of a hard disk, whose attributes 241 and 242 count logical sectors."""
    number, name = _HARD_DISK_ATTRIBUTES.get(counter, (0, ""))
    attribute = rows.get(number)
    if attribute is None or attribute.name != name:
        return None
    return _bytes(attribute.raw, block, UnitSource.NAME, f"attribute {number}, {name}")


def _from_micron_pages(
    makes: Sequence[str], rows: Mapping[int, AtaAttribute]
) -> WrittenBytes | None:
    """Returns the bytes that a Micron drive has written to its flash, from its page counters.

    None for other drives, and if the counters do not confirm the assumed page size.
    """
    needed = {_HOST_PAGES, _INTERNAL_PAGES, _HOST_SECTORS}
    if _MICRON_WITH_PAGES.isdisjoint(makes) or not rows.keys() >= needed:
        return None
    by_pages = rows[_HOST_PAGES].raw * _PAGE_BYTES
    by_sectors = rows[_HOST_SECTORS].raw * SECTOR
    if not 0.9 <= by_sectors / max(by_pages, 1) <= 1.1:
        return None
    pages = rows[_HOST_PAGES].raw + rows[_INTERNAL_PAGES].raw
    text = f"{makes[0]}: attributes 247 + 248, pages of {_PAGE_BYTES} bytes"
    return _bytes(pages, _PAGE_BYTES, UnitSource.FAMILY_RULE, text)


def _unit_name(unit: int) -> str:
    """Returns the name of a unit for people, such as "32 MiB"."""
    if unit == GB:
        return "10^9 bytes"
    for name, size in (("GiB", GIB), ("MiB", MIB)):
        if unit % size == 0:
            return name if unit == size else f"{unit // size} {name}"
    return f"{unit} bytes"


def _bytes(count: int, unit: int, source: UnitSource, rule: str) -> WrittenBytes | None:
    total = count * unit
    if count in _NOT_VALID or total > _MAX_BYTES:
        return None
    return WrittenBytes(total, unit, source, rule)
