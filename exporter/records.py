"""The decorator `dataclass` of this package: that of the standard library, which starts faster.

`dataclasses.dataclass` generates and compiles up to nine functions for each class when the class is
defined. For the 180 records of the daemon this takes a third of the CPU time of the start, and
1.3 MB of memory. The decorator here generates `__init__` when the first object is created, and all
classes share the other methods. `fields`, `replace` and the like work as usual. Type checkers see
the decorator of the standard library.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None, *, frozen: bool = False, slots: bool = False, eq: bool = True
    ) -> Any:
        """Returns the class with the methods of a data class, as `dataclasses.dataclass` does."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, eq=eq)
        record = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        methods: dict[str, Any] = {
            "__init__": _first_init(record, frozen=frozen),
            "__repr__": _repr,
        }
        if eq:
            methods |= {"__eq__": _is_equal, "__hash__": _hash if frozen else None}
            compared = [each.name for each in dataclasses.fields(record) if each.compare]
            record.__compared__ = staticmethod(attrgetter(*compared) if compared else type)
        if frozen:
            methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
        for name, method in methods.items():
            if record.__dict__.get(name) is None:
                setattr(record, name, method)
        return record


def _first_init(record: type, *, frozen: bool) -> Callable[..., None]:
    """Returns an `__init__` that replaces itself by the generated one when it is called."""

    def __init__(self: object, *values: Any, **named: Any) -> None:  # noqa: N807
        record.__init__ = generated = _init(record, frozen=frozen)  # type: ignore[misc]
        generated(self, *values, **named)

    return __init__


def _init(record: Any, *, frozen: bool) -> Callable[..., None]:
    """Returns the `__init__` that the standard library generates for the fields of the record."""
    fields = []
    for each in dataclasses.fields(record):
        default: Any = each.default
        if each.default_factory is not dataclasses.MISSING:
            copy = dataclasses.field(
                default_factory=each.default_factory, init=each.init, kw_only=each.kw_only
            )
        else:
            copy = dataclasses.field(default=default, init=each.init, kw_only=each.kw_only)
        fields.append((each.name, object, copy))
    # Without a docstring, the library formats the signature as one.
    namespace = {"__doc__": "x"}
    if hasattr(record, "__post_init__"):
        namespace["__post_init__"] = record.__post_init__
    twin: Any = dataclasses.make_dataclass(
        record.__qualname__,
        fields,
        namespace=namespace,
        repr=False,
        eq=False,
        frozen=frozen,
        slots=True,
    )
    init: Callable[..., None] = twin.__init__
    return init


def _repr(self: Any) -> str:
    shown = (each.name for each in dataclasses.fields(self) if each.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _is_equal(self: Any, other: Any) -> Any:
    if other.__class__ is self.__class__:
        return self.__compared__(self) == self.__compared__(other)
    return NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _refuse_change(_self: object, name: str, *_value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
