"""Locks the host so that only one probe runs at a time, and records fio's pid in a file.

All instances of the exporter on a host share the lock, including those in containers. If an
exporter is killed while its fio runs, the next exporter finds this fio with the pid file and ends
it.
"""

import contextlib
import fcntl
import json
import logging
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exporter.linux import files
from exporter.runtime import lock_file, untrusted_file
from exporter.runtime.errors import SourceError
from exporter.runtime.lock_file import flock_holder

log = logging.getLogger(__name__)

_LOCK_FILE = "ssd-exporter-probe.lock"

#: The permissions of a new lock file. Everyone who may read it can hold the lock, and so prevent
#: all probes.
_LOCK_MODE = 0o640

#: Maximum number of bytes that are read from the pid file. It usually has less than 100.
_MAX_PID_FILE_BYTES = 4096

#: The names that a probe's process may have. fio is started by setpriv(1), in the same process.
_PROCESS_NAMES = ("setpriv", "fio")

#: The time that a killed process has to end, in seconds. If it exists after that, it hangs in the
#: kernel.
_KILL_SECONDS = 2.0


class HostLock:
    """Holds the lock of the host, which allows one probe per host.

    It is flock(2) on a file in the first usable directory.

    A program that is started inside the context of `inheritable` inherits the lock. If the program
    outlives this process, the host stays locked until the program ends.

    directories: the directories for the lock file, in order of preference.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
        self._descriptor = -1
        self._is_reported = False

    def acquire(self) -> bool:
        """Tries to acquire the lock without waiting. Returns True if this process now holds it.

        Returns False if another process holds the lock, or if no directory is usable.
        """
        if self._descriptor >= 0:
            return True
        for directory in self._directories:
            descriptor = self._open(directory / _LOCK_FILE)
            if descriptor is None:
                continue
            with contextlib.suppress(OSError):
                if lock_file.lock(descriptor):
                    self._descriptor = descriptor
                    return True
            os.close(descriptor)
            return False
        return False

    @property
    def directories(self) -> Sequence[Path]:
        """The directories that may contain the lock file, in order of preference."""
        return self._directories

    def exists(self) -> bool:
        """Returns True if one of the directories contains a lock file."""
        return any(os.path.exists(directory / _LOCK_FILE) for directory in self._directories)

    def holder(self, proc: Path = Path("/proc")) -> str:
        """Returns a text for the process that holds the lock, such as "ssd-exporter (process 12)".

        The text is empty if the process is unknown.

        proc: the mount point of procfs.
        """
        for directory in self._directories:
            pid = flock_holder(proc, directory / _LOCK_FILE)
            if pid is not None:
                return f"{_process_name(proc, pid)} (process {pid})"
        return ""

    @contextlib.contextmanager
    def inheritable(self) -> Iterator[None]:
        """Context manager in which started programs inherit the lock."""
        # Programs that other threads start in this time inherit the lock too. This does no harm,
        # because `release` releases the lock for all of them.
        os.set_inheritable(self._descriptor, True)
        try:
            yield
        finally:
            os.set_inheritable(self._descriptor, False)

    def release(self) -> None:
        """Releases the lock, also for programs that inherited it."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self, path: Path) -> int | None:
        """Returns a descriptor of the lock file, which is created if missing; None if unusable."""
        try:
            # In /run, which the unit may only read, the file can be opened for reading only.
            return lock_file.open_lock_file(path, _LOCK_MODE, writable=False)
        except OSError as e:
            if os.path.lexists(path) and not self._is_reported:
                self._is_reported = True
                log.warning(
                    "the probe lock %s cannot be opened: %s; probes of other exporters on this host"
                    " may run at the same time; add this user to the group of the file",
                    *(path, e.strerror or e),
                )
            return None


