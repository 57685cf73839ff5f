"""Rows of the result table."""

import sys

#: Name, result, reference value (0: none), unit, limit as text, and whether the result is within
#: the limit (None: no limit).
Row = tuple[str, float, float, str, str, bool | None]


def show_progress(text: str) -> None:
    """Prints what is being measured to stderr, on one line if it is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
