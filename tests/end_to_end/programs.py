"""Programs that a test runs for real: where one is missing the test cannot be run."""

import os
import shutil

import pytest


def need(*programs: str) -> None:
    """Skip the test, with the reason, where a program is missing; in CI that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return
    reason = f"not installed: {', '.join(missing)}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"required in CI, {reason}")
    pytest.skip(reason)
