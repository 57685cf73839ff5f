"""Fake outputs: terminals and others."""

import io
import re


class Screen(io.StringIO):
    """Returns the written text as the terminal receives it."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def without_colours(text: str) -> str:
    """Returns the visible text: without colours, but with all other escape sequences."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
