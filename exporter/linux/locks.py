"""Reads which processes lock files, from /proc/locks.

https://man7.org/linux/man-pages/man5/proc_locks.5.html
"""

from pathlib import Path

from exporter.linux import files

#: The largest part of the file that is read, in bytes: 30,000 locks. Any user can lock many files.
_MAX_BYTES = 2 << 20


def read(proc: Path) -> frozenset[int]:
    """Returns the IDs of the processes that hold a POSIX write lock; see `parse`.

    The result is empty if the file cannot be read.
    """
    return parse(files.read_start(proc / "locks", _MAX_BYTES).decode("utf-8", "replace"))


def parse(text: str) -> frozenset[int]:
    """Returns the IDs of the processes that hold a POSIX write lock on a file, as servers do.

    Other kinds of locks are left out, and so are processes that wait for a lock, and lines that
    cannot be parsed.
    """
    found = set()
    for line in text.split("\n"):
        fields = line.split()[1:5]
        is_held = fields[:1] == ["POSIX"] and fields[2:3] == ["WRITE"] and len(fields) == 4
        if is_held and fields[3].isascii() and fields[3].isdigit() and len(fields[3]) < 20:
            found.add(int(fields[3]))
    return frozenset(found)
