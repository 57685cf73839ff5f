"""Fake outputs: terminals and others."""

import io
import re


class Screen(io.StringIO):
    """What is written as a terminal gets it."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def without_colours(text: str) -> str:
    """What can be seen of it; an escape sequence that sets no colour stays, and shows."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
