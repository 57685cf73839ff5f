"""Shows the progress of a measurement while it runs."""

import contextlib
import math
import os
import re
import shutil
from types import TracebackType
from typing import Protocol, TextIO

from exporter.report.formatting import columns, encodable, has_unicode
from exporter.runtime.printable import printable, with_control_characters

#: Width of the bar, in characters.
_BAR = 24

#: Values of TERM for terminals that cannot overwrite a line, such as those in editors.
_DUMB = frozenset({"dumb", "unknown"})

_NUMBERS = re.compile(r"[\d.,:]+")


class _Display(Protocol):
    def show(self, words: str, done: float | None) -> None: ...

    def close(self) -> None: ...


class Progress(contextlib.AbstractContextManager["Progress"]):
    """Context manager that shows the progress of a measurement.

    On a terminal it shows a bar, and removes it at the end. On another output it prints a line at
    each tenth of the measurement. It starts no thread: the display changes only in `show`.
    """

    def __init__(self, out: TextIO) -> None:
        self._shown = _shown(out)

    def show(self, words: str, done: float | None = None) -> None:
        """Shows the current step of the measurement.

        words: the description of the step.
        done: the finished share of the measurement, from 0 to 1; None means unknown.
        """
        if done is not None:
            done = min(max(done, 0.0), 1.0) if math.isfinite(done) else None
        # A closed terminal (EIO) or pipe must not stop the measurement.
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


def _shown(out: TextIO) -> _Display:
    if not out.isatty() or os.environ.get("TERM") in _DUMB:
        return _Lines(out)
    if has_unicode(out):
        with contextlib.suppress(ImportError):
            from exporter.report.rich_output import ColouredBar  # noqa: PLC0415  rich is an extra

            return ColouredBar(out)
    return _Bar(out)


class _Lines:
    """Prints a line at each tenth of the measurement.

    If the finished share is unknown, it prints a line when the description changes in more than its
    numbers.
    """

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
    """Shows a bar in one line of a terminal, and overwrites the line at each change."""

    def __init__(self, out: TextIO) -> None:
        self._out = with_control_characters(out)
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
