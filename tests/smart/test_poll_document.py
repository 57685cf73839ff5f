"""What passes from the half with rights to the half without."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ParseError
from exporter.programs.child import End, Finished
from exporter.smart.poll_document import (
    LARGEST_BYTES,
    Heartbeat,
    PollDocument,
    encoded,
    file_name,
    parse_heartbeat,
    parse_poll_document,
    poll_document,
)
from exporter.smart.smartctl import Address

POLL = PollDocument(
    path="/dev/bus/0",
    type="megaraid,3",
    result="success",
    began_at=1_700_000_000.5,
    seconds=0.25,
    interval_seconds=900.0,
    exit_status=4,
    is_daily=True,
    message="",
    last_success_at=1_700_000_000.75,
    counts={"success": 3, "timed_out": 1},
    report={"smartctl": {"exit_status": 4}, "temperature": {"current": 31}},
)
ROLL = Heartbeat(
    at=1_700_000_000.0,
    interval_seconds=15.0,
    scanned_at=1_699_999_990.0,
    drives=(("/dev/sda", "sat"), ("/dev/nvme0", "nvme")),
    stuck=(("/dev/sda", "sat"),),
    problem="",
)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def test_a_poll_comes_out_as_it_went_in() -> None:
    assert parse_poll_document(encoded(POLL)) == POLL


def test_a_heartbeat_comes_out_as_it_went_in() -> None:
    assert parse_heartbeat(encoded(ROLL)) == ROLL


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version":1}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version":' + b"9" * 5000 + b"}",
        encoded(POLL)[:-1],
        encoded(POLL) + b"}",
        encoded(POLL).replace(b'"version":1', b'"version":2'),
        encoded(POLL).replace(b'"report":{', b'"report":[], "other":{'),
        encoded(POLL).replace(b'"began_at":1700000000.5', b'"began_at":NaN'),
        encoded(POLL).replace(b'"began_at":1700000000.5', b'"began_at":-1'),
        encoded(POLL).replace(b'"began_at":1700000000.5', b'"began_at":1' + b"0" * 400),
        b'{"version":1,"path":"' + b"x" * LARGEST_BYTES + b'"}',
    ],
    ids=range(16),
)
def test_what_is_no_document_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="document: "):
        parse_poll_document(text)


def test_another_version_is_named_with_what_to_do() -> None:
    with pytest.raises(ParseError, match=r"version 2, not 1: the daemon and the smart-agent must"):
        parse_poll_document(encoded(POLL).replace(b'"version":1', b'"version":2'))


@given(field=st.sampled_from(sorted(PollDocument.__dataclass_fields__)), value=ANY_JSON)
def test_any_value_in_any_field_is_a_document_or_refused(field: str, value: Any) -> None:
    values = {**json.loads(encoded(POLL)), field: value}
    try:
        document = parse_poll_document(json.dumps(values).encode())
    except ParseError:
        return
    assert PollDocument is type(document)


@given(field=st.sampled_from(sorted(Heartbeat.__dataclass_fields__)), value=ANY_JSON)
def test_any_value_in_any_field_of_a_heartbeat_is_one_or_refused(field: str, value: Any) -> None:
    values = {**json.loads(encoded(ROLL)), field: value}
    try:
        heartbeat = parse_heartbeat(json.dumps(values).encode())
    except ParseError:
        return
    assert Heartbeat is type(heartbeat)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(text: bytes) -> None:
    with pytest.raises(ParseError):
        parse_poll_document(text)


def test_no_two_drives_share_a_file() -> None:
    drives = [("/dev/sda", "sat"), ("/dev/sd/a", "sat"), ("/dev/sda sat", ""), ("/dev/sda", "sat,")]
    names = {file_name(*drive, is_daily=daily) for drive in drives for daily in (False, True)}
    assert 2 * len(drives) == len(names)


@given(st.text(), st.text())
def test_a_files_name_is_harmless_whatever_the_drive_is_called(path: str, kind: str) -> None:
    name = file_name(path, kind, is_daily=False)
    assert name.isascii()
    assert len(name) < 100
    assert set() == set(name) & set("/\0\n ")


@given(
    st.sampled_from(list(End)),
    st.none() | st.integers(-64, 255),
    st.binary(max_size=40),
    st.text(max_size=20),
)
def test_the_daemon_accepts_the_document_of_every_run_of_smartctl(
    end: End, status: int | None, output: bytes, message: str
) -> None:
    """Also of a run that a signal ended, whose status is negative."""
    finished = Finished("sda", end, status, output, seconds=1.5, message=message)
    document = poll_document(
        finished, Address("/dev/sda", "sat"), began_at=1e9, interval_seconds=900.0, is_daily=False
    )
    parsed = parse_poll_document(encoded(document))
    assert document.result == parsed.result
    assert document.address == parsed.address
