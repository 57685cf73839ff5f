"""Runs other programs; a release ends with one line if one of them fails."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class ReleaseError(Exception):
    """A release that cannot be made; the text says why and what to do."""


def run(
    *argv: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Runs a program and returns its output.

    environment: added to that of this process.

    Raises:
        ReleaseError: the program is missing or fails. The text has the end of its output.
    """
    command = [str(each) for each in argv]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise ReleaseError(f"{command[0]} is missing; run: make release-packages") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ReleaseError(f"{command[0]} failed with status {done.returncode}:\n{said}")
    return done.stdout
