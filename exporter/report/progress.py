"""How far a measurement is, for who waits for it."""

import contextlib
import math
import os
import re
import shutil
from types import TracebackType
from typing import Protocol, TextIO

from exporter.report.formatting import columns, encodable, has_unicode, printable

_BAR = 24

#: Terminals that cannot take back what they show, as those within editors.
_DUMB = frozenset({"dumb", "unknown"})

_NUMBERS = re.compile(r"[\d.,:]+")


class _Shown(Protocol):
    def show(self, words: str, done: float | None) -> None: ...

    def close(self) -> None: ...


class Progress(contextlib.AbstractContextManager["Progress"]):
    """A bar on a terminal, gone at the end; elsewhere a line now and then.

    It starts no thread: what is shown changes when `show` is called, and then only.
    """

    def __init__(self, out: TextIO) -> None:
        self._shown = _shown(out)

    def show(self, words: str, done: float | None = None) -> None:
        """Say what goes on. done: a share of the whole, from 0 to 1; None if nobody knows."""
        if done is not None:
            done = min(max(done, 0.0), 1.0) if math.isfinite(done) else None
        # A terminal that was closed (EIO) or a reader that left costs no measurement.
        with contextlib.suppress(OSError):
            self._shown.show(printable(words), done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._shown.close()


def _shown(out: TextIO) -> _Shown:
    if not out.isatty() or os.environ.get("TERM") in _DUMB:
        return _Lines(out)
    if has_unicode(out):
        with contextlib.suppress(ImportError):
            from exporter.report.rich_output import ColouredBar  # noqa: PLC0415  rich is an extra

            return ColouredBar(out)
    return _Bar(out)


class _Lines:
    """A line for each tenth, or where nobody knows the whole, for each change but of numbers."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last: int | str | None = None

    def show(self, words: str, done: float | None) -> None:
        step = _NUMBERS.sub("", words) if done is None else int(done * 10 + 1e-9)
        if step == self._last:
            return
        self._last = step
        share = "" if done is None else f"{done * 100:3.0f} %  "
        self._out.write(encodable(f"{share}{words}\n", self._out))
        self._out.flush()

    def close(self) -> None:
        pass


class _Bar:
    """One line that is written over."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._width = 0

    def show(self, words: str, done: float | None) -> None:
        if done is not None:
            filled = round(done * _BAR)
            words = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done * 100:3.0f} %  {words}"
        room = shutil.get_terminal_size().columns - 1
        while columns(words) > room:
            words = words[:-1]
        words = encodable(words, self._out)
        self._out.write(f"\r{words}{' ' * (self._width - columns(words))}")
        self._out.flush()
        self._width = columns(words)

    def close(self) -> None:
        if self._width:
            self._out.write(f"\r{' ' * self._width}\r")
            self._out.flush()
            self._width = 0
