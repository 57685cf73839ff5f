"""Tests of the results of smartctl runs, and of writing and parsing poll documents."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.smart_report import parse_report
from exporter.programs.child import End, Finished
from exporter.runtime.errors import ParseError
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import (
    LARGEST_BYTES,
    Heartbeat,
    PollDocument,
    encoded,
    file_name,
    parse_heartbeat,
    parse_poll_document,
    poll_document,
)
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.smartctl import Address, Form

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
    only_configured=(("/dev/bus/0", "megaraid,3"),),
)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def test_a_poll_document_is_parsed_as_it_was_written() -> None:
    assert parse_poll_document(encoded(POLL)) == POLL


def test_a_heartbeat_is_parsed_as_it_was_written() -> None:
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
def test_an_invalid_document_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="document: "):
        parse_poll_document(text)


def test_another_version_is_named_with_what_to_do() -> None:
    with pytest.raises(ParseError, match=r"version 2, not 1: the daemon and the smart-agent must"):
        parse_poll_document(encoded(POLL).replace(b'"version":1', b'"version":2'))


@given(field=st.sampled_from(sorted(PollDocument.__dataclass_fields__)), value=ANY_JSON)
def test_any_value_in_a_field_of_a_document_is_accepted_or_rejected(field: str, value: Any) -> None:
    values = {**json.loads(encoded(POLL)), field: value}
    try:
        document = parse_poll_document(json.dumps(values).encode())
    except ParseError:
        return
    assert PollDocument is type(document)


@given(field=st.sampled_from(sorted(Heartbeat.__dataclass_fields__)), value=ANY_JSON)
def test_any_value_in_a_field_of_a_heartbeat_is_accepted_or_rejected(
    field: str, value: Any
) -> None:
    values = {**json.loads(encoded(ROLL)), field: value}
    try:
        heartbeat = parse_heartbeat(json.dumps(values).encode())
    except ParseError:
        return
    assert Heartbeat is type(heartbeat)


@given(st.binary(max_size=200))
def test_any_bytes_are_rejected(text: bytes) -> None:
    with pytest.raises(ParseError):
        parse_poll_document(text)


def test_no_two_drives_share_a_file() -> None:
    drives = [("/dev/sda", "sat"), ("/dev/sd/a", "sat"), ("/dev/sda sat", ""), ("/dev/sda", "sat,")]
    names = {file_name(*drive, is_daily=daily) for drive in drives for daily in (False, True)}
    assert 2 * len(drives) == len(names)


@given(st.text(), st.text())
def test_a_file_name_is_safe_for_any_drive_name(path: str, kind: str) -> None:
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
        finished,
        Address("/dev/sda", "sat"),
        began=Moment(1e9),
        interval_seconds=900.0,
        is_daily=False,
    )
    parsed = parse_poll_document(encoded(document))
    assert document.result == parsed.result
    assert document.address == parsed.address


def document(finished: Finished) -> PollDocument:
    address = Address("/dev/sda", "sat")
    return poll_document(
        finished, address, began=Moment(1e9), interval_seconds=60.0, is_daily=False
    )


def of(status: int, *messages: str, **more: object) -> PollDocument:
    """The document of a run with this exit status and these messages."""
    rows = [{"string": text, "severity": "error"} for text in messages]
    whole = {"smartctl": {"exit_status": status, "messages": rows}, **more}
    return document(Finished("sda", End.EXITED, status, json.dumps(whole).encode()))


@pytest.mark.parametrize("status", range(256))
def test_bits_0_and_1_mean_that_there_are_no_data_and_the_others_do_not(status: int) -> None:
    became = of(status, device={"protocol": "ATA"})
    if status == 3:
        assert PollResult.STANDBY == became.result
    else:
        assert bool(status & 3) != (PollResult.SUCCESS == became.result)
    assert became.report
    assert (PollResult.SUCCESS == became.result) == (became.message == "")


@pytest.mark.parametrize("mode", ["STANDBY", "STANDBY_Y", "STANDBY (OS)", "STANDBY BY TIMER"])
def test_a_drive_in_standby_has_the_result_standby(mode: str) -> None:
    message = f"Device is in {mode} mode, exit(3)"
    became = of(3, message)
    assert (PollResult.STANDBY, message) == (became.result, became.message)


def test_a_drive_without_power_mode_is_not_in_standby() -> None:
    """If smartctl cannot query the power mode (failed drive, no privileges) it prints SLEEP."""
    became = of(3, "Device is in SLEEP mode, exit(3)")
    assert PollResult.NO_ANSWER == became.result
    assert "CAP_SYS_RAWIO" in became.message


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (2, "Smartctl open device: /dev/sda failed: No such device", PollResult.NO_ANSWER),
        (
            2,
            "Smartctl open device: /dev/sda [SAT] failed: Input/output error",
            PollResult.NO_ANSWER,
        ),
        (2, "Smartctl open device: /dev/nvme0 failed: Permission denied", PollResult.REFUSED),
        (
            2,
            "Smartctl open device: /dev/sda [SAT] failed: Operation not permitted",
            PollResult.REFUSED,
        ),
        (
            2,
            "Read NVMe Identify Controller failed: NVME_IOCTL_ADMIN_CMD: Permission denied",
            PollResult.REFUSED,
        ),
        (1, "/dev/sdz: Unable to detect device type", PollResult.NO_ANSWER),
        (1, "/dev/sda: Unknown device type 'zzz'", PollResult.BAD_REQUEST),
        (1, "/dev/sda: Unknown USB bridge [0x1234:0x5678 (0x100)]", PollResult.BAD_REQUEST),
        (1, "=======> UNRECOGNIZED OPTION: bogus", PollResult.BAD_REQUEST),
    ],
)
def test_a_failed_run_is_reported_with_the_reason(
    status: int, message: str, expected: PollResult
) -> None:
    became = of(status, message, "=======> VALID ARGUMENTS ARE: ata, scsi <=======")
    assert expected == became.result
    assert message in became.message
    assert "VALID ARGUMENTS" not in became.message


def test_a_drive_that_did_not_identify_itself_gave_no_answer() -> None:
    """smartctl's own reason is text that --json leaves out."""
    became = of(2, device={"protocol": "ATA"})
    assert PollResult.NO_ANSWER == became.result
    assert "did not identify itself" in became.message


