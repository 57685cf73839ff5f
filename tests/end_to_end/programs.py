"""Programs that a test runs for real: where one is missing the test cannot be run."""

import shutil

from tests.required import lacking


def need(*programs: str) -> None:
    """Skip the test, with the reason, where a program is missing; in CI that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        lacking(f"not installed: {', '.join(missing)}")
