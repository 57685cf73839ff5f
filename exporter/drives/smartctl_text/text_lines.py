"""Reads numbers and `name: value` lines of smartctl's text output.

If a text starts like a number but is not a number, the text itself is the value. `Fields` then
records it as a fault.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

#: A JSON object while it is filled.
Report: TypeAlias = dict[str, Any]

#: The largest number of digits of a number. A number of 128 bits has 39.
_MAX_DIGITS = 40

#: The largest length of a text with a number, in characters: 39 digits, the longest separator
#: after each group of two or three, and the size.
_MAX_CHARACTERS = 256

#: The separators between groups of digits. The locale of smartctl decides on the separator. A space
#: stands for each kind of white space, because `text_report` replaces it. A byte that is not valid
#: UTF-8 became U+FFFD. Programs that copy or escape the text replace a separator with the escape of
#: its bytes or its code point, with an HTML entity, or with what its UTF-8 bytes mean in Latin-1.
_KNOWN = (
    r"[,.'\u2019`\u00b4_\u066c\u02bb\u00b7 \u00a0\u202f\u2009]|\ufffd{1,3}"
    r"|(?:\\x[0-9a-fA-F]{2}){1,3}|(?:\\[0-3][0-7]{2}){1,3}|\\u[0-9a-fA-F]{4}"
    r"|<[0-9a-fA-F]{2}>|<U\+[0-9a-fA-F]{4}>|&(?:nbsp|#160|#xa0|#8239|#8217|apos|#39|rsquo);"
    r"|\u00c2 ?|\u00e2\u20ac[\u00af\u2122\u2030]"
)
#: What may stand for a separator of an unknown encoding, or for a digit that was lost. It is a
#: separator only if it separates three groups of at least one number of the output.
_UNKNOWN = r"\?{1,3}|[^\w\s\x00-\x7f\u2010-\u2015\u2212\u00b1\u00d7]{1,3}"


def _number(separator: str) -> re.Pattern[str]:
    """Returns the pattern of a number in groups of three digits, or in the groups of India.

    India has groups of two digits, and three digits in the last group. All separators are equal.
    """
    return re.compile(
        r"(?P<sign>[-~]?)(?P<number>[0-9]+"
        rf"|[0-9]{{1,3}}(?P<three>{separator})[0-9]{{3}}(?:(?P=three)[0-9]{{3}})*"
        rf"|[0-9]{{1,2}}(?P<two>{separator})[0-9]{{2}}(?:(?P=two)[0-9]{{2}})*(?P=two)[0-9]{{3}})"
        r"(?:%| (?:bytes|Celsius|C|rpm))?(?: \[(?P<size>[^\]]*)\])?"
    )


_NUMBER, _DOUBTFUL = _number(_KNOWN), _number(_UNKNOWN)
#: The separators that contain digits themselves. They are removed before the digits are read.
_ESCAPE = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[0-3][0-7]{2}|<[^>]*>|&[^;]*;")

#: The size in bytes that smartctl prints after a number, with three digits, and its prefixes.
_SIZE = re.compile(r"([0-9]{1,4})(?:[.,]([0-9]{1,3}))? ?([KMGTPEZY]?)B", re.ASCII)
_PREFIXES = "KMGTPEZY"

_LOG_ROW = re.compile(r"# ?[0-9]{1,2} ", re.ASCII)

#: The name of a line, which has no colon. No name is longer.
_NAMED = re.compile(r"([A-Za-z][^:]{0,60}): (.+)")

#: The names of values that are texts, also if they look like numbers.
_TEXTS = frozenset(
    {"Model Number", "Device Model", "Serial Number", "Serial number", "Firmware Version"}
    | {"Vendor", "Product", "Revision"}
)

#: What smartctl prints for an ATA drive that does not report its model, for example.
_MISSING = "[No Information Found]"


def named_values(lines: Sequence[str]) -> Mapping[str, str]:
    """Returns the values of the lines `name: value`, keyed by name.

    If a name occurs several times, its first value is returned.

    smartctl may separate groups of digits with a character that this module does not know. Such a
    separator is recognized if it occurs at least twice in one number. It is then replaced with ","
    in every number that uses it. Texts such as the model are not changed.
    """
    values: dict[str, str] = {}
    for line in lines:
        match = _NAMED.match(line)
        if match is not None and match[2] != _MISSING:
            values.setdefault(match[1], match[2])
    numbers = {name: value for name, value in values.items() if name not in _TEXTS}
    separators = set(filter(None, map(_unknown_separator, numbers.values())))
    for name, value in numbers.items() if separators else ():
        match = _DOUBTFUL.fullmatch(value[:_MAX_CHARACTERS])
        if match is not None and (separator := match["three"] or match["two"]) in separators:
            values[name] = value.replace(separator, ",")
    return values


def _unknown_separator(text: str) -> str | None:
    """Returns the unknown separator of a number; None if it may stand for a digit that was lost."""
    match = _DOUBTFUL.fullmatch(text[:_MAX_CHARACTERS]) if text[:1].isdecimal() else None
    separator: str | None = None if match is None else match["three"] or match["two"]
    if match is None or not separator or match["number"].count(separator) < 2:
        return None
    return separator


def whole_integer(text: str | None, unit_bytes: int = 1) -> int | str | None:
    """Returns the number in a text: 256060514304 for "256,060,514,304 bytes [256 GB]".

    None if the text contains no number, such as "-" and "Not reported". The text itself if it is
    not a whole number, or if the number contradicts the size in brackets. The caller stores the
    text, and `Fields` records a fault.

    text: a number, with or without separators between groups of digits. Its unit may follow, and
        its rounded size in bytes in brackets.
    unit_bytes: the unit of the number in bytes, for the comparison with the size.
    """
    if text is None or text[:1] in "<([" or text[:1].isalpha():
        return None
    if not any(character.isnumeric() for character in text[:_MAX_CHARACTERS]):
        return None
    match = _NUMBER.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        return text
    digits = re.sub(r"[^0-9]", "", _ESCAPE.sub("", match["number"]))
    if len(digits) > _MAX_DIGITS:
        return text
    number = -int(digits) if match["sign"] == "-" else int(digits)
    return number if _is_size(match["size"], number * unit_bytes) else text


def _is_size(size: str | None, number_bytes: int) -> bool:
    """False if a size such as "14.6 TB" contradicts the number of bytes.

    smartctl cuts off the digits that it does not print, and other programs round. So the
    difference is at most one unit of the last digit. An unknown form contradicts nothing.
    """
    match = None if size is None else _SIZE.fullmatch(size)
    if match is None:
        return True
    whole, decimals, prefix = match[1], match[2] or "", match[3]
    unit = int(1000 ** (_PREFIXES.index(prefix) + 1 if prefix else 0))
    scale = int(10 ** len(decimals))
    return abs(number_bytes * scale - int(whole + decimals) * unit) <= unit


def is_log_row(line: str) -> bool:
    """True if the line is a row of a self-test log, which begins with "# 1" or "#12"."""
    return _LOG_ROW.match(line) is not None


def put(report: Report, value: object, *path: str) -> None:
    """Stores a value at the path, and creates missing objects. None is not stored."""
    if value is None:
        return
    for key in path[:-1]:
        report = report.setdefault(key, {})
    report[path[-1]] = value