def test_a_smartctl_before_7_has_the_result_too_old() -> None:
    text = b"smartctl 6.6 2017-11-05 r4594 [x86_64-linux]\n\n=======> UNRECOGNIZED OPTION: json=c\n"
    became = document(Finished("sda", End.EXITED, 1, text))
    assert PollResult.TOO_OLD == became.result
    assert "smartctl 6.6 is too old; version 7.0 or newer is required" in became.message


def test_output_that_is_not_json_is_unreadable_and_reported() -> None:
    became = document(Finished("sda", End.EXITED, 1, b"", b"sudo: a password is required\n"))
    assert PollResult.UNREADABLE == became.result
    assert "a password is required" in became.message


@pytest.mark.parametrize("output", [b"", b'{"smartctl":{"exit_status":0}'])
def test_a_report_that_is_empty_or_cut_off_is_unreadable(output: bytes) -> None:
    assert PollResult.UNREADABLE == document(Finished("sda", End.EXITED, 0, output)).result


@pytest.mark.parametrize("status", [-9, -11, None])
def test_a_smartctl_that_was_killed_gave_no_report(status: int | None) -> None:
    became = document(Finished("sda", End.EXITED, status, b'{"a":1}'))
    assert (PollResult.KILLED, {}) == (became.result, became.report)


@pytest.mark.parametrize("end", [end for end in End if end is not End.EXITED])
def test_a_child_that_did_not_end_by_itself_gave_no_report(end: End) -> None:
    became = document(Finished("sda", end, -15, b'{"a":1}', message="why"))
    assert (PollResult(end.value), {}) == (became.result, became.report)
    note = "; the drive is not polled until it has ended" if end is End.STUCK else ""
    assert f"why{note}" == became.message


@given(st.sampled_from(End), st.none() | st.integers(-64, 255), st.binary(), st.binary())
def test_every_end_of_a_child_has_a_result(
    end: End, status: int | None, output: bytes, errors: bytes
) -> None:
    for text in (output, b"{" + output):
        became = document(Finished("sda", end, status, text, errors, message="why"))
        assert (PollResult.SUCCESS == became.result) == (became.message == "")


TEXT = """smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)
=== START OF INFORMATION SECTION ===
Vendor:               EXAMPLE
Product:              SASSSD800
Serial number:        EXC800C0003
SMART Health Status: OK
Percentage used endurance indicator: 29%
  Pending defect count:1 Pending Defect, LBA and accumulated_power_on_hours follow
"""
ENDED = "Smartctl: Exception: json.cpp(39): Assertion failed: 'a' <= c && c <= 'z'\n"


def in_text(output: str, status: int = 0) -> PollDocument:
    finished = Finished("sda", End.EXITED, status, output.encode())
    return poll_document(
        *(finished, Address("/dev/sda", "scsi")),
        began=Moment(1e9),
        interval_seconds=60.0,
        is_daily=False,
        form=Form.TEXT,
    )


def test_a_poll_with_text_has_the_report_that_json_would_have() -> None:
    became = in_text(TEXT, 8)
    assert (PollResult.SUCCESS, "") == (became.result, became.message)
    report = parse_report(became.report)
    assert (1, 8) == (report.health.pending_sectors, report.health.exit_status)


def test_values_before_the_log_at_which_smartctl_ends_are_used() -> None:
    """smartctl 7.0 to 7.2 end within the text too, with status 1, which is no exit status."""
    became = in_text(TEXT + ENDED, 1)
    assert PollResult.SUCCESS == became.result
    health = parse_report(became.report).health
    assert (True, 1, 0) == (health.healthy, health.pending_sectors, health.exit_status)
    assert ["update smartmontools to 7.4"] == [m.rpartition(": ")[2] for m in health.messages]


def test_a_poll_with_text_fails_like_one_with_json() -> None:
    banner = "smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)\n"
    missing = in_text(f"{banner}Smartctl open device: /dev/sda failed: No such device\n", 2)
    assert PollResult.NO_ANSWER == missing.result
    assert PollResult.STANDBY == in_text(f"{banner}Device is in STANDBY mode, exit(3)\n", 3).result
    assert PollResult.UNREADABLE == in_text(ENDED, 1).result
    assert PollResult.UNREADABLE == in_text("", 0).result