def _process_name(proc: Path, pid: int) -> str:
    try:
        command = files.read(proc / str(pid) / "cmdline").split("\0")
    except SourceError:
        command = []
    # Look at the first four arguments: with `python -m exporter`, the first is the interpreter.
    if any("ssd-exporter" in word or word == "exporter" for word in command[:4]):
        return "ssd-exporter"
    return files.read_attribute(proc / str(pid) / "comm") or "another program"


class ProbePidFile:
    """Records the running fio in a file, so that the next exporter can find it.

    directory: the state directory.
    proc: the mount point of the procfs in which fio's pid is valid.
    """

    def __init__(self, directory: Path, proc: Path = Path("/proc")) -> None:
        self._path = directory / "probe-process.json"
        # The setting path.procfs is not used: it may be the procfs of the host, but fio runs in the
        # pid namespace of this process.
        self._proc = proc
        self._killed: list[int] | None = None

    def write(self, pid: int) -> None:
        """Records fio's process, and this process as its owner.

        pid: fio's pid.

        Raises:
            OSError: the file cannot be written.
        """
        text = json.dumps(
            {"child": self._pid_and_start(pid), "owner": self._pid_and_start(os.getpid())}
        )
        untrusted_file.replace_at(self._path, text.encode(), 0o600, wait_for_disk=False)

    def clear(self) -> None:
        """Deletes the file."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def kill_leftover(self) -> bool:
        """Kills the recorded fio if its owner has ended. Returns False if it cannot be killed.

        Returns True in all other cases: fio was killed or has ended, no fio is recorded, or its
        owner runs. In the last case fio belongs to another instance and continues.
        """
        record = self._read()
        if record is None:
            # Do not delete the file: another instance may have written its own record meanwhile.
            return True
        if not self._is_fio(record["child"]):
            self.clear()
            return True
        if self._is_alive(record["owner"]):
            return True
        pid = record["child"][0]
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                # Another process may have this pid now. The descriptor always refers to the process
                # for which it was opened. So check again that this process is fio.
                if self._is_fio(record["child"]):
                    if record["child"] != self._killed:
                        log.warning(
                            "fio process %d of an earlier run is still running; killing it", pid
                        )
                    self._killed = record["child"]
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)
        until = time.monotonic() + _KILL_SECONDS
        while self._is_fio(record["child"]):
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        self.clear()
        return True

    def _read(self) -> dict[str, list[int]] | None:
        try:
            record = json.loads(untrusted_file.read(self._path, _MAX_PID_FILE_BYTES))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(record, dict):
            return None
        child, owner = _parse_process(record.get("child")), _parse_process(record.get("owner"))
        return None if child is None or owner is None else {"child": child, "owner": owner}

    def _pid_and_start(self, pid: int) -> list[int | None]:
        return [pid, _start_ticks(self._proc, pid)]

    def _is_alive(self, process: list[int]) -> bool:
        return _start_ticks(self._proc, process[0]) == process[1]

    def _is_fio(self, process: list[int]) -> bool:
        name = files.read_attribute(self._proc / str(process[0]) / "comm")
        return name in _PROCESS_NAMES and self._is_alive(process)


def _parse_process(value: Any) -> list[int] | None:
    """Returns a pid and its start time in ticks; None if the record is invalid."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    numbers = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
    return numbers if len(numbers) == 2 and 1 < numbers[0] < 1 << 31 else None


def _start_ticks(proc: Path, pid: int) -> int | None:
    """Returns the start time of a process in ticks since boot; None if the process has ended.

    Source: /proc/<pid>/stat, see proc(5).
    """
    try:
        text = files.read(proc / str(pid) / "stat")
    except SourceError:
        return None
    # The program's name is in parentheses and may itself contain parentheses. So the columns after
    # the last parenthesis are used; the first of them is the state of the process.
    columns = text.rpartition(")")[2].split()
    if len(columns) < 20 or columns[0] in ("Z", "X") or not columns[19].isdecimal():
        return None
    return int(columns[19])
