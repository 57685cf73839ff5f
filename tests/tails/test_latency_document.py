"""The document of the agent: whatever a file contains, it is a document or one error."""

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.errors import ParseError
from exporter.tails.latency_document import (
    DeviceRequests,
    LatencyDocument,
    encoded,
    parse_latency_document,
)

DOCUMENT = LatencyDocument(
    "boot:12.5",
    1_700_000_000.0,
    1000.0,
    "boot",
    60.0,
    windows=3,
    observed_seconds=14.9,
    shortened=1,
    devices={"nvme0n1": DeviceRequests({"read": {10: 5, 3: 1}, "flush": {}}, lost=2, unfinished=1)},
)


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(encoded(DOCUMENT)), **values}).encode()


def test_what_the_agent_writes_is_what_the_daemon_reads() -> None:
    assert DOCUMENT == parse_latency_document(encoded(DOCUMENT))


def test_a_problem_is_passed_on_and_bounded() -> None:
    text = encoded(replace(DOCUMENT, problem="x" * 5000))
    assert "x" * 300 == parse_latency_document(text).problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{" + b'"a":1,' * 500_000, "not JSON: it has"),
        (changed(version=2), "the same version"),
        (changed(windows=-1), "windows is not a count"),
        (changed(windows=True), "windows is not a count"),
        (changed(windows=1 << 60), "windows is not a count"),
        (changed(observed_seconds="1"), "observed_seconds is not a number"),
        (changed(observed_seconds=float("nan")), "observed_seconds is out of range"),
        (changed(run=1), "run is not a string"),
        (changed(devices=[]), "devices is not an object"),
        (changed(devices={"a": {}}), "a device has no bins"),
        (changed(devices={"a": {"bins": {"read": 1}, "lost": 0}}), "bins is not a list"),
        (changed(devices={"a": {"bins": {"read": [[1]]}}}), "a bin is not a pair"),
        (changed(devices={"a": {"bins": {"read": [[999, 1]]}}}), "there is no bin 999"),
        (changed(devices={"a": {"bins": {}}}), "lost is not a count"),
    ],
)
def test_another_content_is_an_error(text: bytes, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        parse_latency_document(text)


def test_an_operation_of_a_later_version_is_omitted() -> None:
    text = changed(devices={"a": {"bins": {"trim": [[1, 1]]}, "lost": 0, "unfinished": 0}})
    assert {"a": DeviceRequests()} == parse_latency_document(text).devices


@given(st.binary() | st.text().map(str.encode))
def test_any_text_is_a_document_or_an_error(text: bytes) -> None:
    with contextlib.suppress(ParseError):
        parse_latency_document(text)
