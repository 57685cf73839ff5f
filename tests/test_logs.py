"""Each log record becomes one line of logfmt or JSON."""

import json
import logging
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.logs import LineFormatter


def record(message: str, level: int = logging.INFO) -> logging.LogRecord:
    log_record = logging.LogRecord("exporter.state", level, "", 0, message, None, None)
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
