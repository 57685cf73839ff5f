"""Paths of a host whose / may be mounted elsewhere for the reader, as /host in a container."""

import os
from pathlib import Path

#: As many as the kernel follows: path_resolution(7).
_MOST_LINKS = 40

#: PATH_MAX of linux/limits.h.
_LONGEST_PATH = 4096


def inside(rootfs: Path, path: str) -> Path:
    return rootfs / path.lstrip("/")


def resolve(rootfs: Path, path: str) -> str:
    """A path of the host with its symbolic links followed, never out of `rootfs`.

    What cannot be read is taken for no link: below a directory of mode 0700 the rest stays as it
    is. A ring of links is given up, not followed for ever, and so is a path that is longer than
    the kernel takes: any user may call a process mysqld and give it a command line.
    """
    if len(path) > _LONGEST_PATH:
        return path
    done: list[str] = []
    waiting = _parts(path)
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            del done[-1:]
            continue
        target = _target(rootfs.joinpath(*done, part)) if links < _MOST_LINKS else None
        if target is None:
            done.append(part)
            continue
        links += 1
        if target.startswith("/"):
            done.clear()
        waiting.extend(_parts(target))
        if len(waiting) > _LONGEST_PATH:
            break
    return "/" + "/".join(done)


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _target(path: Path) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):  # ValueError: a null byte in an option file's path
        return None
