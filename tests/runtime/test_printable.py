"""No text from a drive or a file controls the terminal of the reader."""

import io
import sys
from typing import TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.printable import (
    PrintableStream,
    printable,
    printable_output,
    with_control_characters,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Samsung SSD 980 PRO, 1 TB", "Samsung SSD 980 PRO, 1 TB"),
        ("Größe 50 % µs 日本", "Größe 50 % µs 日本"),
        (r"C:\x1b", r"C:\x1b"),
        ("\x1b[31mred\n", r"\x1b[31mred\n"),
        ("\x00\x07\x7f", r"\x00\x07\x7f"),
        ("\x85\x9b", r"\x85\x9b"),
        ("\u200e\u202a\u202e\u2066\u2069\u061c", r"\u200e\u202a\u202e\u2066\u2069\u061c"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800", r"\ud800"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_unprintable_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert shown == printable(text)


def test_a_kept_character_stays() -> None:
    assert "a\nb\\t" == printable("a\nb\t", keep="\n")


@given(st.text(st.characters()))
def test_the_result_is_printable_and_does_not_change_again(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert shown == printable(shown)


def test_a_stream_writes_escapes_and_keeps_lines_and_tabs() -> None:
    original = io.StringIO()
    stream = PrintableStream(original)
    assert 9 == stream.write("a\tb\n\x1b[1m\r")
    assert "a\tb\n\\x1b[1m\\r" == original.getvalue()
    assert stream.getvalue() == original.getvalue()


def test_output_that_moves_the_cursor_uses_the_original_stream() -> None:
    original = io.StringIO()
    wrapped = cast("TextIO", PrintableStream(original))
    assert original is with_control_characters(wrapped)
    assert original is with_control_characters(original)


def test_standard_streams_are_restored(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with printable_output():
        sys.stdout.write("\x9b1\n")
        sys.stderr.write("\x1b2\n")
    assert before == (sys.stdout, sys.stderr)
    assert ("\\x9b1\n", "\\x1b2\n") == capsys.readouterr()
