"""How each formula of the wear table reads an attribute.

Percent used and the step in which it is counted, or None where the attribute says nothing. A
normalized value is believed from 1 to 100: 0, 200, 253 and 255 stand for "not supported".

How worn an ATA drive is: by the standard's own figure, else by make, else by a name.

smartctl's own `endurance_used` is not taken for ATA: without device statistics it is 100 minus
the normalized value of whatever is called SSD_Life_Left or Wear_Leveling (7.5, ataprint.cpp),
which is wrong where that value is stuck at 100 and absent for most makes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import AtaAttribute, DriveIdentity, Endurance, EnduranceSource
from exporter.drives.makes import identify_make
from exporter.drives.wear_table import WEAR_RULES, WearRule

Rows: TypeAlias = Mapping[int, AtaAttribute]
Percent: TypeAlias = tuple[float, float]

_WORKLOAD_WEAR = 226
#: Intel's "not valid": no workload timer has run for an hour.
_NOT_VALID = 0xFFFF
#: 233 is 226 rounded up, or down on some; beyond this 226 counts since a later start.
_AGREE_PERCENT = 1.5
#: Intel's 233 goes no lower, 226 on.
_FLOOR = 1


def wear_percent(make: str, rows: Rows) -> Percent | None:
    """What the first of the make's rules that yields something says."""
    for rule in WEAR_RULES:
        if rule.make == make and (percent := _by(rule, rows)) is not None:
            return percent
    return None


def _by(rule: WearRule, rows: Rows) -> Percent | None:
    attribute = rows.get(rule.attribute)
    return None if attribute is None else FORMULAS[rule.formula](attribute, rows)


def value_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Raw is a count of erasures, or packed."""
    del rows
    value = attribute.value
    return None if value is None or not 1 <= value <= 100 else (100.0 - value, 1.0)


def value_from_200(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """From 200 when new to 100 at the end; 100 itself is what other makes show when new."""
    del rows
    value = attribute.value
    return None if value is None or not 101 <= value <= 200 else (200.0 - value, 1.0)


def raw_percent(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    del rows
    return None if attribute.raw > 255 else (float(attribute.raw), 1.0)


def raw_used(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """The normalized value is max(100 - raw, 0); where it is not, the row means something else."""
    value = attribute.value
    if value is None or abs(max(100 - attribute.raw, 0) - value) > 2:
        return None
    return raw_percent(attribute, rows)


def raw_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """0 is what drives print that do not know."""
    del rows
    return None if not 1 <= attribute.raw <= 100 else (100.0 - attribute.raw, 1.0)


def stuck_left(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Life left, in the normalized value where that moves, else in raw.

    On some firmware the value stays at 100 while raw counts down; on other the value counts
    down while raw counts up (KINGSTON SA400: 14 and 86).
    """
    if attribute.value == 100:
        return raw_left(attribute, rows) or value_left(attribute, rows)
    return value_left(attribute, rows)


def intel_media_wear(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """233 in whole percents, finer by 226 where the two agree."""
    coarse = value_left(attribute, rows)
    workload = rows.get(_WORKLOAD_WEAR)
    fine = None if workload is None else workload_1024ths(workload, rows)
    if coarse is None or fine is None or fine[0] == 0:
        return coarse
    past_floor = attribute.value == _FLOOR and fine[0] > coarse[0]
    return fine if past_floor or abs(fine[0] - coarse[0]) <= _AGREE_PERCENT else coarse


def workload_1024ths(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """Since the workload timer's start, which hardly anybody sets; normalized is always 100."""
    del rows
    percent = attribute.raw / 1024
    return None if attribute.raw == _NOT_VALID or percent > 255 else (percent, 1 / 1024)


def hundredths(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """The lowest word is percent and hundredths, a byte each; the normalized value counts up."""
    del rows
    whole, part = divmod(attribute.raw & 0xFFFF, 256)
    return None if part > 99 else (min(whole + part / 100, 255.0), 0.01)


def second_byte(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    del rows
    return float(attribute.raw >> 8 & 0xFF), 1.0


def hundreds(attribute: AtaAttribute, rows: Rows) -> Percent | None:
    """The lowest word counts hundredths of a percent."""
    del rows
    percent = (attribute.raw & 0xFFFF) / 100
    return None if percent > 255 else (percent, 0.01)


FORMULAS: Mapping[str, Callable[[AtaAttribute, Rows], Percent | None]] = {
    formula.__name__: formula
    for formula in (
        *(value_left, value_from_200, raw_percent, raw_used, raw_left, stuck_left),
        *(intel_media_wear, workload_1024ths, hundredths, second_byte, hundreds),
    )
}


#: Solid state device statistics, percentage used endurance indicator: 0 to 255 (ACS-4, 9.5.8).
_PAGE, _OFFSET = 7, 8

_LIFE_LEFT = re.compile(r"life.*(remain|left)|(remain|left).*life|endurance.*remain", re.IGNORECASE)
_LIFE_USED = re.compile(r"(life|endurance).*used|used.*(life|endurance)", re.IGNORECASE)


def ata_endurance(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """The best that the drive tells; None for what turns, and where nothing tells wear."""
    if identity.rotational:
        return None
    standard = device_statistic(fields, _PAGE, _OFFSET, maximum=255)
    if standard is not None:
        return Endurance(standard / 100, EnduranceSource.ATA_DEVSTAT)
    return family_endurance(identity, attributes)


def family_endurance(
    identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """By the attribute table alone, for drives without device statistics and to check those.

    Of a make that we know no name is guessed at: some have nothing that tells wear.
    """
    if identity.rotational:
        return None
    make = identify_make(identity)
    if make is None:
        return _endurance(_by_name(attributes), EnduranceSource.NAME_GUESS)
    rows = {attribute.id: attribute for attribute in attributes}
    return _endurance(wear_percent(make, rows), EnduranceSource.FAMILY_RULE)


def _endurance(percent: Percent | None, source: EnduranceSource) -> Endurance | None:
    return None if percent is None else Endurance(percent[0] / 100, source, percent[1] / 100)


def _by_name(attributes: Sequence[AtaAttribute]) -> Percent | None:
    """Only names that speak of life: reserve blocks are used and left, too."""
    for attribute in attributes:
        if _LIFE_LEFT.search(attribute.name) and "0.01" not in attribute.name:
            guess = _left(attribute)
        elif _LIFE_USED.search(attribute.name):
            guess = None if attribute.raw > 100 else (float(attribute.raw), 1.0)
        else:
            continue
        if guess is not None:
            return guess
    return None


def _left(attribute: AtaAttribute) -> Percent | None:
    """None where the value may be stuck at 100, or raw be something else: nobody knows which."""
    if attribute.value == 100 and 1 <= attribute.raw < 100:
        return None
    return stuck_left(attribute, {})
