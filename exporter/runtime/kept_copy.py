"""Sets an unusable file of the state directory aside, under a name with a number.

`history.sqlite` becomes `history.sqlite.kept-1`, the next one `history.sqlite.kept-2`. A kept copy
is never overwritten. The number of copies of a file is limited, so that a file that is damaged
again and again does not fill the disk: beyond the limit nothing is set aside, and the file stays.
"""

import contextlib
import errno
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

log = logging.getLogger(__name__)

#: Maximum number of kept copies of one file. A file is damaged rarely, and each copy of the wear
#: history of 1,000 drives takes 64 MB.
MAX_COPIES = 8

#: The end of the name of a copy: a number, or the time at which an earlier version made it.
_END = re.compile(r"\.kept-(\d{1,9}|\d{8}T\d{6}Z)")


#: The files of the state directory that may be set aside.
FILES = ("history.sqlite", "probe-budget.json", "state.json")


class KeptCopies:
    """The number of kept copies in a state directory, for the metrics page and the log.

    directory: the state directory; None means that there is none.
    counts: the number of copies, keyed by the name of the file; empty before the first `refresh`.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self.counts: Mapping[str, int] = {}

    def refresh(self) -> None:
        """Counts the copies. If there are any, the first call logs them.

        This may block on a disk. If the directory cannot be read, the last numbers are kept.
        """
        if self._directory is None:
            return
        try:
            counts = {name: len(copies(self._directory / name)) for name in FILES}
        except OSError:
            return
        if not self.counts and any(counts.values()):
            names = ", ".join(f"{count} of {name}" for name, count in counts.items() if count)
            log.info(
                "%s contains copies of files that were set aside: %s; merge or delete them",
                *(self._directory, names),
            )
        self.counts = counts


class TooManyCopies(OSError):
    """There are already as many kept copies of the file as are permitted."""

    def __init__(self, path: Path) -> None:
        reason = (
            f"there are already {MAX_COPIES} copies of {path.name} that were set aside; move them"
            " to another directory or delete them"
        )
        super().__init__(errno.EDQUOT, reason, str(path))


def copies(path: Path) -> tuple[Path, ...]:
    """Returns the kept copies of a file, those with the lowest number first.

    Raises:
        OSError: the directory cannot be read.
    """
    found = []
    for name in os.listdir(path.parent):
        end = _END.fullmatch(name.removeprefix(path.name)) if name.startswith(path.name) else None
        if end is not None:
            found.append((end[1].isdecimal(), int(end[1]) if end[1].isdecimal() else 0, name))
    return tuple(path.with_name(name) for _, _, name in sorted(found))


def next_copy(path: Path) -> Path:
    """Returns the path for the next copy of a file. Nothing exists there.

    Raises:
        TooManyCopies: there are too many.
        OSError: the directory cannot be read.
    """
    existing = copies(path)
    if len(existing) >= MAX_COPIES:
        raise TooManyCopies(path)
    numbers = (each.name.rpartition("-")[2] for each in existing)
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return path.with_name(f"{path.name}.kept-{last + 1}")


def set_aside(path: Path, companions: Sequence[str] = ()) -> Path:
    """Renames a file, and returns its new path.

    companions: the ends of the names of files that belong to it, such as "-journal". They are
        renamed too, if they exist. If one of them cannot be renamed, nothing is.

    Raises:
        TooManyCopies: there are too many kept copies.
        OSError: the file cannot be renamed.
    """
    aside = next_copy(path)
    _move(path, aside)
    moved = [""]
    try:
        for end in companions:
            if os.path.lexists(f"{path}{end}"):
                _move(Path(f"{path}{end}"), Path(f"{aside}{end}"))
                moved.append(end)
    except OSError:
        for end in reversed(moved):
            os.rename(f"{aside}{end}", f"{path}{end}")
        raise
    return aside


def _move(path: Path, target: Path) -> None:
    """Renames a file. If another process has just created the target, OSError is raised.

    rename(2) would replace the target, so a second link is made instead. Directories and some
    filesystems permit no second link.
    """
    try:
        os.link(path, target, follow_symlinks=False)
    except PermissionError as e:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from e
        os.rename(path, target)
        return
    except OSError as e:
        if e.errno not in (errno.EOPNOTSUPP, errno.EMLINK):
            raise
        os.rename(path, target)
        return
    try:
        os.unlink(path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(target)
        raise
