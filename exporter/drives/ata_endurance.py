"""Computes the wear of an ATA SSD: the share of its rated endurance that it has used.

There are three sources. The best one that the drive has is used:

1. the device statistics, in which the ATA standard defines the value;
2. a rule of `wear_table` for the make of the drive, which is a group of models whose attributes
   have the same meaning (see the module `makes`);
3. an attribute whose name contains "life" or "endurance".

smartctl's own field `endurance_used` is not used. For an ATA drive without device statistics,
smartctl computes it as 100 minus the normalized value of the attribute that is named SSD_Life_Left
or Wear_Leveling (7.5, ataprint.cpp). Most makes have no such attribute, and on some firmware its
value always stays at 100.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import AtaAttribute, DriveIdentity, Endurance, EnduranceSource
from exporter.drives.makes import identify_make
from exporter.drives.wear_table import WEAR_RULES, Formula, WearRule

#: The rows of the attribute table, keyed by attribute id.
Rows: TypeAlias = Mapping[int, AtaAttribute]
#: The used endurance in percent, and the resolution of this number in percent.
Percent: TypeAlias = tuple[float, float]

#: The page and offset of the Percentage Used Endurance Indicator in the device statistics. Its
#: values are 0 to 255 (ACS-4, 9.5.8).
_PERCENTAGE_USED = (7, 8)

#: Match the names of attributes that contain the remaining or the used life in percent.
_LIFE_LEFT = re.compile(r"life.*(remain|left)|(remain|left).*life|endurance.*remain", re.IGNORECASE)
_LIFE_USED = re.compile(r"(life|endurance).*used|used.*(life|endurance)", re.IGNORECASE)

#: The id of Intel's attribute "timed workload media wear".
_WORKLOAD_WEAR = 226
#: The raw value of attribute 226 until the workload timer has run for an hour.
_WORKLOAD_NOT_VALID = 0xFFFF
#: The largest difference between attributes 233 and 226 that rounding can cause, in percentage
#: points. 233 is 226 rounded up, on some drives rounded down. If the difference is larger, the
#: workload timer was restarted, so 226 does not contain the wear of the whole life.
_MAX_DIFFERENCE_PERCENT = 1.5
#: The lowest normalized value of Intel's attribute 233. It stays at this value while attribute 226
#: continues to count.
_MIN_INTEL_VALUE = 1


def ata_endurance(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """Returns the wear of an ATA SSD from its best source.

    None for hard disks, and if no source contains the wear.
    """
    if identity.rotational:
        return None
    standard = device_statistic(fields, *_PERCENTAGE_USED, maximum=255)
    if standard is not None:
        return Endurance(standard / 100, EnduranceSource.ATA_DEVSTAT)
    return family_endurance(identity, attributes)


def family_endurance(
    identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """Returns the wear of a drive that has no device statistics, from its attributes.

    If the make is known, only the rules of `wear_table` are used, because some known makes do not
    report wear at all. If the make is unknown, the names of the attributes are used. None for hard
    disks, and if no attribute contains the wear.
    """
    if identity.rotational:
        return None
    make = identify_make(identity)
    if make is None:
        return _endurance(_percent_by_name(attributes), EnduranceSource.NAME_GUESS)
    rows = {attribute.id: attribute for attribute in attributes}
    return _endurance(wear_percent(make, rows), EnduranceSource.FAMILY_RULE)


def wear_percent(make: str, rows: Rows) -> Percent | None:
    """Returns the used endurance and its resolution, both in percent.

    The rules of `wear_table` for the make are tried in order, and the first value is returned. None
    if no rule finds a value.
    """
    for rule in WEAR_RULES:
        if rule.make == make and (percent := _percent_by_rule(rule, rows)) is not None:
            return percent
    return None


# The formulas of the wear table. Each returns the used endurance and its resolution, both in
# percent, or None if the attribute does not contain the wear. `rows` are all attributes of the
# drive, keyed by id. Valid normalized values are 1 to 100. The values 0, 200, 253 and 255
# mean "not supported".


def value_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose normalized value is the remaining life in percent.

    The raw value is not used: it contains several numbers in one, or a count of erasures.
    """
    del rows
    value = attribute.value
    return None if value is None or not 1 <= value <= 100 else (100.0 - value, 1.0)


