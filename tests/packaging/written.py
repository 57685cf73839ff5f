"""Runs the generators of the man page and the completion script."""

import os
import subprocess
import sys
from pathlib import Path

PACKAGING = Path(__file__).parents[2] / "packaging"


def by(script: str) -> str:
    """Output of a script."""
    return subprocess.run(
        [sys.executable, PACKAGING / script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGING.parent)},
    ).stdout
