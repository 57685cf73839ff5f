"""Reads typed values from smartctl's JSON, field by field.

smartctl renames keys between versions, and drives report values that violate the standards. So
every field is checked. A field that cannot be parsed is recorded as a fault, and all other
fields are still used.

The functions at the end read the fields that all protocols have in common.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

#: A JSON object as `json.loads` returns it.
Json: TypeAlias = Mapping[str, object]

#: Limits a text, in characters. No model, serial number or message of a drive is longer.
_MAX_TEXT_CHARACTERS = 256

#: Limits an integer in a text, in digits. A number of 128 bits has 39 digits, and `int` raises
#: ValueError for thousands of them.
_MAX_DIGITS = 40

#: Limits the faults that are recorded per report; more would be noise.
_MAX_FAULTS = 100

#: Drives work between these temperatures, in °C. A sensor that reports another one is broken or
#: absent.
_MIN_CELSIUS = -40.0
_MAX_CELSIUS = 150.0


class Fields:
    """Reads values of a JSON object by path, and records the fields that cannot be parsed.

    A path consists of keys of objects and indices of lists. A missing field and null yield None.
    A value of the wrong type or out of range yields None and adds a fault.
    """

    __slots__ = ("_faults", "report")

    def __init__(self, report: Json, _faults: list[str] | None = None) -> None:
        self.report = report
        self._faults = [] if _faults is None else _faults

    @property
    def faults(self) -> tuple[str, ...]:
        """Descriptions of the fields that could not be parsed, in the order of reading."""
        return tuple(self._faults)

    def get(self, *path: str | int) -> object:
        """The value at the path, unchecked. None if any step of the path is missing."""
        value: object = self.report
        for step in path:
            # json.loads returns dicts and lists. isinstance(value, Mapping) takes ten times as
            # long as this comparison, and reading one report takes two hundred of them.
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
        """The integer at the path, which may be up to 128 bits long, as in NVMe logs.

        Accepts "12" and 12.0 for 12, because some versions of smartctl print these.
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
        """The number at the path as a float; it may be a text. Never NaN or infinite."""
        value = self.get(*path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.fault(path, value)
            return None
        try:
            number = float(value)
        except (ValueError, OverflowError):
            self.fault(path, value)
            return None
        if not minimum <= number <= maximum or number == float("inf"):
            self.fault(path, value)
            return None
        return number

    def flag(self, *path: str | int) -> bool | None:
        """The boolean at the path."""
        value = self.get(*path)
        if value is None or isinstance(value, bool):
            return value
        self.fault(path, value)
        return None

    def text(self, *path: str | int) -> str | None:
        """The text at the path, with runs of white space reduced to one space.

        At most 256 characters. None if the text is empty.
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
        """The objects of the list at the path, at most `maximum`.

        Each object is returned as a separate `Fields`, which adds its faults to this one.
        """
        value = self.get(*path)
        if value is None:
            return
        if not isinstance(value, list) and not _is_sequence(value):
            self.fault(path, value)
            return
        for index, row in enumerate(value[:maximum]):
            if isinstance(row, dict) or isinstance(row, Mapping):  # noqa: SIM101  see get
                yield Fields(row, self._faults)
            elif row is not None:
                self.fault((*path, index), row)

    def fault(self, path: Sequence[str | int], value: object) -> None:
        """Record that the value at the path cannot be used."""
        if len(self._faults) < _MAX_FAULTS:
            self._faults.append(f"{'.'.join(map(str, path))}: {str(value)[:80]!r} is not usable")


def counter(fields: Fields, *path: str) -> int | None:
    """A counter of up to 128 bits.

    smartctl also prints a number above 2^53 as text in `<key>_s`, for JSON parsers that have
    only floats (lib/json.cpp).
    """
    number = fields.integer(*path)
    return fields.integer(*path[:-1], f"{path[-1]}_s") if number is None else number


def counter_sum(fields: Fields, *paths: tuple[str, ...]) -> int | None:
    """The sum of those counters that the report contains. None if it contains none.

    Also None if one of them cannot be parsed: a sum without it would go backward.
    """
    present = [path for path in paths if fields.get(*path) is not None]
    numbers = [fields.integer(*path) for path in present]
    parsed = [number for number in numbers if number is not None]
    return sum(parsed) if parsed and len(parsed) == len(present) else None


def celsius(fields: Fields, *path: str | int) -> float | None:
    """A temperature in °C. 0 yields None: drives and bridges without a sensor print 0."""
    return fields.number(*path, minimum=_MIN_CELSIUS, maximum=_MAX_CELSIUS) or None


def smart_passed(fields: Fields) -> bool | None:
    """True if the drive's own health assessment is "passed". None if it reports none."""
    return fields.flag("smart_status", "passed")


def power_on_seconds(fields: Fields) -> float | None:
    """The total power-on time in seconds; None if unknown. Most drives count whole hours."""
    hours = fields.integer("power_on_time", "hours", maximum=1 << 64)
    if hours is None:
        return None
    minutes = fields.integer("power_on_time", "minutes", maximum=59) or 0
    return float(hours * 3600 + minutes * 60)


def device_statistic(
    fields: Fields, page: int, offset: int, maximum: int = (1 << 64) - 1
) -> int | None:
    """One value of the ATA device statistics log (ACS-3 and later, GP log 04h).

    Page number and offset are those of the standard. None if the drive does not report the
    statistic or marks it as not valid.
    """
    for statistics_page in fields.rows("ata_device_statistics", "pages"):
        if statistics_page.report.get("number") == page:
            for row in statistics_page.rows("table"):
                if row.report.get("offset") == offset and row.get("flags", "valid") is True:
                    return row.integer("value", maximum=maximum)
    return None


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
