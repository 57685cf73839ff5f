"""Controls the terminal while ``top`` runs: keys, size, signals, and the restored state at the end.

The screen is drawn on the alternate screen of the terminal (xterm's private mode 1049), so the text
of the shell is unchanged afterwards. The terminal is restored after an exception, SIGTERM, SIGHUP
and SIGINT, and while Ctrl-Z stops the program. It cannot be restored after SIGKILL.
"""

import contextlib
import os
import select
import shutil
import signal
import termios
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from exporter.runtime.threads import WakePipe
from exporter.top.view import Key

#: The escape sequences of keys (ECMA-48, xterm).
_SEQUENCES = {
    "\x1b[A": Key.UP,
    "\x1bOA": Key.UP,
    "\x1b[B": Key.DOWN,
    "\x1bOB": Key.DOWN,
    "\x1b[5~": Key.PAGE_UP,
    "\x1b[6~": Key.PAGE_DOWN,
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x1b": Key.ESCAPE,
    "\x7f": Key.BACKSPACE,
    "\b": Key.BACKSPACE,
}


_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"

_ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)

#: The maximum number of bytes that are read at once. A pasted text is longer than any key.
_MAX_KEY_BYTES = 1024


class Screen:
    """Context manager that controls the terminal. Use it on the main thread.

    keyboard, display: the file descriptors of the terminal.

    ended_by: the number of the signal that ended the program, or 0.
    """

    def __init__(self, keyboard: int, display: int) -> None:
        self._keyboard = keyboard
        self._display = display
        self._wake = WakePipe()
        self._attributes: list[Any] = []
        self._previous_handlers: dict[int, Any] = {}
        self._is_closed = self._has_changed = False
        self.ended_by = 0

    @property
    def has_ended(self) -> bool:
        """True after a signal that ends the program, or if the terminal was closed."""
        return bool(self.ended_by) or self._is_closed

    def size(self) -> tuple[int, int]:
        """Returns the columns and the lines of the terminal."""
        try:
            columns, lines = os.get_terminal_size(self._display)
        except OSError:
            return shutil.get_terminal_size()
        return columns or 80, lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Replaces the text on the screen. A line must not be wider than the terminal."""
        text = "\x1b[K\r\n".join(lines)
        self._write(f"\x1b[H{text}\x1b[K\x1b[J")

    def keys(self, seconds: float) -> Iterator[str | Key]:
        """Waits for keys, a signal or a new size, at most `seconds`, and yields the keys."""
        poll = select.poll()
        poll.register(self._wake.reading, select.POLLIN)
        poll.register(self._keyboard, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(max(seconds, 0.0) * 1000)}
        if self._wake.reading in ready:
            self._wake.clear()
        if self._has_changed:
            self._has_changed = False
            self._write("\x1b[2J")
        if self._keyboard in ready:
            yield from self._pressed()

    def __enter__(self) -> "Screen":  # noqa: PYI034  Python 3.10 has no typing.Self
        self._wake.wake_on_signals()
        for number in (*_ENDS, signal.SIGWINCH, signal.SIGTSTP):
            self._previous_handlers[number] = signal.signal(number, self._handle)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._wake.close()

    def _pressed(self) -> Iterator[str | Key]:
        try:
            data = os.read(self._keyboard, _MAX_KEY_BYTES)
        except OSError:
            data = b""
        if not data:
            self._is_closed = True
            return
        yield from parse_keys(data.decode("utf-8", "replace"))

    def _take(self) -> None:
        self._attributes = termios.tcgetattr(self._keyboard)
        attributes = termios.tcgetattr(self._keyboard)
        # Keys arrive at once and are not shown. Signals of the terminal, such as Ctrl-C, remain.
        attributes[3] &= ~(termios.ICANON | termios.ECHO)
        attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._keyboard, termios.TCSADRAIN, attributes)
        self._write(_ENTER)

    def _restore(self) -> None:
        self._write(_LEAVE)
        # The terminal may be gone, as after SIGHUP.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._attributes)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self._display, data) :]
        except OSError:
            self._is_closed = True

    def _handle(self, number: int, _: FrameType | None) -> None:
        if number in _ENDS:
            self.ended_by = self.ended_by or number
        elif number == signal.SIGTSTP:
            self._stop()
        else:
            self._has_changed = True

    def _stop(self) -> None:
        """Stops the process with a usable terminal, and takes the terminal again afterwards."""
        self._restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        # The process continues here after `fg`.
        signal.signal(signal.SIGTSTP, self._handle)
        self._take()
        self._has_changed = True


def parse_keys(text: str) -> Iterator[str | Key]:
    """Yields the keys of the text that a terminal sent. Unknown escape sequences are skipped."""
    while text:
        found = next(
            (s for s in sorted(_SEQUENCES, key=len, reverse=True) if text.startswith(s)), ""
        )
        if found == "\x1b" and len(text) > 1 and text[1] in "[O":
            end = next((i for i, c in enumerate(text[2:], 3) if "@" <= c <= "~"), len(text))
            text = text[end:]
            continue
        if found:
            yield _SEQUENCES[found]
            text = text[len(found) :]
        else:
            yield text[0]
            text = text[1:]
