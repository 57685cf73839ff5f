"""A control group (cgroup v2) for one machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.duration import PATIENCE_SECONDS


class Unavailable(Exception):
    """This host cannot boot a machine; the message contains the reason."""


@contextmanager
def own_group(name: str) -> Iterator[Path]:
    """Create a control group. Machines in one group would stop each other's units."""
    group = _own_cgroup() / name
    try:
        group.mkdir()
    except OSError as e:
        raise Unavailable(f"cannot create a control group: {e}") from e
    try:
        yield group
    finally:
        _remove(group)


def _own_cgroup() -> Path:
    """The directory of the control group of this process."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = [Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"]
    if not places:
        raise Unavailable("cgroup v2 is not mounted")
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    path = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
    return places[0] / path.lstrip("/")


def _remove(group: Path) -> None:
    """Remove a group and its children, as soon as their killed processes are gone."""
    until = time.monotonic() + PATIENCE_SECONDS
    children = sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True)
    for directory in [*children, group]:
        while directory.is_dir() and time.monotonic() < until:
            try:
                directory.rmdir()
            except OSError:
                time.sleep(0.02)
