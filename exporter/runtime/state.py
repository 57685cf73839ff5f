"""Stores the values that must survive a restart in a JSON file, which is replaced atomically.

The file is complete after kill -9. Except for the last save of a process, it is also complete after
a power failure.
"""

import errno
import json
import logging
import math
import os
import threading
import time
from pathlib import Path
from typing import Any

from exporter.runtime import kept_copy, lock_file, privileges, untrusted_file
from exporter.runtime.errors import ConfigError
from exporter.runtime.json_values import require_few_values, value_count
from exporter.runtime.lock_file import flock_holder

log = logging.getLogger(__name__)

#: The version of the file's format. A file with another version is not read.
VERSION = 1

#: Maximum size of the file in bytes. 1,000 drives with full histograms take about 2.4 MB.
_MAX_BYTES = 16 << 20
#: Maximum number of values in the file, counted as in `require_few_values`. 1,000 drives with full
#: histograms have about 300,000.
_MAX_VALUES = 700_000

#: The largest number of characters of a number in the file. A larger number overflows a float.
_MAX_NUMBER_CHARACTERS = 300

#: The lock file of the daemon that uses the directory.
_LOCK_FILE = "daemon.lock"

#: The number of attempts to read the file while this process lacks memory or descriptors, and the
#: time between two of them, in seconds.
_READ_TRIES, _RETRY_SECONDS = 5, 0.2

#: Errors that do not depend on the file, and that may be over soon.
_TEMPORARY = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EINTR, errno.EAGAIN)

#: The default directory, used if the process may write to it and $STATE_DIRECTORY is not set.
FALLBACK = Path("/var/lib/ssd-exporter")


