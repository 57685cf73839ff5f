"""Tests of `records.dataclass`: its classes behave as those of the standard library."""

import dataclasses
from dataclasses import field
from typing import Any

import pytest

from exporter.records import dataclass


def _classes(decorator: Any) -> tuple[Any, Any]:
    @decorator(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: float = 2.5
        tags: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        is_last: bool = field(default=False, kw_only=True)

    @decorator(slots=True)
    class Sum:
        total: int = 0
        parts: dict[str, int] = field(default_factory=dict)

    return Point, Sum


OURS, THEIRS = _classes(dataclass), _classes(dataclasses.dataclass)


def test_objects_are_created_with_the_same_arguments_and_defaults() -> None:
    for values, named in (((1,), {}), ((1, 2.0, ["a"], "n"), {"is_last": True}), ((), {"x": 3})):
        ours, theirs = OURS[0](*values, **named), THEIRS[0](*values, **named)
        assert repr(theirs) == repr(ours)
        assert dataclasses.asdict(theirs) == dataclasses.asdict(ours)
    with pytest.raises(TypeError):
        OURS[0]()
    with pytest.raises(TypeError):
        OURS[0](1, 2, [], "", True)


def test_a_default_factory_is_called_for_each_object() -> None:
    first, second = OURS[1](), OURS[1]()
    first.parts["a"] = 1
    assert {} == second.parts


def test_equality_and_hash_depend_on_the_compared_fields() -> None:
    @dataclass(frozen=True)
    class Key:
        name: str
        note: str = field(default="", compare=False)

    assert Key("a", "first") == Key("a", "second")
    assert hash(Key("a", "first")) == hash(Key("a", "second"))
    assert Key("a") != Key("b")
    assert OURS[0](1) != THEIRS[0](1)


def test_a_record_that_changes_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(OURS[1]())


def test_a_frozen_record_does_not_change() -> None:
    point = OURS[0](1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    assert 1 == point.x


def test_a_copy_with_other_values_is_possible() -> None:
    copy = dataclasses.replace(OURS[0](1), y=9.0)
    assert (1, 9.0) == (copy.x, copy.y)


def test_a_pattern_matches_the_same_fields() -> None:
    assert THEIRS[0].__match_args__ == OURS[0].__match_args__


def test_a_record_inherits_the_fields_of_another() -> None:
    @dataclass(slots=True)
    class Sum:
        total: int = 0

    @dataclass(slots=True)
    class Run(Sum):
        first: int = 7

    assert (3, 7) == (Run(3).total, Run(3).first)
    assert 5 == Sum(5).total


def test_post_init_is_called() -> None:
    @dataclass(slots=True)
    class Bucket:
        size: int
        left: int = field(init=False)
        filled: int | None = field(default=None, init=False)

        def __post_init__(self) -> None:
            self.left = self.size

    assert (4, None) == (Bucket(4).left, Bucket(4).filled)


def test_records_without_fields_are_equal() -> None:
    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    assert Nothing() == Nothing()


def test_without_eq_an_object_equals_only_itself() -> None:
    @dataclass(frozen=True, slots=True, eq=False)
    class Family:
        name: str

    one = Family("a")
    assert one == one  # noqa: PLR0124
    assert one != Family("a")
    assert 1 == len({one, one})
