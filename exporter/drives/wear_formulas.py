"""Contains the formulas of `wear_table`, which compute the used endurance of an ATA SSD.

Each formula returns a `Percent`, or None if the attribute does not contain the wear. Its arguments
are the attribute of the rule, all attributes of the drive keyed by id, and the parameter of the
rule (see `wear_table.WearRule`).

Valid normalized values are 1 to 100. The values 0, 200, 253 and 255 mean "not supported". Many
gauges stop at the end of their scale. The wear is then a lower bound.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from exporter.drives.health import AtaAttribute

#: The rows of the attribute table, keyed by attribute id.
Rows: TypeAlias = Mapping[int, AtaAttribute]


class Percent(NamedTuple):
    """The used endurance of a drive.

    used: the used endurance in percent.
    step: the resolution of `used` in percent.
    is_bound: True if the gauge has stopped at the end of its scale. `used` is then a lower bound.
    """

    used: float
    step: float
    is_bound: bool = False


#: The arguments are the attribute of the rule, all attributes of the drive, and the parameter.
Formula: TypeAlias = Callable[[AtaAttribute, Rows, int], Percent | None]


#: The id of Intel's attribute "timed workload media wear".
_WORKLOAD_WEAR = 226
#: The raw value of attribute 226 until the workload timer has run for an hour.
_WORKLOAD_NOT_VALID = 0xFFFF
#: The largest difference between attributes 233 and 226 that rounding can cause, in percentage
#: points. 233 is 226 rounded up, on some drives rounded down. If the difference is larger, the
#: workload timer was restarted, so 226 does not contain the wear of the whole life.
_MAX_DIFFERENCE_PERCENT = 1.5
#: The normalized value at which most gauges of the remaining life stop.
_MIN_VALUE = 1

#: For each parameter of `late_left`: the wear in percent at which the normalized value starts to
#: decrease, and the largest decrease for which the wear is proportional to it.
_LATE = {88: (3.5, 50), 93: (3.5, 99), 95: (3.5, 60), 140: (7.1, 99)}
#: The largest start for which the value 100 is a useful wear: half of the start.
_MAX_LATE_START = 4.0
#: The reserve of spare blocks, and the normalized value below which it is exhausted. The gauge then
#: shows the reserve and not the wear.
_RESERVE, _MIN_RESERVE = 232, 10
#: The number of bits of the part of the raw value that is 0 if the gauge shows the wear, and the
#: smallest upper part with which captured drives contradict the wear.
_GAUGE_BITS, _MAX_GAUGE_EVENTS = 32, 16
#: The smallest raw value that is a count of erasures, for `value_from_200`.
_MIN_ERASES = 1000
#: The largest plausible used endurance in percent. A drive that has used more than this share of
#: its rated endurance does not work any more, so the number has another meaning.
_MAX_PERCENT = 2000.0

#: Attributes of Silicon Motion controllers: the largest number of erase cycles of a block, the
#: rated number of erase cycles, the remaining life in percent, and the moves of wear leveling.
_SMI_MAX_ERASES, _SMI_RATED, _SMI_LEFT, _SMI_MOVES = 165, 168, 169, 177
#: The numbers of erase cycles that Silicon Motion's firmware uses as rated. Other numbers in
#: attribute 168 are a count.
_SMI_RATINGS = frozenset({500, 900, 1000, 1500, 2000, 3000, 3808, 5000, 5050, 7000, 20000})
#: The ratings that the firmware also reports for flash that is rated lower. With them, drives whose
#: blocks are erased evenly report up to ten times the computed wear in their device statistics
#: (47 of 425 captures).
_SMI_DEFAULT_RATINGS = frozenset({2000, 3808, 5050})
#: The largest computed wear in percent that is used with these ratings. More is used only with the
#: rating 5050, and only if the largest number of erase cycles is at least this multiple of the
#: average number: the computed wear then agrees with the device statistics (51 of 51 captures).
_SMI_MAX_DOUBTFUL_PERCENT, _SMI_SPREAD_RATING, _SMI_MIN_SPREAD = 1.0, 5050, 3.9
#: The largest number of erase cycles of a block as a multiple of the average, for
#: `maxio_packed_erases`. On two drives that exceed it, the wear is 2 and 3 points too high.
_MAXIO_MAX_SPREAD = 3.3
#: Attributes of Phison drives: the remaining life, and two counts of erase cycles in one; and the
#: largest difference between both, in percentage points.
_LIFE_LEFT, _PACKED_ERASES, _MAX_PHISON_DIFFERENCE = 231, 173, 2.0
#: The wear in percent up to which a drive is new, and from which it is worn out.
_MAX_NEW, _MIN_WORN = 2.0, 98.0
#: The attributes that contain the average number of erase cycles, for `worn_out`. On Phison drives,
#: which have both, 167 is another counter.
_AVERAGE_ERASES = (244, 167)
#: Attributes of Maxio controllers: the average number of erase cycles, and the used share of the
#: rated number in percent. The numbers of erase cycles that the firmware uses as rated.
_MAXIO_ERASES, _MAXIO_USED = 208, 231
_MAXIO_RATINGS = (1500, 3000, 5000)
#: The largest difference between the computed and the remaining life that rounding and the two
#: update intervals cause, in percentage points.
_SMI_MAX_DIFFERENCE = 2.5


def value_left(attribute: AtaAttribute, _rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose normalized value is the remaining life in percent.

    None if the value is not 1 to 100. The raw value is not used: it contains several numbers in
    one, or a count of erasures. The parameter is the used endurance per unit of the value, in
    hundredths of a percent.
    """
    value = attribute.value
    if value is None or not _MIN_VALUE <= value <= 100:
        return None
    return Percent((100.0 - value) * parameter / 100, parameter / 100, value == _MIN_VALUE)


