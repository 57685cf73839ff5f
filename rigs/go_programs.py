"""Builds programs of other projects from their Go modules, into the cache of the user."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from stack.programs import StackError

#: Where Go's own packages install it; it is often not in PATH.
_USUAL_GO = "/usr/local/go/bin/go"
#: Maximum duration of a build in seconds. Prometheus takes ten minutes on two idle cores.
BUILD_SECONDS = 3600.0


def cache_directory() -> Path:
    """Returns the directory of the built programs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ssd-exporter"


def go(name: str) -> str:
    """Returns the path of Go.

    name: the program that needs it, for the message.

    Raises:
        StackError: Go is not installed.
    """
    found = shutil.which("go") or shutil.which(_USUAL_GO)
    if found is None:
        raise StackError(f"{name} cannot be built: go is not in PATH. Install Go 1.26 or later")
    return found


def installed(package: str, version: str) -> Path:
    """Returns the path of a program of a Go module; builds it if the cache does not have it.

    package: the import path of the program, such as ``example.org/module/cmd/program``.
    version: the version of the module, such as ``v1.2.3``.

    Raises:
        StackError: Go is missing, or the build failed.
    """
    name = package.rpartition("/")[2]
    directory = cache_directory() / f"{name}-{version}"
    program = directory / name
    if not program.exists():
        build(
            name,
            [go(name), "install", "-trimpath", f"{package}@{version}"],
            environment={"GOBIN": str(directory)},
        )
    return program


def build(
    name: str,
    argv: list[str],
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Runs Go.

    name: the program that is built, for the message.
    directory: the working directory; None means any.
    environment: variables in addition to those of this process.

    Raises:
        StackError: the build failed or took more than an hour.
    """
    try:
        done = subprocess.run(
            argv,
            cwd=directory,
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
    except subprocess.TimeoutExpired as e:
        raise StackError(f"{name} was not built within {BUILD_SECONDS:.0f} s") from e
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise StackError(f"{name} cannot be built: {last[:500]}")
