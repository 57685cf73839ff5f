"""The open files of this process, and the memory of others."""

import gc
import os
import re
from pathlib import Path

_RSS = re.compile(r"^Rss:\s+(\d+) kB$", re.MULTILINE)


def open_files() -> set[str]:
    """Returns the descriptors of this process and their files, without network connections.

    Servers of earlier tests may still open and close connections. Files that earlier tests left to
    the garbage collector are closed first.
    """
    gc.collect()
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:  # that of listdir itself
            continue
        if not target.startswith(("socket:", "anon_inode:[eventpoll]")):
            found.add(f"{descriptor}: {target}")
    return found


def resident_kilobytes(pid: int) -> int:
    """Returns the resident memory of a process in KiB.

    It is exact, unlike VmRSS in the file `status` (proc_pid_status(5)).

    Raises:
        OSError: the process has ended.
    """
    found = _RSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
    if found is None:
        raise ProcessLookupError(pid)
    return int(found[1])