class StateFile:
    """The file state.json in a state directory. Several threads may call `save`.

    Values whose keys this version does not know are saved again: a later version wrote them, and
    reads them after the next update.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / "state.json"
        self._lock = threading.Lock()
        self._held = -1
        self._is_final = False
        #: The values that were loaded. After the first save only those with unknown keys.
        self._loaded: dict[str, Any] = {}
        #: Why the file is unusable, if it could not be set aside; empty if it is not in the way.
        self._in_the_way = ""

    def hold(self) -> None:
        """Locks the directory against other daemons, until this process ends.

        Two daemons would overwrite each other's state. If the lock file cannot be created, for
        example because the disk is full, a warning is logged and the directory is not locked.

        Raises:
            ConfigError: another daemon uses the directory.
        """
        path = self.directory / _LOCK_FILE
        try:
            descriptor = lock_file.open_lock_file(path, 0o600)
            try:
                if lock_file.lock(descriptor):
                    self._held = descriptor
                    return
            finally:
                if self._held != descriptor:
                    os.close(descriptor)
        except OSError as e:
            log.warning(
                "%s cannot be locked: %s; a second daemon with this directory is not detected",
                *(path, e.strerror or e),
            )
            return
        raise _another_daemon(path)

    def load(self) -> dict[str, Any]:
        """Returns the values that were saved last, keyed by name; empty if there is no file.

        If the file cannot be read or parsed or has another version, the result is empty. The file
        is then renamed, and a warning is logged. If this process lacks memory or descriptors for
        the moment, reading is repeated before.
        """
        for left in reversed(range(_READ_TRIES)):
            try:
                state = self._read()
            except FileNotFoundError:
                return {}
            except (OSError, ValueError, RecursionError, MemoryError) as e:
                if left and is_temporary(e):
                    time.sleep(_RETRY_SECONDS)
                    continue
                self._in_the_way = _reason(e)
                self._set_aside()
                return {}
            self._loaded = {key: value for key, value in state.items() if key != "version"}
            return state
        raise AssertionError("unreachable")

    def load_read_only(self) -> dict[str, Any]:
        """Returns the values that were saved last, keyed by name, and leaves the file unchanged.

        Commands use it, because the file belongs to the daemon. Root reads it with the rights of
        the directory's owner. The result is empty if there is no file. It is also empty if the file
        cannot be used, and then a warning is logged.
        """
        try:
            with privileges.as_owner_if_permitted(self.directory):
                return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError, MemoryError) as e:
            log.warning("%s; continuing without saved values", self._unreadable(e))
            return {}

    def problem(self) -> str:
        """Returns why the file cannot be used; empty if it can be used or does not exist."""
        try:
            with privileges.as_owner_if_permitted(self.directory):
                self._read()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, RecursionError, MemoryError) as e:
            return self._unreadable(e)
        return ""

    def save(self, state: dict[str, Any], *, final: bool = False) -> None:
        """Replace the file atomically: it contains either the old or the new values.

        After the final save, the method does nothing: a save of another thread that began earlier
        has older values.

        state: JSON values, keyed by name.
        final: this is the last save of the process. fsync is not called, because a thread that
            waits for a disk would keep the process alive. The file may not survive a power failure.

        Raises:
            OSError: the file system is full, or the directory is missing or not writable; the old
                file is unchanged. An unusable file could not be set aside; it is unchanged, too. Or
                the directory cannot be synced; the file is then already replaced.
        """
        with self._lock:
            if not self._is_final:
                if self._in_the_way and not self._set_aside():
                    raise FileExistsError(
                        errno.EEXIST, f"the unusable {self._path.name} is not replaced"
                    )
                self._loaded = {
                    key: value for key, value in self._loaded.items() if key not in state
                }
                content = self._readable({**self._loaded, **state})
                untrusted_file.replace_at(self._path, content, 0o600, wait_for_disk=not final)
            self._is_final |= final

    def _readable(self, state: dict[str, Any]) -> bytes:
        """Returns the content of the file. It is not larger than what `load` reads.

        If it would be, the largest values are left out, and a warning is logged.
        """
        texts = {key: json.dumps(value, separators=(",", ":")) for key, value in state.items()}
        omitted = []
        while True:
            fields = (f",{json.dumps(key)}:{text}" for key, text in texts.items())
            text = "".join((f'{{"version":{VERSION}', *fields, "}"))
            if len(text) <= _MAX_BYTES and value_count(text) <= _MAX_VALUES:
                break
            omitted.append(max(texts, key=lambda key: len(texts[key])))
            del texts[omitted[-1]]
        if omitted:
            log.warning(
                "%s: %s is too large to be read again and is not saved",
                *(self._path, " and ".join(omitted)),
            )
        return text.encode()

    def _read(self) -> dict[str, Any]:
        """Returns the values in the file. A number that no float can represent is None."""
        text = untrusted_file.read(self._path, _MAX_BYTES).decode()
        require_few_values(text, _MAX_VALUES)
        state = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_no_number)
        if not isinstance(state, dict):
            raise ValueError("it is not a JSON object")  # noqa: TRY004  the file is at fault
        if state.get("version") != VERSION:
            raise ValueError(f"its version is {state.get('version')!r:.20}, not {VERSION}")
        return state

    def _unreadable(self, e: Exception) -> str:
        return f"{self._path} cannot be read: {_reason(e)}"

    def _set_aside(self) -> bool:
        """Renames the file; returns False if this fails."""
        try:
            aside = kept_copy.set_aside(self._path)
        except FileNotFoundError:
            aside = None
        except OSError as e:
            log.warning(
                "%s is unusable: %s; continuing without it, and nothing is saved, because it cannot"
                " be set aside: %s",
                *(self._path, self._in_the_way, e.strerror or e),
            )
            return False
        if aside is not None:
            log.warning(
                "%s is unusable: %s; renamed to %s, starting without it",
                *(self._path, self._in_the_way, aside.name),
            )
        self._in_the_way = ""
        return True


def is_temporary(e: Exception) -> bool:
    """True if this process lacks memory or descriptors for the moment, or was interrupted."""
    return isinstance(e, MemoryError) or (isinstance(e, OSError) and e.errno in _TEMPORARY)


def _reason(e: Exception) -> str:
    if isinstance(e, MemoryError):
        return "there is not enough memory"
    return (isinstance(e, OSError) and e.strerror) or str(e)


def open_state_file(configured: Path | None, environment: dict[str, str]) -> StateFile | None:
    """Creates the state directory if needed, and returns its state file; None if there is none.

    The directory is the configured one. If none is configured, it is $STATE_DIRECTORY. If that is
    not set, it is the first writable one of /var/lib/ssd-exporter and the user's XDG state
    directory. If no directory is writable, a warning is logged and the result is None.

    configured: the setting state.directory. environment: the environment variables.

    Raises:
        ConfigError: the configured directory cannot be created or written. Or this process runs as
            root, and another user can write to the directory.
    """
    if configured is not None:
        _refuse_root(configured)
        if problem := _write_problem(configured):
            raise _unwritable(configured, problem)
        return StateFile(configured)
    candidates = _default_directories(environment)
    for candidate in candidates:
        _refuse_root(candidate)
        problem = _write_problem(candidate)
        if not problem:
            return StateFile(candidate)
    _warn(candidates[-1], problem)
    return None


def check_state_directory(configured: Path | None, environment: dict[str, str]) -> None:
    """Checks the directory that `open_state_file` would use, without creating it.

    The arguments are those of `open_state_file`. If no directory is configured, none is required,
    and a warning is logged.

    Raises:
        ConfigError: as `open_state_file`.
    """
    candidates = _default_directories(environment) if configured is None else [configured]
    for candidate in candidates:
        _refuse_root(candidate)
        nearest = candidate
        while not os.path.lexists(nearest) and nearest != nearest.parent:
            nearest = nearest.parent
        problem = untrusted_file.write_problem(nearest)
        if not problem:
            return
    if configured is not None:
        raise _unwritable(configured, problem)
    _warn(candidates[-1], problem)


def existing_directory(configured: Path | None, environment: dict[str, str]) -> Path | None:
    """Returns the first existing state directory that a daemon would use; None if none exists.

    It creates nothing. The arguments are those of `open_state_file`.
    """
    candidates = _default_directories(environment) if configured is None else [configured]
    return next((directory for directory in candidates if os.path.isdir(directory)), None)


def _default_directories(environment: dict[str, str]) -> list[Path]:
    # systemd separates several directories by colons. The first one is used.
    from_systemd = environment.get("STATE_DIRECTORY", "").split(":")[0]
    home = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME") or "/nonexistent", ".local", "state"
    )
    return [Path(from_systemd)] if from_systemd else [FALLBACK, Path(home) / "ssd-exporter"]


def _refuse_root(directory: Path) -> None:
    if problem := privileges.root_problem(directory):
        raise ConfigError(
            f"the state directory {directory} cannot be used: {problem}",
            "run this as the owner of the directory, or set --state.directory to a directory to"
            " which only root can write",
        )
    if (parent := privileges.foreign_parent(directory)) is not None:
        raise ConfigError(
            f"the state directory {directory} cannot be used: users other than root can write to"
            f" {parent} and can replace it, and this process runs as root",
            "set --state.directory to a directory below /var/lib",
        )


def _warn(directory: Path, problem: str) -> None:
    log.warning(
        "no state directory is writable (%s: %s): baselines and counters are lost at the next "
        "restart; set --state.directory",
        *(directory, problem),
    )


def _unwritable(directory: Path, problem: str) -> ConfigError:
    return ConfigError(
        f"the state directory {directory} cannot be written: {problem}",
        "make it writable for this user or set --state.directory",
    )


def _another_daemon(lock_file: Path) -> ConfigError:
    pid = flock_holder(Path("/proc"), lock_file)
    process = f" (process {pid})" if pid else ""
    return ConfigError(
        f"another ssd-exporter{process} uses the state directory {lock_file.parent}",
        "stop it, or set another --state.directory for this one",
    )


def _write_problem(directory: Path) -> str:
    """Creates the directory if needed; returns why it cannot be written, empty if it can.

    While this process lacks memory or descriptors, it is tried again: after an invalid setting, the
    service manager does not restart the process.
    """
    problem = ""
    for left in reversed(range(_READ_TRIES)):
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o750)
        except OSError as e:
            problem = e.strerror or str(e)
        else:
            problem = untrusted_file.write_problem(directory)
        if not left or problem not in map(os.strerror, _TEMPORARY):
            break
        time.sleep(_RETRY_SECONDS)
    return problem


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= _MAX_NUMBER_CHARACTERS else None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _no_number(_text: str) -> None:
    """Replaces NaN, Infinity and -Infinity by None."""
