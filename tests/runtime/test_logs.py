"""Each log record becomes one line of logfmt or JSON."""

import contextlib
import io
import json
import logging
import os
import re
import shlex
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.logs import BoundedHandler, LineFormatter, UnexpectedErrors, is_journal
from tests.fakes import FakeClock


def record(message: str, level: int = logging.INFO) -> logging.LogRecord:
    log_record = logging.LogRecord("exporter.runtime.state", level, "", 0, message, None, None)
    log_record.created, log_record.msecs = 1_700_000_000.25, 250
    return log_record


def test_a_line_has_time_level_source_and_message() -> None:
    line = LineFormatter("logfmt", journal=False).format(record("it works"))
    expected = 'ts=2023-11-14T22:13:20.250Z level=info source=state msg="it works"'
    assert expected == line


def test_under_the_journal_a_priority_replaces_the_time() -> None:
    """The journal records the time itself: sd-daemon(3)."""
    formatter = LineFormatter("logfmt", journal=True)
    expected = {
        logging.DEBUG: "<7>level=debug",
        logging.INFO: "<6>level=info",
        logging.WARNING: "<4>level=warning",
        logging.ERROR: "<3>level=error",
    }
    for level, begin in expected.items():
        assert formatter.format(record("x", level)).startswith(f"{begin} source=")


def test_a_redirected_stream_is_not_the_journal_that_the_environment_names() -> None:
    with tempfile.TemporaryFile("w") as file, tempfile.TemporaryFile("w") as other:
        status = os.fstat(file.fileno())
        variable = f"{status.st_dev}:{status.st_ino}"
        assert is_journal(file, variable)
        assert not is_journal(other, variable)
        assert not any(is_journal(file, wrong) for wrong in ("", "x", "0:0"))
    assert not is_journal(io.StringIO(), variable)


@pytest.mark.parametrize("layout", ["logfmt", "json"])
@pytest.mark.parametrize("journal", [False, True])
@given(message=st.text())
def test_any_message_becomes_one_line(layout: str, journal: bool, message: str) -> None:
    line = LineFormatter(layout, journal=journal).format(record(message))
    assert [line] == line.splitlines()
    assert line.isprintable()
    line.encode()


@given(st.text())
def test_any_message_can_be_parsed_back(message: str) -> None:
    as_json = json.loads(LineFormatter("json", journal=False).format(record(message)))
    assert message == as_json["msg"]
    line = LineFormatter("logfmt", journal=False).format(record(message))
    text = line.partition(" msg=")[2]
    assert message == (json.loads(text) if text.startswith('"') else text)


def test_a_plain_word_has_no_quotes() -> None:
    line = LineFormatter("logfmt", journal=False).format(record("stopping"))
    assert line.endswith(" msg=stopping")
    assert 4 == len(shlex.split(line))


def test_a_traceback_is_part_of_the_line() -> None:
    failed = record("a step failed", logging.ERROR)
    with pytest.raises(RuntimeError) as raised:
        _step()
    failed.exc_info = raised.type, raised.value, raised.tb
    line = LineFormatter("json", journal=False).format(failed)
    assert [line] == line.splitlines()
    assert re.search("RuntimeError: a bug$", json.loads(line)["trace"])


def _step() -> None:
    raise RuntimeError("a bug")


class _BlockedPipe:
    """A pipe that is full until it is emptied, and a handler that writes log lines to it."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._stream = os.fdopen(writing, "w")
        self._handler = BoundedHandler(self._stream)
        self._handler.setFormatter(LineFormatter("logfmt", journal=True))

    def log(self, message: str) -> None:
        self._handler.handle(record(message))

    def fill(self) -> None:
        descriptor = self._stream.fileno()
        os.set_blocking(descriptor, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(descriptor, b"x" * 4096)
        os.set_blocking(descriptor, True)

    def emptied(self) -> str:
        """Empties the pipe, and returns its text without the filling."""
        text = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._reading, 1 << 16):
                text += part
        return text.decode().strip("x")

    def close(self) -> None:
        os.close(self._reading)
        self._stream.close()


@pytest.fixture
def pipe() -> Iterator[_BlockedPipe]:
    made = _BlockedPipe()
    yield made
    made.close()


def test_a_blocked_reader_does_not_block_the_process(pipe: _BlockedPipe) -> None:
    """Before, the second line waited for ever."""
    pipe.log("first")
    assert "<6>level=info source=state msg=first\n" == pipe.emptied()
    pipe.fill()
    for number in range(100):
        pipe.log(f"dropped {number}")
    assert "" == pipe.emptied()
    pipe.log("later")
    assert (
        "<4>level=warning source=logs"
        ' msg="standard error was blocked: 100 log lines were dropped"\n'
        "<6>level=info source=state msg=later\n"
    ) == pipe.emptied()
    pipe.log("last")
    assert "<6>level=info source=state msg=last\n" == pipe.emptied()


def test_a_line_longer_than_the_pipe_is_cut_and_the_next_one_is_whole(pipe: _BlockedPipe) -> None:
    pipe.log("y" * (1 << 20))
    assert set("y") < set(pipe.emptied())
    pipe.log("later")
    (end, report, later, _) = pipe.emptied().split("\n")
    assert ("", "<6>level=info source=state msg=later") == (end, later)
    assert "1 log lines were dropped" in report


def test_a_reader_that_has_ended_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        handler = BoundedHandler(stream)
        handler.emit(record("nobody reads this"))


def test_a_closed_stream_is_no_error() -> None:
    """A thread may log while the process ends and closes its streams."""
    stream = io.StringIO()
    handler = BoundedHandler(stream)
    stream.close()
    handler.emit(record("late"))


def test_an_unexpected_exception_is_logged_with_its_traceback_once_and_then_once_an_hour(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    errors = UnexpectedErrors(logging.getLogger("exporter.test"), clock.monotonic)

    def fail(divisor: int) -> None:
        try:
            1 / divisor if divisor == 0 else int("x")
        except ValueError as e:
            errors.record(e, "a step failed")
        except ArithmeticError as e:
            errors.record(e, "a step failed")

    for _ in range(5400):
        fail(0)
        clock.advance(1.0)
    assert [True, False] == [record.exc_info is not None for record in caplog.records]
    assert "a step failed again: ZeroDivisionError: division by zero" == caplog.messages[1]
    fail(1)
    assert caplog.records[2].exc_info is not None, "another mistake has another traceback"
