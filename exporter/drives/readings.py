"""Readings that stand under the same keys whatever a drive speaks."""

from exporter.drives.fields import Fields

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


def total(fields: Fields, *paths: tuple[str, ...]) -> int | None:
    """The sum of those counters that the report holds; None where it holds none.

    None, too, where one of them is not usable: a sum without it would be a counter set back.
    """
    there = [path for path in paths if fields.get(*path) is not None]
    numbers = [fields.integer(*path) for path in there]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(there) else None


def celsius(fields: Fields, *path: str | int) -> float | None:
    """A temperature in °C; 0 is what drives and bridges print for "no sensor"."""
    return fields.number(*path, least=_COLDEST_CELSIUS, most=_HOTTEST_CELSIUS) or None


def healthy(fields: Fields) -> bool | None:
    """The drive's own verdict."""
    return fields.flag("smart_status", "passed")


def power_on_seconds(fields: Fields) -> float | None:
    """How long the drive has been powered in its life; few drives count the minutes."""
    hours = fields.integer("power_on_time", "hours", most=1 << 64)
    if hours is None:
        return None
    minutes = fields.integer("power_on_time", "minutes", most=59) or 0
    return float(hours * 3600 + minutes * 60)
