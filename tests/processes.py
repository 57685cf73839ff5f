"""Runs other programs; the open files of this process, and the memory of others."""

import gc
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.duration import PATIENCE_SECONDS

_ROW = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def run_program(
    argv: Sequence[str | Path], *, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end without input. Returns its exit status, and its output as text.

    options: further arguments of `subprocess.run`.

    Raises:
        CalledProcessError: its exit status is not 0, and `check` is True.
        TimeoutExpired: it did not end.
    """
    options = {"timeout": 3 * PATIENCE_SECONDS, **options}
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run(argv, check=check, capture_output=True, text=True, **options)


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
