"""The open files of this process, and the memory of others."""

import gc
import os
import re
from pathlib import Path

_ROW = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


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
    return _memory_kilobytes(pid)["Rss"]


def anonymous_kilobytes(pid: int) -> int:
    """Returns the memory in KiB that a process has allocated, in RAM and in swap.

    Only the process itself releases it. The resident memory also contains pages of programs and
    libraries, which the kernel removes and reads again at any time.

    Raises:
        OSError: the process has ended.
    """
    memory = _memory_kilobytes(pid)
    return memory["Anonymous"] + memory["Swap"]


def _memory_kilobytes(pid: int) -> dict[str, int]:
    """Returns the rows of /proc/<pid>/smaps_rollup (proc_pid_smaps(5))."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    if not text:
        raise ProcessLookupError(pid)
    return {key: int(value) for key, value in _ROW.findall(text)}
