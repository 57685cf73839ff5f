"""What packaging's scripts write: the man page and the completion, as they are for this code."""

import os
import subprocess
import sys
from pathlib import Path

PACKAGING = Path(__file__).parents[2] / "packaging"


def by(script: str) -> str:
    """What a script prints."""
    return subprocess.run(
        [sys.executable, PACKAGING / script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGING.parent)},
    ).stdout
