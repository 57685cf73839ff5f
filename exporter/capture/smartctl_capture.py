"""What smartctl printed, without what names a drive."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from exporter.capture.redactor import Redactor

#: Deeper ones are no report of smartctl's; Python gives up at 1,000.
_DEEPEST = 100

_SERIAL_LINE = re.compile(
    r"""(?i)\bserial[ _](?:number|no)"?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)*)|([^"\s][^\n\r",]*))"""
)
_NUMBER = re.compile(r'(?i)"(naa|oui|id|ext_id)"\s*:\s*\d+')


def parsed(output: bytes) -> Any:
    """The JSON that it is; None where it is none, and is to be taken as text."""
    try:
        found = json.loads(output)
        _check_depth(found)
    except (ValueError, RecursionError):
        return None
    return found


def serials(output: bytes) -> Iterator[str]:
    """The serial numbers that an output names."""
    for found in _SERIAL_LINE.finditer(_decoded(output)):
        yield (found[1] or found[2] or "").strip()
    yield from _serials(parsed(output))


def wwns(output: bytes) -> Iterator[str]:
    """The digits of the WWNs that an output has as numbers."""
    yield from _wwns(parsed(output))


def redacted(output: bytes, redactor: Redactor) -> bytes:
    found = parsed(output)
    if found is None:
        # Numbers of a JSON that is cut off cannot be put together again.
        text = _NUMBER.sub(lambda match: f'"{match[1]}": 0', redactor.text(_decoded(output)))
        return text.encode("utf-8", "surrogateescape")
    return (json.dumps(_replaced(found, redactor), indent=2) + "\n").encode()


def _decoded(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")


def _serials(value: Any) -> Iterator[str]:
    for key, each in _members(value):
        if _is_serial(key) and isinstance(each, str):
            yield each.strip()
        elif isinstance(each, str):
            for found in _SERIAL_LINE.finditer(each):
                yield (found[1] or found[2] or "").strip()
        else:
            yield from _serials(each)


def _wwns(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and (digits := _digits(value)):
        yield digits
    for _, each in _members(value):
        yield from _wwns(each)


def _replaced(value: Any, redactor: Redactor, key: str = "") -> Any:
    if isinstance(value, str):
        if _is_serial(key):
            return redactor.serial(value.strip())
        # The decimal digits of a number that is too large for most readers' JSON.
        is_number = key.endswith("_s") and value.isdecimal()
        return value if is_number else redactor.text(value)
    if isinstance(value, list):
        return [_replaced(each, redactor, key) for each in value]
    if not isinstance(value, dict):
        return value
    new = {redactor.text(name): _replaced(each, redactor, name) for name, each in value.items()}
    if (digits := _digits(value)) is not None:
        mapped = redactor.wwn(digits)
        if "naa" in value:
            new["id"] = int(mapped[7:], 16)
        else:
            new["ext_id"] = int(mapped[6:], 16)
    return new


def _digits(value: Mapping[str, Any]) -> str | None:
    """The WWN of {naa, oui, id}, or the EUI-64 of {oui, ext_id}."""
    numbers = [value.get(name) for name in ("naa", "oui", "id", "ext_id")]
    naa, oui, low, ext = (
        n if isinstance(n, int) and not isinstance(n, bool) and n >= 0 else None for n in numbers
    )
    digits = None
    if oui is None:
        return None
    if naa is not None and low is not None:
        digits = f"{naa:x}{oui:06x}{low:09x}"
    elif ext is not None:
        digits = f"{oui:06x}{ext:010x}"
    return digits if digits is not None and len(digits) == 16 else None


def _is_serial(key: str) -> bool:
    return "serial" in key.lower()


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from (("", each) for each in value)


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise RecursionError
    for _, each in _members(value):
        _check_depth(each, depth + 1)
