"""Defines a part of the input of `read`, and recognizes the text between documents."""

import re
from string import ascii_letters
from typing import NamedTuple

from exporter.drives.fields import Json
from exporter.drives.smartctl_text.text_report import parse_text

#: Texts that begin with one of these words contain only the banner and the copyright of smartctl.
_BANNER_WORDS = ("smartctl", "Copyright")

#: The longest text before JSON in the same line, in bytes, and the start of such JSON: indented, or
#: in one line.
_MAX_TEXT_BYTES = 200
_JSON_START = re.compile(rb'\{\s*$|\{\s*"json_format_version"')


class DocumentPart(NamedTuple):
    """A document that has no position in its file yet. `report` is None if there is an error."""

    line: int
    form: str
    report: Json | None
    error: str = ""


def json_after_text(line: bytes) -> int:
    """Returns the position at which JSON starts after other text in a line; 0 if there is none."""
    at = line.find(b"{", 0, _MAX_TEXT_BYTES)
    text = line[: max(at, 0)]
    is_text = any(byte in ascii_letters.encode() for byte in text) and b'"' not in text
    return at if is_text and _JSON_START.match(line, at) else 0


def is_introduction(text: str, next_form: str, following: bytes) -> bool:
    """True if a text belongs to the document that follows it.

    Such a text is a shell prompt before smartctl's banner or before indented JSON, or the banner
    that smartctl 7.2 and older print before JSON.
    """
    if not next_form:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    if all(line.startswith(_BANNER_WORDS) for line in lines):
        return next_form == "json"
    is_indented = next_form == "json" and following.strip() == b"{"
    return (next_form == "text" or is_indented) and parse_text(text) is None


def unknown_text(text: str) -> str:
    """Returns why a text is neither JSON nor smartctl's output, and what to do. Never empty."""
    if text.lstrip().startswith("["):
        return "a JSON array: write one document per line (`jq -c '.[]' FILE`)"
    if text.startswith("\ufffd\ufffd") and "\x00" in text:
        return "the encoding is UTF-16: convert it (`iconv -f UTF-16 -t UTF-8 FILE`)"
    return "neither the JSON nor the text of smartctl: save the output of `smartctl -x --json`"
