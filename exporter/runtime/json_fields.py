"""Reads JSON objects that another process has written. Types and ranges of fields are checked."""

import json
import math
from collections.abc import Mapping
from typing import Any

from exporter.runtime.errors import ParseError
from exporter.runtime.json_values import require_few_values

#: Text is cut to this number of characters.
MAX_TEXT_CHARACTERS = 4096

#: The largest number of 64 bits with a sign.
MOST_COUNT = (1 << 63) - 1


class JsonFields:
    """The fields of a JSON object. Methods raise ParseError for a wrong type or range.

    values: the JSON object.
    what: the name of the object in the messages of errors.
    most: the largest number that counts something.
    """

    def __init__(self, values: Mapping[str, Any], what: str, most: int = MOST_COUNT) -> None:
        self._values = values
        self._what = what
        self._most = most

    @classmethod
    def parsed(
        cls, text: bytes, what: str, most_values: int, most: int = MOST_COUNT
    ) -> "JsonFields":
        """Returns the fields of the JSON object in a text.

        most_values: the limit for the number of values in the text (`json_values.value_count`).

        Raises:
            ParseError: the text contains something else, or too many values.
        """
        try:
            decoded = text.decode("utf-8-sig")
            require_few_values(decoded, most_values)
            values = json.loads(decoded)
        # json raises these not only for invalid JSON, but also for numbers of 5,000 digits, deeply
        # nested lists, and invalid UTF-8.
        except (ValueError, RecursionError) as e:
            raise ParseError(f"{what}: not JSON: {e}") from e
        if not isinstance(values, dict):
            raise ParseError(f"{what}: not a JSON object")
        return cls(values, what, most)

    def require_version(self, version: int) -> None:
        """Returns normally if the agent has written this version of the object."""
        found = self._values.get("version")
        if found != version:
            raise ParseError(
                f"{self._what}: has version {found!r:.20}, not {version}: "
                "the daemon and the smart-agent must have the same version"
            )

    def get(self, name: str) -> Any:
        """Returns a value of any type; None if it is missing."""
        return self._values.get(name)

    def text(self, name: str) -> str:
        """Returns a text, of `MAX_TEXT_CHARACTERS` at most."""
        value = self._values.get(name)
        if not isinstance(value, str):
            raise ParseError(f"{self._what}: {name} is not a string")
        return value[:MAX_TEXT_CHARACTERS]

    def text_or_empty(self, name: str) -> str:
        """Returns a text; "" if it is missing."""
        return "" if self._values.get(name) is None else self.text(name)

    def seconds(self, name: str) -> float:
        """Returns a time or duration."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParseError(f"{self._what}: {name} is not a number")
        # The range is checked before the conversion, because a number of 400 digits overflows a
        # float.
        if not 0 <= value < 1e12 or not math.isfinite(value):
            raise ParseError(f"{self._what}: {name} is out of range")
        return float(value)

    def seconds_or_none(self, name: str) -> float | None:
        """Returns a time or duration; None if it is missing."""
        return None if self._values.get(name) is None else self.seconds(name)

    def count(self, name: str) -> int:
        """Returns a number that counts something."""
        return self.checked_count(self._values.get(name), name)

    def checked_count(self, value: Any, name: str) -> int:
        """Returns a value that is not a field itself, as a number that counts something."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= self._most:
            raise ParseError(f"{self._what}: {name} is not a count")
        return value
