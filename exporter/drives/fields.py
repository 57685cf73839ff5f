"""Reads values from smartctl's JSON, and checks the type and range of each value.

The checks are necessary because smartctl changes its JSON between versions, and because drives
report values that violate the standards. A field that cannot be parsed is recorded as a fault. All
other fields are still used.

`Fields` reads any value. The functions after it read fields that several parsers need.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from exporter.drives.health import RejectedValue

#: A JSON object as `json.loads` returns it.
Json: TypeAlias = Mapping[str, object]

#: The largest length of a text, in characters. Longer texts are cut. No model or serial number, and
#: no message about a drive, is longer.
_MAX_TEXT_CHARACTERS = 256

#: The largest length of an integer that is given as a text, in digits. A number of 128 bits has 39
#: digits. `int` raises ValueError for a text of several thousand digits.
_MAX_DIGITS = 40

#: The largest number of faults that are recorded per report. More faults would not help a reader.
_MAX_FAULTS = 100

#: The lowest and highest valid temperature, in °C. No drive works outside of this range, so a
#: sensor that reports another temperature is broken or absent.
MIN_CELSIUS = -40.0
MAX_CELSIUS = 150.0


class Fields:
    """Reads values of one JSON object, and records the fields that cannot be parsed.

    Each method takes the path of a field: the keys of objects and the indices of lists that lead to
    it. The method returns None if the field is missing or null. If the value has the wrong type or
    is out of range, the method returns None and records a fault.
    """

    __slots__ = ("_faults", "_rejected", "report")

    def __init__(
        self,
        report: Json,
        _faults: list[str] | None = None,
        _rejected: "list[RejectedValue] | None" = None,
    ) -> None:
        self.report = report
        self._faults = [] if _faults is None else _faults
        self._rejected = [] if _rejected is None else _rejected

    @property
    def faults(self) -> tuple[str, ...]:
        """One text per field that could not be parsed, in the order in which they were read."""
        return tuple(self._faults)

    @property
    def rejected(self) -> "tuple[RejectedValue, ...]":
        """The values that could be parsed, but that are not plausible."""
        return tuple(self._rejected)

    def get(self, *path: str | int) -> object:
        """Returns the value at the path without any check. None if the path does not exist."""
        value: object = self.report
        for step in path:
            # json.loads returns dicts and lists. isinstance(value, Mapping) takes ten times as
            # long as this comparison, and one report needs two hundred comparisons.
            if type(value) is dict:
                value = value.get(step)
            elif value is None:
                return None
            elif isinstance(step, str):
                if not isinstance(value, Mapping):
                    return None
                value = value.get(step)
            elif isinstance(value, list) or _is_sequence(value):
                value = value[step] if -len(value) <= step < len(value) else None
            else:
                return None
        return value

    def integer(
        self, *path: str | int, minimum: int = 0, maximum: int = (1 << 128) - 1
    ) -> int | None:
        """Returns the integer at the path, from `minimum` to `maximum` inclusive.

        None if it is missing or null. Another value is recorded as a fault, and the result is None.

        The default maximum has 128 bits, because counters in NVMe logs have this size. The text
        "12" and the float 12.0 are accepted for 12, because some versions of smartctl print them.
        """
        value = self.get(*path)
        if value is None or (type(value) is int and minimum <= value <= maximum):
            return value
        number: int | None = None
        if isinstance(value, str):
            is_number = value.strip().isdecimal() and len(value) <= _MAX_DIGITS
            number = int(value) if is_number else None
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        if number is None or not minimum <= number <= maximum:
            self.fault(path, value)
            return None
        return number

    def number(
        self, *path: str | int, minimum: float = 0.0, maximum: float = float("inf")
    ) -> float | None:
        """Returns the number at the path as a float, from `minimum` to `maximum` inclusive.

        None if it is missing or null. Another value is recorded as a fault, and the result is None.

        A number in the form of a text is accepted. The result is never NaN or infinite.
        """
        value = self.get(*path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.fault(path, value)
            return None
        try:
            # Python accepts 1_000 as a number.
            number = math.nan if isinstance(value, str) and "_" in value else float(value)
        except (ValueError, OverflowError):
            self.fault(path, value)
            return None
        if not minimum <= number <= maximum or number == float("inf"):
            self.fault(path, value)
            return None
        return number

    def flag(self, *path: str | int) -> bool | None:
        """Returns the boolean at the path; None if it is missing or no boolean."""
        value = self.get(*path)
        if value is None or isinstance(value, bool):
            return value
        self.fault(path, value)
        return None

    def text(self, *path: str | int) -> str | None:
        """Returns the text at the path; None if it is missing, null, empty or not a text (a fault).

        White space at both ends is removed, and white space between words is replaced with one
        space. A text of more than 256 characters is cut.
        """
        value = self.get(*path)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fault(path, value)
            return None
        # Most texts need no change, and the attribute table of one drive contains fifty texts.
        is_clean = value.isalnum() and len(value) <= _MAX_TEXT_CHARACTERS
        return value if is_clean else " ".join(value.split())[:_MAX_TEXT_CHARACTERS] or None

    def rows(self, *path: str | int, maximum: int = 4096) -> Iterator["Fields"]:
        """Yields the objects of the list at the path, each as a separate `Fields`.

        At most `maximum` members of the list are read. The faults of all objects are added to the
        faults of this instance. A member that is not an object is recorded as a fault.
        """
        value = self.get(*path)
        if value is None:
            return
        if not isinstance(value, list) and not _is_sequence(value):
            self.fault(path, value)
            return
        for index, row in enumerate(value[:maximum]):
            if isinstance(row, dict) or isinstance(row, Mapping):  # noqa: SIM101  see get
                yield Fields(row, self._faults, self._rejected)
            elif row is not None:
                self.fault((*path, index), row)

    def fault(self, path: Sequence[str | int], value: object, reason: str = "") -> None:
        """Records a fault: the value at the path cannot be used.

        reason: why not, as text for people.
        """
        if len(self._faults) < _MAX_FAULTS:
            why = f": {reason}" if reason else ""
            self._faults.append(
                f"{'.'.join(map(str, path))}: {str(value)[:80]!r} is not usable{why}"
            )

    def reject(self, value: "RejectedValue") -> None:
        """Records a value that is not used, because it is not plausible."""
        if len(self._rejected) < _MAX_FAULTS:
            self._rejected.append(value)


def counter(fields: Fields, *path: str) -> int | None:
    """Returns the value of a counter of up to 128 bits; None if the report does not contain it.

    smartctl also prints a number above 2^53 as text, with the key `<key>_s`, for JSON parsers that
    support only floats (lib/json.cpp). The text is used if the number is missing or not valid.
    """
    number = fields.integer(*path)
    return fields.integer(*path[:-1], f"{path[-1]}_s") if number is None else number


def counter_sum(
    fields: Fields, *paths: tuple[str, ...], maximum: int = (1 << 128) - 1
) -> int | None:
    """Returns the sum of the counters at these paths. Counters that are missing are ignored.

    None if all counters are missing. None also if a counter cannot be parsed or is above `maximum`,
    because the sum of the others could be lower than in the previous report.
    """
    present = [path for path in paths if fields.get(*path) is not None]
    numbers = [fields.integer(*path, maximum=maximum) for path in present]
    parsed = [number for number in numbers if number is not None]
    return sum(parsed) if parsed and len(parsed) == len(present) else None


def celsius(fields: Fields, *path: str | int) -> float | None:
    """Returns the temperature at the path in °C; None if unknown.

    None also for 0, because drives and bridges without a sensor report 0.
    """
    return fields.number(*path, minimum=MIN_CELSIUS, maximum=MAX_CELSIUS) or None


def smart_passed(fields: Fields) -> bool | None:
    """True if the drive reports its self-assessment as passed, False if as failed.

    None if the report does not contain the assessment.
    """
    return fields.flag("smart_status", "passed")


def power_on_seconds(fields: Fields) -> float | None:
    """Returns the total power-on time of the drive in seconds; None if unknown.

    Most drives count only whole hours.
    """
    hours = fields.integer("power_on_time", "hours", maximum=1 << 64)
    if hours is None:
        return None
    minutes = fields.integer("power_on_time", "minutes", maximum=59) or 0
    return float(hours * 3600 + minutes * 60)


def device_statistic(
    fields: Fields, page: int, offset: int, maximum: int = (1 << 64) - 1
) -> int | None:
    """Returns one value of the ATA device statistics log (ACS-3 and later, GP log 04h).

    page, offset: the page number and the offset in bytes that the standard defines for the value.
    maximum: a larger value is recorded as a fault.

    None if the drive does not report the value, or marks it as not valid.
    """
    for statistics_page in fields.rows("ata_device_statistics", "pages"):
        if statistics_page.report.get("number") == page:
            for row in statistics_page.rows("table"):
                if row.report.get("offset") == offset and row.get("flags", "valid") is True:
                    return row.integer("value", maximum=maximum)
    return None


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
