"""Reads whether a process waits for I/O, from the states of its threads in /proc/<pid>/task.

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html (field 3)

Without pressure information of its control group, this is the only sign that a server waits for its
disk. A thread is in the state D (uninterruptible sleep) in a read, a direct write or an fsync. A
thread that waits in io_getevents is not.
"""

import os
from itertools import islice
from pathlib import Path

#: The maximum number of threads that are read of one process.
MAX_TASKS = 512

#: The name in brackets has at most 64 bytes, and the state follows it.
_HEAD_BYTES = 128


def waits_for_io(proc: Path, pid: int, most_threads: int = MAX_TASKS) -> bool | None:
    """Returns True if a thread of a process waits for I/O at this moment.

    None means unknown: the process has ended, or this user may not see its threads.

    proc: the mount point of procfs.
    most_threads: the number of threads that are read; the others are left out.
    """
    is_known = False
    try:
        with os.scandir(proc / str(pid) / "task") as tasks:
            for task in islice(tasks, most_threads):
                state = _state(task.path)
                if state == b"D":
                    return True
                is_known = is_known or bool(state)
    except OSError:
        return None
    return False if is_known else None


def sees_all_processes(proc: Path) -> bool:
    """Returns True if procfs shows the processes of the whole host, and of all users.

    False means that this process is in a container with its own processes, or that procfs is
    mounted with hidepid. Process 2 is always a kernel thread that belongs to root.

    proc: the mount point of procfs.
    """
    try:
        return (proc / "2" / "comm").read_bytes().strip() == b"kthreadd"
    except OSError:
        return False


def _state(task: str) -> bytes:
    """Returns the state of a thread, such as b"S"; empty if it has ended or cannot be read."""
    try:
        descriptor = os.open(f"{task}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _HEAD_BYTES).rpartition(b") ")[2][:1]
    except OSError:
        return b""
    finally:
        os.close(descriptor)
