"""Determines the wear of an ATA SSD: the share of its rated endurance that it has used.

There are three sources:

1. the device statistics, in which the ATA standard defines the value;
2. a rule of `wear_table` for the make of the drive, which is a group of models whose attributes
   have the same meaning (see the module `makes`);
3. an attribute whose name contains "life" or "endurance".

The device statistics are the best source for most drives, but those of many drives are wrong. So
they are compared with the rule of the make. If the difference between both is large, neither is
used. `wear_table.STATISTICS_RULES` lists the makes whose values are known to be wrong. The third
source is used only if the make is unknown.

smartctl's own field `endurance_used` is not used. For an ATA drive without device statistics,
smartctl computes it as 100 minus the normalized value of the attribute that is named SSD_Life_Left
or Wear_Leveling (7.5, ataprint.cpp). Most makes have no such attribute, and on some firmware its
value always stays at 100.
"""

import re
from collections.abc import Mapping, Sequence

from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import (
    AtaAttribute,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    RejectedValue,
)
from exporter.drives.makes import identify_makes
from exporter.drives.wear_formulas import Percent, Rows, stuck_left, unknown
from exporter.drives.wear_table import (
    STATISTICS_RULES,
    WEAR_RULES,
    StatisticsUse,
    WearRule,
)

#: The page and offset of the Percentage Used Endurance Indicator in the device statistics. Its
#: values are 0 to 255 (ACS-4, 9.5.8).
_PERCENTAGE_USED = (7, 8)
_STATISTICS_RULE = "device statistics, page 7: Percentage Used Endurance Indicator"

#: The name of the metric family, for rejected values.
_METRIC = "endurance_used_ratio"

#: The value of the indicator that many drives report if they do not support it. It is also the
#: largest value that the indicator can have.
_NOT_SUPPORTED = 255
#: The wear in percent from which a drive is worn out. 255 is believed, and 0 is not, if the rule of
#: the make reports at least this wear.
_WORN_OUT = 98.0
#: The largest difference in percentage points that rounding can cause between the device statistics
#: and a rule.
_MAX_DIFFERENCE = 2.0
#: The difference in percentage points from which neither of them is used: one of them has another
#: meaning, and nothing shows which.
_GROSS_DIFFERENCE = 15.0
#: The indicator is one byte. On some drives it restarts at this value.
_RESTART = 256

#: The end of the text of a rule whose value is a lower bound.
BOUND_SUFFIX = "; the gauge has stopped, so this is a lower bound"

_RULES_BY_MAKE: Mapping[str, tuple[WearRule, ...]] = {
    make: tuple(rule for rule in WEAR_RULES if rule.make == make)
    for make in {rule.make for rule in WEAR_RULES}
}
_STATISTICS_USE: Mapping[str, StatisticsUse] = {rule.make: rule.use for rule in STATISTICS_RULES}

#: Match the names of attributes that contain the remaining or the used life in percent.
_LIFE_LEFT = re.compile(r"life.*(remain|left)|(remain|left).*life|endurance.*remain", re.IGNORECASE)
_LIFE_USED = re.compile(r"(life|endurance).*used|used.*(life|endurance)", re.IGNORECASE)


