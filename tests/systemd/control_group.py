"""A control group (cgroup v2) for one machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Unavailable(Exception):
    """This host cannot boot a machine; the message contains the reason."""


@contextmanager
def own_group(name: str) -> Iterator[Path]:
    """A separate control group: machines with a common one would stop each other's units."""
    made = _where_we_are() / name
    try:
        made.mkdir()
    except OSError as e:
        raise Unavailable(f"no control group can be made: {e}") from e
    try:
        yield made
    finally:
        _remove(made)


def _where_we_are() -> Path:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = [Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"]
    if not places:
        raise Unavailable("there is no cgroup v2")
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    its = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
    return places[0] / its.lstrip("/")


def _remove(group: Path) -> None:
    """Removes groups of killed processes, as soon as the kernel permits it."""
    until = time.monotonic() + 5
    for each in [
        *sorted((each for each in group.rglob("*") if each.is_dir()), reverse=True),
        group,
    ]:
        while each.is_dir() and time.monotonic() < until:
            try:
                each.rmdir()
            except OSError:
                time.sleep(0.02)
