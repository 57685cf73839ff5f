"""One probe a host: the lock that all instances share, and what a killed one has left running."""

import contextlib
import fcntl
import json
import logging
import os
import signal
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exporter.errors import SourceError
from exporter.linux import files

log = logging.getLogger(__name__)

_NAME = "ssd-exporter-probe.lock"
_LARGEST_BYTES = 4096

#: What a process of ours is called before and after it has become fio.
_OURS = ("setpriv", "fio")

#: A pid_file that was killed has gone after so long, or it hangs in the kernel.
_GONE_SECONDS = 2.0


class HostLock:
    """flock(2) on a file in the first of the directories that can be used.

    While it is `lent`, a program that is started inherits it: where that outlives us, the host
    stays locked until it has ended too.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
        self._descriptor = -1

    def acquire(self) -> bool:
        """False where another one has it, or no directory can be used."""
        if self._descriptor >= 0:
            return True
        for directory in self._directories:
            descriptor = _opened(directory / _NAME)
            if descriptor is None:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            self._descriptor = descriptor
            return True
        return False

    @contextlib.contextmanager
    def inheritable(self) -> Iterator[None]:
        """Programs that are started within inherit the lock."""
        # Any other program that this process starts in this moment inherits it too; it is
        # released for all of them when we release it.
        os.set_inheritable(self._descriptor, True)
        try:
            yield
        finally:
            os.set_inheritable(self._descriptor, False)

    def release(self) -> None:
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(path: Path) -> int | None:
    """The lock file, which others may have made: a link is not followed, nothing is written."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            # Readable for all: that is what flock needs, and writing is not.
            descriptor = os.open(path, flags | os.O_CREAT, 0o644)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


class ProbePidFile:
    """Which process runs for us, in a file that outlives us."""

    def __init__(self, directory: Path, proc: Path = Path("/proc")) -> None:
        self._path = directory / "probe-process.json"
        # Our own, wherever the host's is: the process was started from here.
        self._proc = proc
        self._killed: list[int] | None = None

    def write(self, pid: int) -> None:
        """Raises OSError where it cannot be written down."""
        text = json.dumps({"child": self._instance(pid), "owner": self._instance(os.getpid())})
        temporary = self._path.with_name(f".{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, self._path)

    def clear(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def kill_leftover(self) -> bool:
        """End what an earlier run of this daemon left; False where it cannot be ended.

        One whose owner lives is another instance's, and is left alone.
        """
        noted = self._noted()
        if noted is None:
            # Not cleared: another instance may have noted its own since.
            return True
        if not self._is_fio(noted["child"]):
            self.clear()
            return True
        if self._lives(noted["owner"]):
            return True
        pid = noted["child"][0]
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                # The number may have gone to another since, the descriptor cannot.
                if self._is_fio(noted["child"]):
                    if noted["child"] != self._killed:
                        log.warning("a probe of an earlier run is still there: %d is killed", pid)
                    self._killed = noted["child"]
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)
        until = time.monotonic() + _GONE_SECONDS
        while self._is_fio(noted["child"]):
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        self.clear()
        return True

    def _noted(self) -> dict[str, list[int]] | None:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                found = json.loads(file.read(_LARGEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        child, owner = _usable(found.get("child")), _usable(found.get("owner"))
        return None if child is None or owner is None else {"child": child, "owner": owner}

    def _instance(self, pid: int) -> list[int | None]:
        return [pid, _start_ticks(self._proc, pid)]

    def _lives(self, instance: list[int]) -> bool:
        return _start_ticks(self._proc, instance[0]) == instance[1]

    def _is_fio(self, instance: list[int]) -> bool:
        name = files.read_attribute(self._proc / str(instance[0]) / "comm")
        return name in _OURS and self._lives(instance)


def _usable(found: Any) -> list[int] | None:
    """A process and when it began."""
    if not isinstance(found, list) or len(found) != 2:
        return None
    numbers = [each for each in found if isinstance(each, int) and not isinstance(each, bool)]
    return numbers if len(numbers) == 2 and 1 < numbers[0] < 1 << 31 else None


def _start_ticks(proc: Path, pid: int) -> int | None:
    """When a process began, in ticks since boot; None for one that is none, or has ended."""
    try:
        text = files.read(proc / str(pid) / "stat")
    except SourceError:
        return None
    # The name is in parentheses and may hold some; the state comes next.
    columns = text.rpartition(")")[2].split()
    if len(columns) < 20 or columns[0] in ("Z", "X") or not columns[19].isdecimal():
        return None
    return int(columns[19])
