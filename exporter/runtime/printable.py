"""Makes text from drives, files and other users safe for terminals and pages.

A model name, a mount point or an option of mysqld can contain an escape sequence of a terminal, or
characters that change the direction of the text. Such a text must not act on the terminal of the
person who reads it.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast


def printable(text: str, *, keep: str = "") -> str:
    r"""Returns the text with every unprintable character written as an escape of Python.

    Examples are ``\x1b`` for ESC, ``\n`` for a line break and ``\u202e`` for the mark that reverses
    the direction. Unprintable are all characters that `str.isprintable` rejects: control characters
    (C0, DEL, C1), format characters such as the marks of direction, line and paragraph separators,
    all spaces but U+0020, surrogates, and code points without a character. A backslash stays as it
    is.

    keep: characters that stay as they are, because the caller escapes them.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


class PrintableStream:
    """A text stream for people: it writes unprintable characters as escapes.

    Line breaks and tabs stay as they are. All other attributes are those of the original stream.

    original: the stream that is written to.
    """

    def __init__(self, original: TextIO) -> None:
        self.original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def write(self, text: str) -> int:
        """Write the text; returns the number of its characters."""
        self.original.write(printable(text, keep="\n\t"))
        return len(text)


def with_control_characters(stream: TextIO) -> TextIO:
    """Returns the original stream, for output that moves the cursor or sets colours.

    Text from other sources must be passed through `printable` before it is written to this stream.
    """
    return stream.original if isinstance(stream, PrintableStream) else stream


@contextlib.contextmanager
def printable_output() -> Iterator[None]:
    """Context manager in which standard output and standard error are `PrintableStream`.

    If one of them was closed at the start of the process, its text is lost.
    """
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as opened:

        def wrapped(stream: TextIO | None) -> TextIO:
            # Python's stream is None if its descriptor was closed, as with `2>&-` in a shell.
            original = stream or opened.enter_context(Path(os.devnull).open("w"))
            return cast("TextIO", PrintableStream(original))

        sys.stdout, sys.stderr = map(wrapped, before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before
