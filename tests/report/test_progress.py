"""The progress display."""

import contextlib
import errno
import io
import os
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.report.progress import Progress
from tests.report import reports
from tests.report.screens import Screen, without_colours


def test_without_a_terminal_there_is_a_line_for_each_tenth() -> None:
    out = io.StringIO()
    with Progress(out) as progress:
        for step in range(1001):
            progress.show(f"{step} MB written", step / 1000)
    lines = out.getvalue().splitlines()
    assert 11 == len(lines)
    assert "  0 %  0 MB written" == lines[0]
    assert "100 %  1000 MB written" == lines[-1]


def test_without_a_known_share_there_is_a_line_for_each_change_of_words() -> None:
    out = io.StringIO()
    with Progress(out) as progress:
        for step in range(100):
            where = "in the cache" if step < 50 else "after it"
            progress.show(f"{step / 10:.1f} GB written, {where}")
    expected = ["0.0 GB written, in the cache", "5.0 GB written, after it"]
    assert expected == out.getvalue().splitlines()


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    with Progress(screen) as progress:
        progress.show("measuring", 0.42)
    assert " 42 %  measuring\n" == screen.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_terminal_shows_a_bar_that_is_gone_at_the_end(encoding: str) -> None:
    screen = Screen(encoding)
    with Progress(screen) as progress:
        progress.show("filling the file", None)
        progress.show("measuring", 0.42)
        assert "42 %" in screen.getvalue()
        assert "measuring" in screen.getvalue()
    cleared = "\x1b[2K" if encoding == "utf-8" else f"\r{' ' * 30}"
    assert cleared in screen.getvalue().rpartition("measuring")[2]


class Closed(Screen):
    """A terminal that is closed during a measurement."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_closed_terminal_does_not_stop_the_measurement(encoding: str) -> None:
    with Progress(Closed(encoding)) as progress:
        progress.show("measuring", 0.1)
        progress.show("measuring", 0.2)


def test_a_closed_pipe_does_not_stop_the_measurement() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as out:
        with Progress(out) as progress:
            progress.show("measuring", 0.1)
            progress.show("measuring", 0.2)
        with contextlib.suppress(BrokenPipeError):
            out.close()


def test_the_bar_is_gone_when_the_measurement_fails() -> None:
    screen = Screen("ascii")
    with contextlib.suppress(KeyboardInterrupt), Progress(screen) as progress:
        progress.show("measuring", 0.42)
        raise KeyboardInterrupt
    assert screen.getvalue().endswith(" \r")


def test_it_starts_no_thread_and_redirects_no_output() -> None:
    threads, outputs = set(threading.enumerate()), (sys.stdout, sys.stderr)
    with Progress(Screen()) as progress:
        progress.show("measuring", 0.1)
        assert threads >= set(threading.enumerate())  # those of earlier tests may end
        assert outputs == (sys.stdout, sys.stderr)


def test_nothing_shown_writes_nothing() -> None:
    for out in (io.StringIO(), Screen(), Screen("ascii")):
        with Progress(out):
            pass
        assert "" == out.getvalue()


@given(st.lists(st.tuples(reports.words, st.one_of(st.none(), st.floats())), max_size=8))
def test_any_words_and_any_share_are_shown(said: list[tuple[str, float | None]]) -> None:
    for out in (io.StringIO(), Screen("ascii")):
        with Progress(out) as progress:
            for words, done in said:
                progress.show(words, done)
        shown = out.getvalue().replace("\r", "").replace("\n", "")
        assert shown == "" or shown.isprintable()
    screen = Screen()
    with Progress(screen) as progress:
        for words, done in said:
            progress.show(words, done)
    assert "\x1b]" not in without_colours(screen.getvalue())
