"""Looking into smartctl's JSON field by field: a surprise in one loses that one only.

A report is what `json.loads` gives; nothing of its shape is trusted, for smartctl moves keys
between versions, and drives print what they like.

Readings that stand under the same keys whatever a drive speaks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

Json: TypeAlias = Mapping[str, object]

#: Longer than any model, serial number or message of a drive.
_LONGEST_TEXT = 256


class Fields:
    """Reads typed values out of a report by path, and notes what was there but not usable.

    A step of a path is a key, or an index into a list. What is missing, or null, is None and no
    fault; what is of another kind or out of range is None and a fault.
    """

    __slots__ = ("_faults", "report")

    def __init__(self, report: Json, _faults: list[str] | None = None) -> None:
        self.report = report
        self._faults = [] if _faults is None else _faults

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(self._faults)

    def get(self, *path: str | int) -> object:
        """Whatever stands there; None where any step is missing."""
        found: object = self.report
        for step in path:
            # What json.loads makes is a dict or a list; to ask whether it is a Mapping takes ten
            # times as long, and a report is asked two hundred times.
            if type(found) is dict:
                found = found.get(step)
            elif found is None:
                return None
            elif isinstance(step, str):
                if not isinstance(found, Mapping):
                    return None
                found = found.get(step)
            elif isinstance(found, list) or _is_sequence(found):
                found = found[step] if -len(found) <= step < len(found) else None
            else:
                return None
        return found

    def integer(
        self, *path: str | int, minimum: int = 0, maximum: int = (1 << 128) - 1
    ) -> int | None:
        """A whole number; NVMe counts in 128 bits. "12" and 12.0 are 12, as some versions print."""
        found = self.get(*path)
        if found is None or (type(found) is int and minimum <= found <= maximum):
            return found
        number: int | None = None
        if isinstance(found, str):
            # Python refuses to make a number of thousands of digits.
            number = int(found) if found.strip().isdecimal() and len(found) <= 40 else None
        elif isinstance(found, int) and not isinstance(found, bool):
            number = found
        elif isinstance(found, float) and found.is_integer():
            number = int(found)
        if number is None or not minimum <= number <= maximum:
            self.fault(path, found)
            return None
        return number

    def number(
        self, *path: str | int, minimum: float = 0.0, maximum: float = float("inf")
    ) -> float | None:
        """A number with a fraction, also where it stands as text; never NaN or infinite."""
        found = self.get(*path)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float | str):
            self.fault(path, found)
            return None
        try:
            number = float(found)
        except (ValueError, OverflowError):
            self.fault(path, found)
            return None
        if not minimum <= number <= maximum or number == float("inf"):
            self.fault(path, found)
            return None
        return number

    def flag(self, *path: str | int) -> bool | None:
        found = self.get(*path)
        if found is None or isinstance(found, bool):
            return found
        self.fault(path, found)
        return None

    def text(self, *path: str | int) -> str | None:
        """Text with its spaces put in order; None where it is empty."""
        found = self.get(*path)
        if found is None:
            return None
        if not isinstance(found, str):
            self.fault(path, found)
            return None
        # Most is in order, and a drive's table has fifty of them.
        usual = found.isalnum() and len(found) <= _LONGEST_TEXT
        return found if usual else " ".join(found.split())[:_LONGEST_TEXT] or None

    def rows(self, *path: str | int, maximum: int = 4096) -> Iterator["Fields"]:
        """The objects of a list, each to be read by itself; their faults are this one's."""
        found = self.get(*path)
        if found is None:
            return
        if not isinstance(found, list) and not _is_sequence(found):
            self.fault(path, found)
            return
        for index, row in enumerate(found[:maximum]):
            if isinstance(row, dict) or isinstance(row, Mapping):  # noqa: SIM101  see get
                yield Fields(row, self._faults)
            elif row is not None:
                self.fault((*path, index), row)

    def fault(self, path: Sequence[str | int], found: object) -> None:
        """Note that what stands at `path` is not usable."""
        if len(self._faults) < 100:
            self._faults.append(f"{'.'.join(map(str, path))}: {str(found)[:80]!r} is not usable")


def _is_sequence(found: object) -> TypeGuard[Sequence[object]]:
    return isinstance(found, Sequence) and not isinstance(found, str)


#: Beyond these a sensor is broken or not there; no drive works there.
_COLDEST_CELSIUS = -40.0
_HOTTEST_CELSIUS = 150.0


def counter(fields: Fields, *path: str) -> int | None:
    """A counter of up to 128 bits.

    Above 2^53 smartctl also prints the number as text under `<key>_s`, for readers of JSON that
    know no larger whole number (lib/json.cpp).
    """
    number = fields.integer(*path)
    return fields.integer(*path[:-1], f"{path[-1]}_s") if number is None else number


def counter_sum(fields: Fields, *paths: tuple[str, ...]) -> int | None:
    """The sum of those counters that the report holds; None where it holds none.

    None, too, where one of them is not usable: a sum without it would be a counter set back.
    """
    there = [path for path in paths if fields.get(*path) is not None]
    numbers = [fields.integer(*path) for path in there]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(there) else None


def celsius(fields: Fields, *path: str | int) -> float | None:
    """A temperature in °C; 0 is what drives and bridges print for "no sensor"."""
    return fields.number(*path, minimum=_COLDEST_CELSIUS, maximum=_HOTTEST_CELSIUS) or None


def smart_passed(fields: Fields) -> bool | None:
    """The drive's own verdict."""
    return fields.flag("smart_status", "passed")


def power_on_seconds(fields: Fields) -> float | None:
    """How long the drive has been powered in its life; few drives count the minutes."""
    hours = fields.integer("power_on_time", "hours", maximum=1 << 64)
    if hours is None:
        return None
    minutes = fields.integer("power_on_time", "minutes", maximum=59) or 0
    return float(hours * 3600 + minutes * 60)


def device_statistic(
    fields: Fields, page: int, offset: int, maximum: int = (1 << 64) - 1
) -> int | None:
    """One statistic; None where the drive does not keep it, or says that it is not valid.

    Takes smartctl's whole report; page numbers and offsets are those of the standard.
    """
    for found in fields.rows("ata_device_statistics", "pages"):
        if found.report.get("number") == page:
            for row in found.rows("table"):
                if row.report.get("offset") == offset and row.get("flags", "valid") is True:
                    return row.integer("value", maximum=maximum)
    return None