def ata_endurance(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """Returns the wear of an ATA SSD from its best source.

    A value of another source that contradicts the result is recorded as rejected in `fields`. None
    for hard disks, and if no source contains the wear.
    """
    if identity.rotational:
        return None
    makes = identify_makes(identity, [attribute.id for attribute in attributes])
    by_rule = _rule_endurance(makes, attributes)
    percent = device_statistic(fields, *_PERCENTAGE_USED, maximum=_NOT_SUPPORTED)
    if percent is None:
        return by_rule
    use = next((_STATISTICS_USE[make] for make in makes if make in _STATISTICS_USE), None)
    standard = Endurance(percent / 100, EnduranceSource.ATA_DEVSTAT, rule=_STATISTICS_RULE)
    if use == "life_left":
        _reject(fields, standard, "on drives of this make it is the remaining life")
        return by_rule
    reason = _why_wrong(percent, by_rule, use)
    is_confirmed = by_rule is not None and not _differ(standard, by_rule)
    is_needed = use == "agree" or (use is None and _is_gross(standard, by_rule))
    if is_needed and not is_confirmed and not reason:
        for each in filter(None, (standard, by_rule)):
            _reject(fields, each, "no second source of the drive confirms it")
        return None
    if reason:
        _reject(fields, standard, reason)
        return by_rule
    if by_rule is not None and not is_confirmed:
        _reject(fields, by_rule, "the device statistics contradict it")
    return standard


def _rule_endurance(makes: Sequence[str], attributes: Sequence[AtaAttribute]) -> Endurance | None:
    if not makes:
        return _endurance(_percent_by_name(attributes), EnduranceSource.NAME_GUESS, "name")
    rows = {attribute.id: attribute for attribute in attributes}
    for rule in (rule for make in makes for rule in _RULES_BY_MAKE.get(make, ())):
        if rule.formula is unknown:
            return None
        if (percent := _percent_by_rule(rule, rows)) is not None:
            text = f"{rule.make}: attribute {rule.attribute}, {rule.formula.__name__}"
            if rule.parameter != 100:
                text += f"({rule.parameter})"
            if percent.is_bound:
                text += BOUND_SUFFIX
            return _endurance(percent, EnduranceSource.FAMILY_RULE, text)
    return None


def _why_wrong(percent: int, by_rule: Endurance | None, use: StatisticsUse | None) -> str:
    """Returns the reason why the value of the device statistics is not used. Empty if it is used.

    percent: the value of the device statistics.
    by_rule: the wear by the rule of the make. None means unknown.
    use: how the value is used for drives of this make. None means as the standard defines it.
    """
    used = _known_percent(by_rule)
    is_stopped = by_rule is not None and by_rule.is_lower_bound
    reason = ""
    if use == "ignored":
        reason = "the device statistics of this make are not usable"
    elif percent == _NOT_SUPPORTED and (used is None or used < _WORN_OUT):
        reason = "255 means that the drive does not support it"
    elif used is None:
        reason = ""
    elif use == "larger" and used > percent:
        reason = "the drive has a second gauge, which is larger"
    elif percent == 0 and used > _MAX_DIFFERENCE:
        reason = "it is 0 although the attributes show wear"
    elif used >= _RESTART and abs(used % _RESTART - percent) <= _MAX_DIFFERENCE:
        reason = "it has restarted at 256"
    elif is_stopped and percent < used - _MAX_DIFFERENCE:
        reason = "the gauge of the drive has reached the end of its scale"
    elif use == "less" and abs(used - percent) > _MAX_DIFFERENCE:
        reason = "the attributes contradict it, and on drives of this make they are right"
    return reason


def _reject(fields: Fields, endurance: Endurance, reason: str) -> None:
    fields.reject(RejectedValue(_METRIC, endurance.used_ratio, endurance.rule, reason))


def _differ(standard: Endurance, by_rule: Endurance) -> bool:
    """Returns True if the values contradict each other.

    A value of the device statistics above a lower bound is no contradiction.
    """
    return abs(_distance(standard, by_rule)) > _MAX_DIFFERENCE


def _is_gross(standard: Endurance, by_rule: Endurance | None) -> bool:
    """Returns True if the rule of a known make differs by more than `_GROSS_DIFFERENCE`.

    False if both values mean that the drive is worn out.
    """
    used = _known_percent(by_rule)
    if by_rule is None or used is None or min(used, 100 * standard.used_ratio) >= _WORN_OUT:
        return False
    return abs(_distance(standard, by_rule)) > _GROSS_DIFFERENCE


def _distance(standard: Endurance, by_rule: Endurance) -> float:
    points = 100 * (standard.used_ratio - by_rule.used_ratio)
    return min(points, 0.0) if by_rule.is_lower_bound else points


def _known_percent(by_rule: Endurance | None) -> float | None:
    """Returns the wear in percent by the rule of a make; None if it is only a guess."""
    is_known = by_rule is not None and by_rule.source is not EnduranceSource.NAME_GUESS
    return 100 * by_rule.used_ratio if by_rule is not None and is_known else None


def _percent_by_rule(rule: WearRule, rows: Rows) -> Percent | None:
    attribute = rows.get(rule.attribute)
    return None if attribute is None else rule.formula(attribute, rows, rule.parameter)


def _endurance(percent: Percent | None, source: EnduranceSource, rule: str) -> Endurance | None:
    if percent is None:
        return None
    step_ratio = min(percent.step / 100, 0.01)
    return Endurance(percent.used / 100, source, step_ratio, rule, percent.is_bound)


def _percent_by_name(attributes: Sequence[AtaAttribute]) -> Percent | None:
    """Returns the wear from the first attribute whose name contains "life" or "endurance".

    Names that contain only "used" or "left" do not match, because they can refer to spare blocks.
    None if no attribute matches.
    """
    for attribute in attributes:
        if _LIFE_LEFT.search(attribute.name) and "0.01" not in attribute.name:
            percent = _percent_from_life_left(attribute)
        elif _LIFE_USED.search(attribute.name):
            percent = None if attribute.raw > 100 else Percent(float(attribute.raw), 1.0)
        else:
            continue
        if percent is not None:
            return percent
    return None


def _percent_from_life_left(attribute: AtaAttribute) -> Percent | None:
    """Returns the wear from an attribute whose name refers to the remaining life.

    None if the normalized value is 100 and the raw value is 1 to 99, because either of them may be
    the remaining life.
    """
    if attribute.value == 100 and 1 <= attribute.raw < 100:
        return None
    return stuck_left(attribute, {}, 100)
