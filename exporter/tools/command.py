"""Running a program: one of the three edges that tests replace."""

import os
import subprocess
from collections.abc import Sequence
from typing import Protocol

from exporter.errors import CommandError

#: Of what a program prints; the rest is dropped.
_LARGEST_OUTPUT_CHARACTERS = 1 << 20


class Runner(Protocol):
    """Runs a program to its end and returns what it printed.

    Raises:
        CommandError: it could not be started, failed, or took longer than `timeout` seconds.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str: ...


class SystemRunner:
    """Runs programs on this machine, without a shell, in the C locale, without input."""

    def run(self, argv: Sequence[str], timeout: float) -> str:
        try:
            done = subprocess.run(  # noqa: S603  an argument list; the program is a setting
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=timeout,
                check=True,
                env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
            )
        except FileNotFoundError as e:
            raise CommandError(f"{argv[0]}: not found") from e
        except OSError as e:
            raise CommandError(f"{argv[0]}: {e.strerror}") from e
        except subprocess.SubprocessError as e:
            raise CommandError(f"{argv[0]}: {e}") from e
        return done.stdout[:_LARGEST_OUTPUT_CHARACTERS].decode("utf-8", "backslashreplace")
