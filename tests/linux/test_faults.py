"""Faults: how many are kept."""

from exporter.runtime.errors import MAX_FAULTS, Faults, ParseError


def test_few_faults_are_all_listed() -> None:
    faults = Faults()
    assert faults.first is None
    assert faults.listed() == ()
    faults.add(ParseError("a"))
    faults.extend([ParseError("b"), ParseError("c")])
    assert ["a", "b", "c"] == [str(each) for each in faults.listed()]
    assert str(faults.first) == "a"


def test_many_faults_are_counted() -> None:
    faults = Faults(ParseError(str(number)) for number in range(1_000_000))
    *kept, last = faults.listed()
    assert [str(number) for number in range(MAX_FAULTS)] == [str(each) for each in kept]
    assert str(last) == "999980 more faults are not listed"
