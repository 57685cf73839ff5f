"""What a command that waits shows to whoever waits for it."""

from typing import TextIO


class Display:
    """One line that changes on a terminal; elsewhere a plain line for each change."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._width = 0
        self._last = ""

    def progress(self, words: str) -> None:
        if self._is_terminal:
            self._out.write("\r" + words.ljust(self._width))
            self._width = len(words)
        elif words.partition(",")[0] != self._last:
            self._last = words.partition(",")[0]
            self._out.write(f"{words}\n")
        self._out.flush()

    def line(self, words: str) -> None:
        if self._width:
            self._out.write("\n")
            self._width = 0
        # Drives say what they like; a terminal obeys what it is told.
        self._out.write("".join(c if c.isprintable() else repr(c)[1:-1] for c in words) + "\n")
        self._out.flush()


def duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 2880 else f"{minutes / 1440:.0f} days"
