"""The number of values in a JSON text is limited before it is parsed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.errors import ParseError
from exporter.runtime.json_values import require_few_values
from exporter.smart import smartctl
from exporter.smart.polling.poll_document import parse_poll_document

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def number_of_values(value: object) -> int:
    """Returns the number of values in a parsed JSON text, with the keys of its objects."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(number_of_values, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(number_of_values, value))
    return 1


@given(VALUES)
def test_no_value_escapes_the_count(value: object) -> None:
    """The count is never smaller than the number of values."""
    with pytest.raises(ValueError, match="more than the limit"):
        require_few_values(json.dumps(value), number_of_values(value) - 1)


def test_a_long_text_is_one_value() -> None:
    require_few_values(json.dumps("x" * 1_000_000), 1)


def test_a_report_of_empty_lists_is_refused() -> None:
    text = b'{"a":[' + b"[]," * 300_000 + b"[]]}"
    with pytest.raises(ParseError, match="more than the limit of 100000"):
        smartctl.report(text)
    with pytest.raises(ParseError, match="more than the limit of 101000"):
        parse_poll_document(b'{"version":1,"report":' + text + b"}")
