"""Plain values, as TOML has them, to records; what does not fit is named by its key.

The standard library's dataclasses say which keys there are and of what type, so a setting is
declared once. pydantic would do this too, at 24 MB of memory (measured), on a database host.
"""

import difflib
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from exporter.errors import ConfigError

R = TypeVar("R")


def record(kind: type[R], values: Mapping[str, Any], where: str, given: R | None = None) -> R:
    """The record that `values` describe; what they leave out is `given`'s, else the default.

    Raises:
        ConfigError: an unknown key or a value of another type, named by its whole key.
    """
    hints = get_type_hints(kind)
    known = {str(f.metadata.get("key", f.name)): f for f in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key {_dotted(where, key)}", _hint(key, known))
    made: dict[str, Any] = {}
    for key, f in known.items():
        before = MISSING if given is None else getattr(given, f.name)
        if key in values:
            made[f.name] = value(hints[f.name], values[key], _dotted(where, key), before)
        elif before is not MISSING:
            made[f.name] = before
    return kind(**made)


def value(kind: Any, found: Any, where: str, before: Any = MISSING) -> Any:
    """One value as the type that its setting has.

    Raises:
        ConfigError: it is of another type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return value(kinds[0], found, where, before)
    if is_dataclass(kind):
        return record(
            kind,  # type: ignore[arg-type]
            _table(found, where),
            where,
            None if before in (MISSING, None) else before,
        )
    if origin is tuple:
        items = [found] if isinstance(found, str) else found
        if not isinstance(items, list):
            raise _mismatch(where, found, "a list")
        return tuple(
            value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(items)
        )
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments, _table(found, where), where, before)
    return _scalar(kind, found, where)


def _mapping(arguments: tuple[Any, ...], table: Mapping[str, Any], where: str, before: Any) -> Any:
    key_kind, value_kind = arguments
    made = dict(before) if isinstance(before, Mapping) else {}
    for key, item in table.items():
        name = _scalar(key_kind, key, where)
        made[name] = value(value_kind, item, _dotted(where, key))
    return made


def _scalar(kind: Any, found: Any, where: str) -> Any:
    if kind is bool and isinstance(found, bool):
        return found
    if kind is float and (isinstance(found, float) or _is_integer(found)):
        return float(found)
    if kind is int and _is_integer(found):
        return found
    if kind is str and isinstance(found, str):
        return found
    if kind is Path and isinstance(found, str) and found and "\0" not in found:
        return Path(found)
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(member.value) for member in kind]
        if found in choices:
            return kind(found)
        raise ConfigError(f"{where} is {found!r}", f"it must be one of {', '.join(choices)}")
    raise _mismatch(where, found, _NAMES.get(kind, str(kind)))


def _is_integer(found: Any) -> bool:
    """Python's TOML readers give longer ones than the 64 bits that TOML promises."""
    return isinstance(found, int) and not isinstance(found, bool) and -(1 << 63) <= found < 1 << 63


_NAMES = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text in quotes",
    Path: "a path in quotes",
}


def _table(found: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise _mismatch(where, found, "a table")
    return found


def _mismatch(where: str, found: Any, wanted: str) -> ConfigError:
    return ConfigError(f"{where} is {found!r}", f"it must be {wanted}")


def _hint(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(known))}"


def _dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
