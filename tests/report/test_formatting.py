"""Numbers with units, and text without control characters."""

import io

import pytest
from hypothesis import given

from exporter.report import formatting
from tests.report import reports


@pytest.mark.parametrize(
    ("expected", "value", "unit"),
    [
        ("1.24 GB/s", 1.2369e9, "B/s"),
        ("1 GB", 999.9e6, "B"),
        ("38 GB", 38_000_000_000, "B"),
        ("512 B", 512, "B"),
        ("380 µs", 0.00038, "s"),
        ("1.5 ms", 0.0015, "s"),
        ("3,600 s", 3600, "s"),
        ("20,000", 20_000, ""),
        ("20,000 IOPS", 20_000, "IOPS"),
        ("0 B", 0, "B"),
        ("-1.5 GB", -1.5e9, "B"),
        ("-", float("nan"), "B"),
        ("-", float("inf"), "s"),
    ],
)
def test_a_quantity_has_three_digits_and_the_prefix_that_suits_it(
    expected: str, value: float, unit: str
) -> None:
    assert expected == formatting.quantity(value, unit)


@given(reports.numbers, reports.units)
def test_any_number_makes_a_quantity_of_one_line(value: float, unit: str) -> None:
    assert formatting.quantity(value, unit).replace("µ", "u").isprintable()


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert 5 == formatting.columns("a固b\u0301c")


@pytest.mark.parametrize(
    ("expected", "encoding"), [("5 µs", "utf-8"), ("5 us", "ascii"), ("5 us", "iso8859-1")]
)
def test_missing_characters_do_not_stop_the_output(expected: str, encoding: str) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert expected == formatting.encodable("5 µs", out)


def test_letters_that_an_encoding_lacks_become_escapes() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert r"\u56fa" == formatting.encodable("固", out)
