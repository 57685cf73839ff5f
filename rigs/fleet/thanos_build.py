"""Builds Thanos from rigs/fleet/thanos/go.mod into the cache of the user."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from stack.programs import StackError

_MODULE = Path(__file__).parent / "thanos"
_PACKAGE = "github.com/thanos-io/thanos/cmd/thanos"
#: Thanos requires this layout of labels: with the default of its Prometheus libraries it panics.
_TAGS = "slicelabels"
#: Where Go's own packages install it; it is often not in PATH.
_USUAL_GO = "/usr/local/go/bin/go"
#: Maximum duration of a build in seconds. It takes two minutes on two idle cores.
_BUILD_SECONDS = 3600.0


def cache_directory() -> Path:
    """Returns the directory of the built programs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ssd-exporter"


def executable(module: Path = _MODULE, cache: Path | None = None) -> Path:
    """Returns the path of the program; its name contains a hash of the module files and tags."""
    content = b"".join((module / name).read_bytes() for name in ("go.mod", "go.sum"))
    digest = hashlib.sha256(content + _TAGS.encode()).hexdigest()[:12]
    return (cache or cache_directory()) / f"thanos-{digest}"


def go() -> str:
    """Returns the path of Go.

    Raises:
        StackError: Go is not installed.
    """
    found = shutil.which("go") or shutil.which(_USUAL_GO)
    if found is None:
        raise StackError(
            "Thanos cannot be built: go is not in PATH. Install Go 1.25 or later, or run only"
            " Prometheus with ARGS=--engine=prometheus"
        )
    return found


def built() -> Path:
    """Returns the path of the program; builds it if the cache does not have it.

    Raises:
        StackError: Go is missing, or the build failed.
    """
    program = executable()
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    part = program.with_name(f"{program.name}.{os.getpid()}.part")
    argv = [go(), "build", "-mod=readonly", "-trimpath", f"-tags={_TAGS}", "-o", str(part)]
    argv.append(_PACKAGE)
    try:
        done = subprocess.run(
            argv,
            cwd=_MODULE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=_BUILD_SECONDS,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise StackError(f"Thanos cannot be built: {last[:500]}")
        part.replace(program)
    except subprocess.TimeoutExpired as e:
        raise StackError(f"Thanos was not built within {_BUILD_SECONDS:.0f} s") from e
    finally:
        part.unlink(missing_ok=True)
    return program
