"""Finds and replaces the identifiers in the output of smartctl, which may be JSON or text."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from exporter.capture.redactor import Redactor

#: The largest nesting of JSON that is accepted, in levels. smartctl's reports have fewer levels,
#: and Python's recursion limit is 1,000.
_MAX_DEPTH = 100

_SERIAL_LINE = re.compile(
    r"""(?i)\bserial[ _](?:number|no)"?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)*)|([^"\s][^\n\r",]*))"""
)
_WWN_NUMBER = re.compile(r'(?i)"(naa|oui|id|ext_id)"\s*:\s*\d+')


def serials(output: bytes) -> Iterator[str]:
    """Yields the serial numbers in an output of smartctl. A serial number may be repeated."""
    yield from _serials_in_text(_decode(output))
    yield from _serials(_parse_json(output))


def wwns(output: bytes) -> Iterator[str]:
    """Yields the hexadecimal digits of the WWNs in an output of smartctl.

    The digits are computed from numbers in JSON. The output may also contain other text. Nothing is
    yielded for an output without JSON.
    """
    yield from _wwns(_parse_json(output[output.find(b"{") : output.rfind(b"}") + 1]))


def redact_output(output: bytes, redactor: Redactor) -> bytes:
    """Returns an output of smartctl without identifiers.

    An output that is not JSON is redacted as text.
    """
    report = _parse_json(output)
    if report is None:
        # The text may be truncated JSON. The parts of a WWN cannot be combined there, so each part
        # becomes 0.
        text = _WWN_NUMBER.sub(lambda match: f'"{match[1]}": 0', redactor.text(_decode(output)))
        return text.encode("utf-8", "surrogateescape")
    return (json.dumps(_redact_json(report, redactor), indent=2) + "\n").encode()


def _parse_json(output: bytes) -> Any:
    """Returns the value of a JSON text; None if the text is not JSON, or has too many levels."""
    try:
        value = json.loads(output)
        _check_depth(value)
    except (ValueError, RecursionError):
        return None
    return value


def _decode(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")


def _serials_in_text(text: str) -> Iterator[str]:
    for match in _SERIAL_LINE.finditer(text):
        yield (match[1] or match[2] or "").strip()


def _serials(value: Any) -> Iterator[str]:
    for key, member in _members(value):
        if _is_serial(key) and isinstance(member, str):
            yield member.strip()
        elif isinstance(member, str):
            yield from _serials_in_text(member)
        else:
            yield from _serials(member)


def _wwns(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and (digits := _wwn_digits(value)):
        yield digits
    for _, member in _members(value):
        yield from _wwns(member)


def _redact_json(value: Any, redactor: Redactor, key: str = "") -> Any:
    if isinstance(value, str):
        if _is_serial(key):
            return redactor.serial(value.strip())
        # smartctl prints numbers above 2^53 a second time as decimal text, with a key that ends
        # with _s. Such a text is not an identifier.
        is_number = key.endswith("_s") and value.isdecimal()
        return value if is_number else redactor.text(value)
    if isinstance(value, list):
        return [_redact_json(member, redactor, key) for member in value]
    if not isinstance(value, dict):
        return value
    new = {
        redactor.text(name): _redact_json(member, redactor, name) for name, member in value.items()
    }
    if (digits := _wwn_digits(value)) is not None:
        placeholder = redactor.wwn(digits)
        if "naa" in value:
            new["id"] = int(placeholder[7:], 16)
        else:
            new["ext_id"] = int(placeholder[6:], 16)
    return new


def _wwn_digits(value: Mapping[str, Any]) -> str | None:
    """Returns the 16 hexadecimal digits of the WWN in a JSON object; None if it contains no WWN.

    The object contains a WWN in the keys naa, oui and id, or an EUI-64 in the keys oui and ext_id.
    """
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
        yield from (("", member) for member in value)


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise RecursionError
    for _, member in _members(value):
        _check_depth(member, depth + 1)
