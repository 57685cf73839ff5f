"""What a test needs of its machine: in CI it is there, elsewhere its lack skips the test."""

import os
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """Skip the test, with the reason; in CI, where nothing may be left out, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"required in CI: {reason}")
    pytest.skip(reason)
