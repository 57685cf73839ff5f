"""What takes seconds to make and stays the same is made once, below var/lab."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).parents[3]
CACHE = PROJECT / "var" / "lab"

#: A mirror that hangs is not waited for longer.
_SECONDS = 300.0


def run(*argv: str | Path, cwd: Path | None = None, environment: Mapping[str, str] = {}) -> str:
    """What a program prints.

    Raises:
        RuntimeError: it failed; what it said is in the text.
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
    """A name for what is made of these files and words: another one where any has changed."""
    found = hashlib.sha256()
    for path in sorted(sources):
        found.update(path.read_bytes())
    found.update("\0".join(more).encode())
    return found.hexdigest()[:16]


def made(name: str, make: Callable[[Path], None]) -> Path:
    """A file or directory of the cache, by `make` where it is not there yet.

    One that is half made is never taken for a whole one; what it takes the place of goes.
    """
    place = CACHE / name
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        new = CACHE / f"{name}.{os.getpid()}.new"
        make(new)
        _sweep(place)
        os.replace(new, place)
    return place


def _sweep(place: Path) -> None:
    """Older ones of a kind, of which the digest alone differs: each takes 200 MB."""
    for old in CACHE.glob(f"{place.name.rpartition('-')[0]}-*"):
        if old.suffix == ".new":
            continue
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
