"""Runs the generators of the man page and the completion script."""

import os
import sys
from pathlib import Path

from tests.processes import run_program

PACKAGING = Path(__file__).parents[2] / "packaging"


def by(script: str) -> str:
    """Output of a script."""
    return run_program(
        [sys.executable, PACKAGING / script],
        check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGING.parent)},
    ).stdout
