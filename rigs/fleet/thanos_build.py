"""Builds Thanos from rigs/fleet/thanos/go.mod into the cache of the user."""

import hashlib
import os
from pathlib import Path

from rigs.go_programs import build, cache_directory, go

_MODULE = Path(__file__).parent / "thanos"
_PACKAGE = "github.com/thanos-io/thanos/cmd/thanos"
#: Thanos requires this layout of labels: with the default of its Prometheus libraries it panics.
_TAGS = "slicelabels"


def executable(module: Path = _MODULE, cache: Path | None = None) -> Path:
    """Returns the path of the program; its name contains a hash of the module files and tags."""
    content = b"".join((module / name).read_bytes() for name in ("go.mod", "go.sum"))
    digest = hashlib.sha256(content + _TAGS.encode()).hexdigest()[:12]
    return (cache or cache_directory()) / f"thanos-{digest}"


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
    argv = [go("Thanos"), "build", "-mod=readonly", "-trimpath", f"-tags={_TAGS}", "-o", str(part)]
    try:
        build("Thanos", [*argv, _PACKAGE], directory=_MODULE)
        part.replace(program)
    finally:
        part.unlink(missing_ok=True)
    return program
