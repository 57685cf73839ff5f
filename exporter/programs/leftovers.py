"""Finds programs that an earlier process of this project started and could not end.

After SIGKILL of the agent its children run on without a time limit. The next agent would start a
second program for the same drive, and a third after the next SIGKILL.

A leftover is recognised by a variable in its environment, which contains the process number of its
parent. If it has another parent now, its parent has ended. Only processes of the same user in the
same PID namespace are considered: another user could set the variable, but cannot run a program as
this user.
"""

import os
import re
import select
import signal
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.programs.child import is_over
from exporter.programs.children import PARENT, SystemChildren

#: The largest part of a file of /proc that is read, in bytes.
_MAX_BYTES = 1 << 16

#: The length of a process name in /proc/<pid>/comm, in bytes (TASK_COMM_LEN without the null byte).
_NAME_BYTES = 15

#: The time in which killed leftovers normally end, in seconds. Those that need longer are tracked.
_END_SECONDS = 0.3

_PPID = re.compile(rb"^PPid:\t(\d+)$", re.MULTILINE)
_UIDS = re.compile(rb"^Uid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A program without its parent.

    pid: its process number. pidfd: a descriptor of the process; the caller closes it.
    argv: its command line. If the program is a script, its interpreter comes first.
    """

    pid: int
    pidfd: int
    argv: tuple[str, ...]


def adopt(
    children: SystemChildren,
    program: str,
    key: Callable[[Sequence[str]], Hashable | None],
    may_kill: Callable[[Hashable], bool],
    proc: Path = Path("/proc"),
) -> int:
    """Ends the leftovers of a program, and makes `children` track those that do not end.

    Such a leftover is in `children.stuck` until it ends. Returns the number of leftovers found.

    program: the path or name of the program.
    key: returns the key of a command line, as for `children.start`; None if it has none.
    may_kill: False for the keys of programs that must run to their end.
    proc: the path of /proc.
    """
    found = list(find(program, proc))
    keys = [key(leftover.argv) for leftover in found]
    ending = select.poll()
    killed = 0
    for leftover, name in zip(found, keys, strict=True):
        if name is None or may_kill(name):
            try:
                signal.pidfd_send_signal(leftover.pidfd, signal.SIGKILL)
            except OSError:  # it has ended, or a system call filter forbids the signal
                continue
            ending.register(leftover.pidfd, select.POLLIN)
            killed += 1
    until = time.monotonic() + _END_SECONDS
    while killed and (left := until - time.monotonic()) > 0:
        for descriptor, _ in ending.poll(left * 1000):
            ending.unregister(descriptor)
            killed -= 1
    for leftover, name in zip(found, keys, strict=True):
        if name is None or is_over(leftover.pidfd):
            os.close(leftover.pidfd)
        else:
            children.adopt(name, os.path.basename(program), leftover.pid, leftover.pidfd)
    return len(found)


def find(program: str, proc: Path = Path("/proc")) -> Iterator[Leftover]:
    """Yields the leftovers of a program. Processes that cannot be read are omitted.

    program, proc: as for `adopt`.
    """
    # The environment is read last. Reading it waits for a lock of the process, which a process that
    # hangs may hold; a smartctl does not hold it while it waits for a drive.
    name = os.path.basename(program).encode()[:_NAME_BYTES]
    namespace = _namespace(proc / "self")
    for entry in os.listdir(proc):
        process = proc / entry
        if not entry.isdecimal() or _content(process / "comm").removesuffix(b"\n") != name:
            continue
        try:
            pidfd = os.pidfd_open(int(entry))
        except OSError:
            continue
        parent = _former_parent(process)
        argv = [os.fsdecode(each) for each in _content(process / "cmdline").split(b"\0")[:-1]]
        # The number is not that of another process: the first one has not ended meanwhile.
        is_here = namespace is not None and namespace == _namespace(process)
        if parent is None or program not in argv[:2] or not is_here or is_over(pidfd):
            os.close(pidfd)
            continue
        yield Leftover(int(entry), pidfd, tuple(argv))


def _former_parent(process: Path) -> int | None:
    """Returns the parent that has started a process of this user and has ended.

    None means that there is none: the parent is still alive, or the process is not one of ours.
    """
    status = _content(process / "status")
    uids, ppid = _UIDS.search(status), _PPID.search(status)
    if uids is None or ppid is None or {int(uid) for uid in uids.groups()} != {os.geteuid()}:
        return None
    start = f"{PARENT}=".encode()
    for field in _content(process / "environ").split(b"\0"):
        number = field.removeprefix(start)
        if field.startswith(start) and number.isdigit():
            parent = int(number)
            return parent if parent != int(ppid[1]) else None
    return None


def _namespace(process: Path) -> str | None:
    try:
        return os.readlink(process / "ns" / "pid")
    except OSError:
        return None


def _content(path: Path) -> bytes:
    """Returns the content of a file of /proc; empty if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        chunks: list[bytes] = []
        while sum(map(len, chunks)) < _MAX_BYTES and (chunk := os.read(descriptor, _MAX_BYTES)):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
