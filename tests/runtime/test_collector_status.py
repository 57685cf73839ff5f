"""The one place that catches what a source of data raises."""

import logging
import threading

import pytest

from exporter.runtime.collector_status import CollectorResult, CollectorStatus
from exporter.runtime.errors import (
    BugError,
    CommandError,
    NotAvailable,
    Parsed,
    ParseError,
    ReadError,
    SourceError,
)
from tests.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def status(clock: FakeClock) -> CollectorStatus:
    return CollectorStatus(clock)


def result(status: CollectorStatus, collector: str = "disk") -> CollectorResult:
    return dict(status.results())[collector]


def failing(error: Exception) -> Parsed[int]:
    raise error


def test_a_reading_gives_its_value(status: CollectorStatus) -> None:
    assert 7 == status.collect("disk", "tick", lambda: Parsed(7))
    assert result(status) == CollectorResult(success=True)


def test_what_is_not_there_is_no_failure(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    assert status.collect("pressure", "tick", lambda: failing(NotAvailable("psi=0"))) is None
    assert result(status, "pressure") == CollectorResult(success=True)
    assert [] == [record for record in caplog.records if record.levelno > logging.DEBUG]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ReadError("/proc/stat: Permission denied"), "read"),
        (PermissionError(13, "Permission denied"), "read"),
        (ParseError("stat:1: x"), "parse"),
        (CommandError("fio: not found"), "command"),
        (SourceError("?"), "source"),
    ],
)
def test_a_failure_costs_the_value_and_is_counted_by_reason(
    status: CollectorStatus, error: Exception, reason: str
) -> None:
    for _ in range(3):
        assert status.collect("disk", "tick", lambda: failing(error)) is None
    assert not result(status).success
    assert {reason: 3} == result(status).errors


def test_a_fault_keeps_the_value_and_is_counted_once_a_reading(
    status: CollectorStatus,
) -> None:
    faults = (ParseError("diskstats:1: x"), ParseError("diskstats:2: y"))
    assert 7 == status.collect("disk", "tick", lambda: Parsed(7, faults))
    assert not result(status).success
    assert {"parse": 1} == result(status).errors


@pytest.mark.parametrize("kind", [KeyError, TypeError, OverflowError, AttributeError])
def test_an_unexpected_exception_costs_only_its_collector_and_is_logged_with_a_traceback(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    """Otherwise one wrong value in a file would replace the whole page by status 500."""
    assert status.collect("disk", "tick", lambda: failing(kind("x"))) is None
    assert {"bug": 1} == result(status).errors
    (record,) = caplog.records
    assert f"collector disk: {kind.__name__}: " in record.message
    assert record.message.endswith("; please report this")
    assert record.exc_info is not None
    assert kind is record.exc_info[0]


def test_an_expected_error_is_logged_without_a_traceback(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        int("x")
    except ValueError as e:
        error = ParseError("stat:1: x")
        error.__cause__ = e
    status.collect("disk", "tick", lambda: failing(error))
    assert [None] == [record.exc_info for record in caplog.records]


def test_one_line_is_logged_when_the_state_changes(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bad = [True] * 100 + [False, False] + [True] * 100

    def read() -> Parsed[int]:
        if bad.pop():
            raise ReadError("/proc/stat: Input/output error")
        return Parsed(1)

    while bad:
        status.collect("cpu", "tick", read)
    expected = [
        ("WARNING", "collector cpu: /proc/stat: Input/output error"),
        ("INFO", "collector cpu: recovered; the last problem was: /proc/stat: Input/output error"),
        ("WARNING", "collector cpu: /proc/stat: Input/output error"),
    ]
    assert expected == [(record.levelname, record.message) for record in caplog.records]


def test_repeated_errors_are_logged_at_debug_level(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for _ in range(3):
        status.collect("cpu", "tick", lambda: failing(ReadError("x")))
    assert ["WARNING", "DEBUG", "DEBUG"] == [record.levelname for record in caplog.records]


def test_alternating_kinds_of_errors_are_logged_once_a_minute_at_most(
    status: CollectorStatus, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(error: Exception, after: float = 1.0) -> None:
        clock.advance(after)
        status.collect("cpu", "tick", lambda: failing(error))

    fail(ParseError("stat:7: x"))
    fail(ParseError("stat:812: x"), after=90.0)
    assert ["collector cpu: stat:7: x"] == caplog.messages, "line numbers do not matter"
    fail(ReadError("stat: Permission denied"))
    for _ in range(100):
        fail(ParseError("stat:7: x"), after=0.2)
        fail(ReadError("stat: Input/output error"), after=0.2)
    expected = ["stat:7: x", "stat: Permission denied"]
    assert [f"collector cpu: {each}" for each in expected] == caplog.messages
    fail(ParseError("stat:7: y"), after=60.0)
    assert "collector cpu: stat:7: y" == caplog.messages[-1]


def test_the_first_of_many_faults_is_logged_and_the_others_are_counted(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    faults = tuple(ParseError(f"diskstats:{line}: x") for line in range(1, 2001))
    status.collect("disk", "tick", lambda: Parsed(None, faults))
    assert ["collector disk: diskstats:1: x (and 1999 more)"] == caplog.messages


def test_a_collector_succeeds_if_all_its_parts_do(
    status: CollectorStatus, clock: FakeClock
) -> None:
    def slowly(seconds: float) -> Parsed[None]:
        clock.advance(seconds)
        return Parsed(None)

    status.collect("disk", "tick", lambda: slowly(0.25))
    status.collect("disk", "page", lambda: slowly(0.5))
    assert CollectorResult(success=True, seconds=0.75) == result(status)
    status.collect("disk", "tick", lambda: failing(ReadError("x")))
    assert not result(status).success
    status.collect("disk", "page", lambda: slowly(0.5))
    assert not result(status).success, "the other part still fails"
    status.collect("disk", "tick", lambda: slowly(0.25))
    assert result(status).success
    assert {"read": 1} == result(status).errors, "counts are kept"


def test_results_are_sorted_by_name(status: CollectorStatus) -> None:
    for name in ("disk", "cpu", "pressure"):
        status.collect(name, "page", lambda: Parsed(None))
    assert ["cpu", "disk", "pressure"] == [name for name, _ in status.results()]


def test_concurrent_threads_lose_no_error_count(status: CollectorStatus) -> None:
    def fail() -> None:
        for _ in range(500):
            status.collect("disk", "tick", lambda: failing(ReadError("x")))
            list(status.results())

    threads = [threading.Thread(target=fail) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {"read": 2000} == result(status).errors


def test_the_traceback_of_a_mistake_is_logged_once_although_the_collector_recovers(
    status: CollectorStatus, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        clock.advance(100.0)
        status.collect("disk", "tick", lambda: failing(KeyError("x")))
        status.collect("disk", "tick", lambda: Parsed(1))
    assert {"bug": 20} == result(status).errors
    assert 1 == sum(record.exc_info is not None for record in caplog.records)


def test_the_traceback_of_a_mistake_is_logged_although_another_fault_comes_first(
    status: CollectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    faults = (ParseError("stat:1: x"), BugError(KeyError("y"), "sda"))
    status.collect("disk", "tick", lambda: Parsed(None, faults))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert {"parse": 1, "bug": 1} == result(status).errors
