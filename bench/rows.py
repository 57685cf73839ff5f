"""What the bench prints: a figure beside its bar."""

import sys

#: Name, our figure, what it stands beside (0 for nothing), unit, bar, and whether it is met.
Row = tuple[str, float, float, str, str, bool | None]


def say(text: str) -> None:
    """What is being measured just now."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
