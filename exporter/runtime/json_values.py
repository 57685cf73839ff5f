"""Limits the memory that a JSON text takes when it is parsed.

A list of empty lists takes 20 times as much memory as its text. So a limit on the size of the text
is not sufficient.
"""


def require_few_values(text: str, limit: int) -> None:
    """Returns normally if the JSON text contains at most this many values.

    They are counted by `value_count`.

    Raises:
        ValueError: the count exceeds the limit.
    """
    count = value_count(text)
    if count > limit:
        raise ValueError(f"it has {count} values, more than the limit of {limit}")


def value_count(text: str) -> int:
    """Returns a number that is at least the number of values in a JSON text.

    The values are not parsed. Commas, colons and opening brackets are counted instead, also within
    strings. The count may thus be above the number of values, but never below it.
    """
    return 1 + sum(text.count(character) for character in ",:[{")
