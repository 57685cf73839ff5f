"""Reads numbers and `name: value` lines of smartctl's text output."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

#: A JSON object while it is filled.
Report: TypeAlias = dict[str, Any]

#: The largest number of digits of a number. A number of 128 bits has 39.
_MAX_DIGITS = 40

#: A number with separators between groups of digits. The locale of smartctl decides on the
#: separator. A separator that is not valid UTF-8 becomes U+FFFD.
_GROUPED = re.compile(r"~?([0-9]+(?:[,.'\u2019_ \u00a0\u202f\u2009\ufffd]+[0-9]+)*)")

#: The name of a line, which has no colon. No name is longer.
_NAMED = re.compile(r"([A-Za-z][^:]{0,60}): (.+)")

#: What smartctl prints for an ATA drive that does not report its model, for example.
_MISSING = "[No Information Found]"


def named_values(lines: Sequence[str]) -> Mapping[str, str]:
    """Returns the values of the lines `name: value`, keyed by name.

    If a name occurs several times, its first value is returned.
    """
    values: dict[str, str] = {}
    for line in lines:
        match = _NAMED.match(line)
        if match is not None and match[2] != _MISSING:
            values.setdefault(match[1], match[2])
    return values


def grouped_integer(text: str | None) -> int | None:
    """Returns the number at the start of a text: 256060514304 in "256,060,514,304 bytes".

    None if there is no number.
    """
    match = _GROUPED.match(text or "")
    if match is None:
        return None
    digits = re.sub(r"\D", "", match[1], flags=re.ASCII)
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def leading_integer(text: str | None) -> int | None:
    """Returns the number at the start of a text, for example -5 in "-5 Celsius".

    None if there is no number.
    """
    match = re.match(r"(-?[0-9]{1,40})(?![0-9])", text or "")
    return int(match[1]) if match is not None else None


def put(report: Report, value: object, *path: str) -> None:
    """Stores a value at the path, and creates the objects on the way. None is not stored."""
    if value is None:
        return
    for key in path[:-1]:
        report = report.setdefault(key, {})
    report[path[-1]] = value
