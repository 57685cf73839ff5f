"""A report as JSON, for programs."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from exporter.report.content import Report


def text(report: Report) -> str:
    """One object: what was found in words, and under `data` the same in base units.

    What is no number, such as NaN, is null: JSON has no word for it. ASCII alone, so that it can
    be written anywhere and steers no terminal.
    """
    whole = {
        "title": report.title,
        "verdict": report.verdict,
        "is_good": report.is_good,
        "facts": dict(report.facts),
        "notes": list(report.notes),
        "data": plain(report.data),
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """The value as JSON has it: records by their fields, enumerations by their values."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(each) for each in value]
    return str(value)
