"""Cache below var/lab for files that take seconds to build."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).parents[3]
CACHE = PROJECT / "var" / "lab"

#: Timeout in seconds: of a slow mirror, and of the build of an image beside two machines.
_SECONDS = 800.0


def run(*argv: str | Path, cwd: Path | None = None, environment: Mapping[str, str] = {}) -> str:
    """Output of a program.

    Raises:
        RuntimeError: it failed; the message contains its output.
    """
    done = subprocess.run(
        list(map(str, argv)),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", **environment},
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{argv[0]}: exit status {done.returncode}: {said}")
    return done.stdout


def digest(sources: Iterable[Path], *more: str) -> str:
    """Cache key of these files and strings."""
    found = hashlib.sha256()
    for path in sorted(sources):
        found.update(path.read_bytes())
    found.update("\0".join(more).encode())
    return found.hexdigest()[:16]


def made(name: str, make: Callable[[Path], None]) -> Path:
    """Returns a cached file or directory; `make` creates it if it is missing.

    An incomplete one is never used. Older versions are removed. Of several processes, one makes it.
    """
    place, locks = CACHE / name, CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            new = CACHE / f"{name}.{os.getpid()}.new"
            make(new)
            _sweep(place)
            os.replace(new, place)
    return place


def _sweep(place: Path) -> None:
    """Removes older versions, which differ in the digest: each takes 200 MB."""
    for old in CACHE.glob(f"{place.name.rpartition('-')[0]}-*"):
        if old.suffix == ".new":
            continue
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