def value_from_200(attribute: AtaAttribute, _rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from a normalized value that decreases from 200 (new) to 100 (end of life).

    The value continues to decrease after the end of life. A wear above 100 % is returned only if
    the raw value is a count of erasures, which is at least 1000. None for the value 100, because
    new drives of other makes report it, and for 0 and values above 200. The parameter is the used
    endurance in percent per unit of the value, times 100.
    """
    value = attribute.value
    is_supported = value is not None and (101 <= value <= 200 or _MIN_VALUE <= value <= 99)
    if value is None or not is_supported or (value < 100 and attribute.raw < _MIN_ERASES):
        return None
    return Percent((200.0 - value) * parameter / 100, parameter / 100, value == _MIN_VALUE)


def raw_percent(attribute: AtaAttribute, _rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose raw value is the used percentage.

    None for values above 255.
    """
    return None if attribute.raw > 255 else Percent(float(attribute.raw), 1.0)


def raw_used(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose raw and normalized value both contain the wear.

    The raw value is the used endurance in percent. The normalized value is 100 - raw. It stays at 0
    if more than 100 % is used, or continues at 255. On some firmware the raw value stops at 100.
    None if the two values contradict each other by more than 2, because the attribute then has
    another meaning. None also without a normalized value, and for raw values above 255.
    """
    value = attribute.value
    if value is None:
        return None
    is_clamped = abs(max(100 - attribute.raw, 0) - value) <= 2
    is_wrapped = attribute.raw > 100 and (100 - attribute.raw) % 256 == value
    if not is_clamped and not is_wrapped:
        return None
    percent = raw_percent(attribute, rows, parameter)
    return None if percent is None else percent._replace(is_bound=attribute.raw == 100)


def raw_left(attribute: AtaAttribute, _rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose raw value is the remaining life in percent.

    The parameter is the largest used endurance in percent for which captured drives confirm the
    value. None if more is used, and for values above 100. None also for the raw value 0, because
    some drives always report it.
    """
    left = attribute.raw
    return None if not max(1, 100 - parameter) <= left <= 100 else Percent(100.0 - left, 1.0)


def stuck_left(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose normalized or raw value is the remaining life.

    On some firmware the normalized value stays at 100, and the raw value counts down from 100. On
    other firmware the normalized value counts down, and the raw value counts up (KINGSTON SA400:
    raw 14, normalized 86). So the raw value is used only if the normalized value is 100. None for
    the normalized value 100 with the raw value 0: the drive is either new or worn out.
    """
    if attribute.value == 100:
        return raw_left(attribute, rows, 100)
    return value_left(attribute, rows, parameter)


def intel_media_wear(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear of an Intel drive from attributes 233 and 226.

    `attribute` is 233, which counts whole percents. Attribute 226 is finer. It is used if both
    agree, or if 233 has reached its lowest value and 226 is larger. None if the value of 233 is not
    1 to 100.
    """
    coarse = value_left(attribute, rows, parameter)
    workload = rows.get(_WORKLOAD_WEAR)
    fine = None if workload is None else workload_1024ths(workload, rows, parameter)
    if coarse is None or fine is None or fine.used == 0:
        return coarse
    if coarse.is_bound and fine.used > coarse.used:
        return fine._replace(is_bound=fine.used <= 100)
    return fine if abs(fine.used - coarse.used) <= _MAX_DIFFERENCE_PERCENT else coarse


def late_left(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from a normalized value that starts to decrease when some percents are used.

    The parameter is the wear per unit of the value, in hundredths of a percent. None where the wear
    is not proportional to the value, and if the value shows the spare blocks instead of the wear.
    """
    left = value_left(attribute, rows, parameter)
    events, gauge = divmod(attribute.raw, 1 << _GAUGE_BITS)
    reserve = rows.get(_RESERVE)
    is_exhausted = reserve is not None and 1 <= (reserve.value or 0) < _MIN_RESERVE
    if left is None or gauge or events >= _MAX_GAUGE_EVENTS or is_exhausted:
        return None
    start, most = _LATE[parameter]
    if left.used == 0:
        return None if start > _MAX_LATE_START else Percent(start / 2, 1.0)
    if left.used > most * parameter / 100 and not left.is_bound:
        return None
    used = min(start + left.used, 100.0)
    return Percent(used, 1.0, left.is_bound or used == 100)


def workload_1024ths(attribute: AtaAttribute, _rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear from an attribute whose raw value counts 1/1024 percent.

    The count starts with the workload timer, which is rarely restarted. The normalized value is
    always 100 and is not used. None if the raw value means "not valid", or more than 255 %.
    """
    percent = attribute.raw / 1024
    is_valid = attribute.raw != _WORKLOAD_NOT_VALID and percent <= 255
    return Percent(percent, 1 / 1024) if is_valid else None


def two_gauges(attribute: AtaAttribute, _rows: Rows, _parameter: int) -> Percent | None:
    """Returns the larger of the two gauges that the raw value of WD's attribute 230 contains.

    Bits 0 to 15 and bits 16 to 31 are one gauge each: the high byte contains the whole percents,
    and the low byte the hundredths of a percent. The second gauge is the one that the drive reports
    in its device statistics. A gauge is not used if its hundredths are above 99. The second gauge
    is used only if a bit above bit 31 is set. None if neither gauge is used. The normalized value
    counts up and is not used.
    """
    whole, part = divmod(attribute.raw & 0xFFFF, 256)
    other_whole, other_part = divmod(attribute.raw >> 16 & 0xFFFF, 256)
    is_other_known = other_part <= 99 and attribute.raw >= 1 << 32
    if part > 99:
        return Percent(other_whole + other_part / 100, 0.01) if is_other_known else None
    other = other_whole + other_part / 100 if is_other_known else 0.0
    return Percent(min(max(whole + part / 100, other), 255.0), 0.01)


def second_byte(attribute: AtaAttribute, _rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear from a raw value whose second lowest byte is the used percentage.

    Never None.
    """
    return Percent(float(attribute.raw >> 8 & 0xFF), 1.0)


def hundreds(attribute: AtaAttribute, _rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear from a raw value whose two lowest bytes count hundredths of a percent.

    None if the value is above 255 %.
    """
    percent = (attribute.raw & 0xFFFF) / 100
    return None if percent > 255 else Percent(percent, 0.01)


def erases(attribute: AtaAttribute, _rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from a raw value that is the average number of erase cycles of a block.

    The parameter is the rated number of erase cycles. None if the wear is above 2000 %.
    """
    return _share(attribute.raw, parameter)


def low_word_erases(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from a raw value whose bits 0 to 15 are the average number of erase cycles.

    The parameter is the rated number of erase cycles. If attribute 231 has the value 100 and the
    raw value 0, the drive is either new or worn out. None if it is neither according to the erase
    cycles.
    """
    percent = _share(attribute.raw & 0xFFFF, parameter)
    left = rows.get(_LIFE_LEFT)
    is_new_or_worn = left is not None and (left.value, left.raw) == (100, 0)
    if percent is not None and is_new_or_worn and _MAX_NEW < percent.used < _MIN_WORN:
        return None
    return percent


def smi_erases(attribute: AtaAttribute, rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear of a drive with a Silicon Motion controller from its erase cycles.

    The wear is the raw value of `attribute` (167, the average number of erase cycles) divided by
    that of 168 (the rated number). None in these cases:

    - 168 is missing, or is not a number that this firmware uses as rated.
    - 167 is above 65,535, or the wear is not plausible (more than 2000 %).

    If 177 (the moves of wear leveling) is above 0, 168 is correct (267 captures). Otherwise, None
    also in these cases:

    - 169 (the remaining life in percent) disagrees with the wear by more than 2.5 percentage
      points. 169 is not compared if it is missing, above 100, or stuck at 100. 169 is also not
      compared if it is 0 and the wear is at least 97.5 %.
    - 168 is a rating that the firmware also reports for worse flash, and the wear is above 1 %. The
      exception is the rating 5050 on a drive whose blocks are erased unevenly.
    """
    rated, left = rows.get(_SMI_RATED), rows.get(_SMI_LEFT)
    if rated is None or rated.raw not in _SMI_RATINGS or attribute.raw >= 1 << 16:
        return None
    moves = rows.get(_SMI_MOVES)
    if moves is not None and moves.raw > 0:
        return _share(attribute.raw, rated.raw)
    percent = 100 * attribute.raw / rated.raw
    by_life = None if left is None or left.raw > 100 else 100 - left.raw
    is_stuck = by_life in {0, None} or (by_life == 100 and percent >= 100 - _SMI_MAX_DIFFERENCE)
    if not is_stuck and abs(percent - (by_life or 0)) > _SMI_MAX_DIFFERENCE:
        return None
    largest = rows.get(_SMI_MAX_ERASES)
    spread = 0.0 if largest is None else largest.raw / max(attribute.raw, 1)
    is_spread = rated.raw == _SMI_SPREAD_RATING and spread >= _SMI_MIN_SPREAD
    is_doubtful = rated.raw in _SMI_DEFAULT_RATINGS and not is_spread
    if is_doubtful and percent > _SMI_MAX_DOUBTFUL_PERCENT:
        return None
    return _share(attribute.raw, rated.raw)


def maxio_erases(attribute: AtaAttribute, rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear of a drive with a Maxio controller from its erase cycles.

    `attribute` is the largest number of erase cycles of a block, 207. Attribute 208 is the average
    number, and the raw value of 231 is its percentage of the rated number. The drive reports twice
    the percentage of the largest number as its used endurance. None if 231 fits none of the rated
    numbers that this firmware uses, or if the wear is above 2000 %.
    """
    average = rows.get(_MAXIO_ERASES)
    return _maxio_share(attribute.raw, None if average is None else average.raw, rows)


def maxio_packed_erases(attribute: AtaAttribute, rows: Rows, _parameter: int) -> Percent | None:
    """Returns the wear of a drive with a Maxio controller from the words of attribute 173.

    Bits 0 to 15 are the average and bits 16 to 31 the largest number of erase cycles of a block.
    The rest is as for `maxio_erases`. None if the blocks are erased too unevenly.
    """
    largest, average = attribute.raw >> 16 & 0xFFFF, attribute.raw & 0xFFFF
    is_even = largest <= _MAXIO_MAX_SPREAD * max(average, 1)
    return _maxio_share(largest, average, rows) if is_even else None


def _maxio_share(largest: int, average: int | None, rows: Rows) -> Percent | None:
    used = rows.get(_MAXIO_USED)
    if average is None or used is None:
        return _share(2 * largest, _MAXIO_RATINGS[0])
    for rated in _MAXIO_RATINGS:
        if 0 <= 100 * average / rated - used.raw < 1:
            return _share(2 * largest, rated)
    return None


def _share(count: int, rated: int) -> Percent | None:
    """Returns `count` as a percentage of `rated`, and the resolution of this percentage.

    None if the percentage is not plausible.
    """
    percent = 100 * count / rated
    return None if percent > _MAX_PERCENT else Percent(percent, 100 / rated)


def confirmed_left(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns the wear from a raw value that is the remaining life, if the erase cycles confirm it.

    Bits 16 to 31 of attribute 173 are the average number of erase cycles. The parameter is the
    rated number. None if both differ by more than 2 percentage points, or if one of them is
    missing.
    """
    percent, erased = raw_left(attribute, rows, 100), rows.get(_PACKED_ERASES)
    if percent is None or erased is None:
        return None
    by_erases = 100 * (erased.raw >> 16 & 0xFFFF) / parameter
    return percent if abs(percent.used - by_erases) <= _MAX_PHISON_DIFFERENCE else None


def worn_out(attribute: AtaAttribute, rows: Rows, parameter: int) -> Percent | None:
    """Returns 100 % as a lower bound if the raw value is 0: no life is left.

    New drives also report 0. So the average number of erase cycles must be at least the parameter,
    which is the rated number. Otherwise, and for other raw values, None.
    """
    count = next((rows[number].raw for number in _AVERAGE_ERASES if number in rows), 0)
    is_worn = attribute.raw == 0 and count >= parameter
    return Percent(100.0, 1.0, is_bound=True) if is_worn else None


def unknown(_attribute: AtaAttribute, _rows: Rows, _parameter: int) -> None:
    """Returns None: no attribute of the make contains the wear, and no other rule applies."""
