"""Finding the report in what fio printed, between its notes and its other reports."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.drives.fields import Json
from exporter.errors import ParseError

#: A slot of three profiles prints 25 KB.
LARGEST_BYTES = 4 << 20

_MOST_DOCUMENTS = 16
_LONGEST_MESSAGE = 500

_BEGIN = re.compile(r"^\{", re.MULTILINE)
#: What printf makes of a mean of nothing, and no JSON.
_NO_NUMBER = re.compile(r"(?<=[:,\[\s])-?(?:nan|inf)(?=\s*[,}\]\n])")


@dataclass(frozen=True, slots=True)
class Found:
    """The last whole report, None where there is none; and what stood before the first.

    faults: what looked like a report and was none.
    """

    document: Json | None
    message: str
    faults: tuple[str, ...]


def find(output: bytes) -> Found:
    """Raises ParseError where it is more than fio prints."""
    if len(output) > LARGEST_BYTES:
        raise ParseError(f"fio: printed more than {LARGEST_BYTES} bytes")
    text = _NO_NUMBER.sub("null", output.decode("utf-8", "replace"))
    begin = _begin(text)
    message = " ".join(text[:begin].split())[:_LONGEST_MESSAGE]
    faults: list[str] = []
    return Found(_last_document(text, begin, faults), message, tuple(faults))


def _begin(text: str) -> int:
    """Where the report begins: the line with its brace, else any brace, else the end."""
    found = _BEGIN.search(text)
    brace = found.start() if found else text.find("{")
    return brace if brace >= 0 else len(text)


def _last_document(text: str, begin: int, faults: list[str]) -> Json | None:
    decoder = json.JSONDecoder()
    last: Json | None = None
    place: int | None = begin
    for _ in range(_MOST_DOCUMENTS):
        if place is None or place >= len(text):
            break
        try:
            document, end = decoder.raw_decode(text, place)
        # Besides its own error: numbers of 5,000 digits, objects in objects in objects.
        except (ValueError, RecursionError) as e:
            faults.append(f"not JSON: {e}"[:200])
            end = place + 1
        else:
            if isinstance(document, Mapping) and isinstance(document.get("jobs"), list):
                last = document
        following = _BEGIN.search(text, end)
        place = following.start() if following else None
    return last
