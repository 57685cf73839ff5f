"""Checks that a program which a test runs is installed."""

import shutil

from tests.required import lacking


def need(*programs: str) -> None:
    """Skips the test with a reason if a program is missing; fails it in CI."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        lacking(f"not installed: {', '.join(missing)}")