def value_from_200(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from a normalized value that decreases from 200 (new) to 100 (end of life).

    None for the value 100, because new drives of other makes report it.
    """
    del rows
    value = attribute.value
    return None if value is None or not 101 <= value <= 200 else (200.0 - value, 1.0)


def raw_percent(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose raw value is the used percentage, 0 to 255."""
    del rows
    return None if attribute.raw > 255 else (float(attribute.raw), 1.0)


def raw_used(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose raw and normalized value both contain it.

    The raw value is the used endurance in percent. The normalized value is max(100 - raw, 0). None
    if they differ by more than 2, because the attribute then has another meaning.
    """
    value = attribute.value
    if value is None or abs(max(100 - attribute.raw, 0) - value) > 2:
        return None
    return raw_percent(attribute, rows)


def raw_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose raw value is the remaining life in percent.

    None for the raw value 0, because some drives always report it, and for values above 100.
    """
    del rows
    return None if not 1 <= attribute.raw <= 100 else (100.0 - attribute.raw, 1.0)


def stuck_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose normalized or raw value is the remaining life.

    On some firmware the normalized value stays at 100, and the raw value counts down from 100. On
    other firmware the normalized value counts down, and the raw value counts up (KINGSTON SA400:
    raw 14, normalized 86). So the raw value is used only if the normalized value is 100.
    """
    if attribute.value == 100:
        return raw_left(attribute, rows) or value_left(attribute, rows)
    return value_left(attribute, rows)


def intel_media_wear(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear of an Intel drive from attributes 233 and 226.

    `attribute` is 233, which counts whole percents. Attribute 226 is finer. It is used if both
    agree, or if 233 has reached its lowest value and 226 is larger.
    """
    coarse = value_left(attribute, rows)
    workload = rows.get(_WORKLOAD_WEAR)
    fine = None if workload is None else workload_1024ths(workload, rows)
    if coarse is None or fine is None or fine[0] == 0:
        return coarse
    is_past_minimum = attribute.value == _MIN_INTEL_VALUE and fine[0] > coarse[0]
    do_agree = abs(fine[0] - coarse[0]) <= _MAX_DIFFERENCE_PERCENT
    return fine if is_past_minimum or do_agree else coarse


def workload_1024ths(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from an attribute whose raw value counts 1/1024 percent.

    The count starts with the workload timer, which is rarely restarted. The normalized value is
    always 100 and is not used. None if the raw value means "not valid".
    """
    del rows
    percent = attribute.raw / 1024
    is_valid = attribute.raw != _WORKLOAD_NOT_VALID and percent <= 255
    return (percent, 1 / 1024) if is_valid else None


def hundredths(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from a raw value that contains whole percents and hundredths.

    The second lowest byte contains the whole percents, and the lowest byte the hundredths of a
    percent. None if the hundredths are above 99. The normalized value counts up and is not used.
    """
    del rows
    whole, part = divmod(attribute.raw & 0xFFFF, 256)
    return None if part > 99 else (min(whole + part / 100, 255.0), 0.01)


def second_byte(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from a raw value whose second lowest byte is the used percentage."""
    del rows
    return float(attribute.raw >> 8 & 0xFF), 1.0


def hundreds(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Returns the wear from a raw value whose two lowest bytes count hundredths of a percent."""
    del rows
    percent = (attribute.raw & 0xFFFF) / 100
    return None if percent > 255 else (percent, 0.01)


FORMULAS: Mapping[Formula, Callable[[AtaAttribute, Rows], Percent | None]] = {
    "value_left": value_left,
    "value_from_200": value_from_200,
    "raw_percent": raw_percent,
    "raw_used": raw_used,
    "raw_left": raw_left,
    "stuck_left": stuck_left,
    "intel_media_wear": intel_media_wear,
    "workload_1024ths": workload_1024ths,
    "hundredths": hundredths,
    "second_byte": second_byte,
    "hundreds": hundreds,
}


def _percent_by_rule(rule: WearRule, rows: Rows) -> Percent | None:
    attribute = rows.get(rule.attribute)
    return None if attribute is None else FORMULAS[rule.formula](attribute, rows)


def _endurance(percent: Percent | None, source: EnduranceSource) -> Endurance | None:
    return None if percent is None else Endurance(percent[0] / 100, source, percent[1] / 100)


def _percent_by_name(attributes: Sequence[AtaAttribute]) -> Percent | None:
    """Returns the wear from the first attribute whose name contains "life" or "endurance".

    Names that contain only "used" or "left" do not match, because they can refer to spare blocks.
    None if no attribute matches.
    """
    for attribute in attributes:
        if _LIFE_LEFT.search(attribute.name) and "0.01" not in attribute.name:
            percent = _percent_of_life_left(attribute)
        elif _LIFE_USED.search(attribute.name):
            percent = None if attribute.raw > 100 else (float(attribute.raw), 1.0)
        else:
            continue
        if percent is not None:
            return percent
    return None


def _percent_of_life_left(attribute: AtaAttribute) -> Percent | None:
    """Returns the wear from an attribute whose name refers to the remaining life.

    None if the normalized value is 100 and the raw value is 1 to 99, because either of them may be
    the remaining life.
    """
    if attribute.value == 100 and 1 <= attribute.raw < 100:
        return None
    return stuck_left(attribute, {})
