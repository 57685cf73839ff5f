"""Requirements of tests on the machine: required in CI, else optional."""

import os
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """Skips the test or the module with the reason. In CI, where none may be skipped, it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"required in CI: {reason}")
    pytest.skip(reason, allow_module_level=True)
