"""Runs the generators of the man pages and the completion scripts."""

import os
import sys
from pathlib import Path

from tests.processes import run_program

PACKAGING = Path(__file__).parents[2] / "packaging"


def by(script: str, *arguments: str | Path) -> str:
    """Output of a script."""
    return run_program(
        [sys.executable, PACKAGING / script, *arguments],
        check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGING.parent)},
    ).stdout
