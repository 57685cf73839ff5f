"""Stores the values that must survive a restart in a JSON file, which is replaced atomically.

The file is complete after kill -9. With `wait_for_disk` it is also complete after a power failure.
"""

import json
import logging
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from exporter.errors import ConfigError

log = logging.getLogger(__name__)

#: The version of the file's format. A file with another version is not read.
VERSION = 1

#: Maximum size of the file in bytes. 8,192 drives with full histograms take about 20 MB.
_MAX_BYTES = 64 << 20

#: The default directory, used if the process may write to it and $STATE_DIRECTORY is not set.
FALLBACK = Path("/var/lib/ssd-exporter")


class StateFile:
    """The file state.json in a state directory. Several threads may call `save`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / "state.json"
        self._lock = threading.Lock()

    def load(self) -> dict[str, Any]:
        """Returns the values that were saved last, keyed by name; empty if there is no file.

        If the file cannot be read or parsed or has another version, the result is empty. The file
        is then renamed, and a warning is logged.
        """
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as e:
            self._set_aside(str(e))
            return {}

    def load_read_only(self) -> dict[str, Any]:
        """Returns the values that were saved last, keyed by name, and leaves the file unchanged.

        Commands use it, because the file belongs to the daemon. The result is empty if there is no
        file. It is also empty if the file cannot be used, and then a warning is logged.
        """
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as e:
            log.warning("%s; continuing without saved values", self._unreadable(e))
            return {}

    def problem(self) -> str:
        """Returns why the file cannot be used; empty if it can be used or does not exist."""
        try:
            self._read()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, RecursionError) as e:
            return self._unreadable(e)
        return ""

    def save(self, state: dict[str, Any], *, wait_for_disk: bool = True) -> None:
        """Replace the file atomically: it contains either the old or the new values.

        state: JSON values, keyed by name.
        wait_for_disk: call fsync. Without it, a disk that hangs does not block the caller. The file
            then survives kill -9, but may not survive a power failure.

        Raises:
            OSError: the file system is full, or the directory is missing or not writable. The old
                file is unchanged.
        """
        text = json.dumps({"version": VERSION, **state}, separators=(",", ":"))
        # The temporary file always has the same name. So the next save overwrites an incomplete
        # file of a process that was killed.
        temporary = self._path.with_name(".state.json.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._lock:
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                if wait_for_disk:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, self._path)

    def _read(self) -> dict[str, Any]:
        if self._path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
        state = json.loads(self._path.read_text(encoding="utf-8"))
        if not isinstance(state, dict):
            raise ValueError("it is not a JSON object")  # noqa: TRY004  the file is at fault
        if state.get("version") != VERSION:
            raise ValueError(f"its version is {state.get('version')!r}, not {VERSION}")
        return state

    def _unreadable(self, e: Exception) -> str:
        reason = e.strerror if isinstance(e, OSError) else e
        return f"{self._path} cannot be read: {reason}"

    def _set_aside(self, why: str) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = self._path.with_name(f"state.json.kept-{stamp}")
        try:
            os.replace(self._path, aside)
        except OSError as e:
            log.warning(
                "%s is unusable: %s; starting without it. It could not be renamed: %s",
                *(self._path, why, e),
            )
        else:
            log.warning(
                "%s is unusable: %s; renamed to %s, starting without it",
                *(self._path, why, aside.name),
            )


def open_state_file(configured: Path | None, environment: dict[str, str]) -> StateFile | None:
    """Creates the state directory if needed, and returns its state file; None if there is none.

    The directory is the configured one. If none is configured, it is $STATE_DIRECTORY. If that is
    not set, it is the first writable one of /var/lib/ssd-exporter and the user's XDG state
    directory. If no directory is writable, a warning is logged and the result is None.

    configured: the setting state.directory. environment: the environment variables.

    Raises:
        ConfigError: the configured directory cannot be created or written.
    """
    if configured is not None:
        if problem := _write_problem(configured):
            raise ConfigError(
                f"the state directory {configured} cannot be written: {problem}",
                "make it writable for this user or set --state.directory",
            )
        return StateFile(configured)
    candidates = _default_directories(environment)
    for candidate in candidates:
        problem = _write_problem(candidate)
        if not problem:
            return StateFile(candidate)
    log.warning(
        "no state directory is writable (%s: %s): baselines and counters are lost at the next "
        "restart; set --state.directory",
        candidates[-1],
        problem,
    )
    return None


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


def _write_problem(directory: Path) -> str:
    """Creates the directory if needed; returns why it cannot be written, empty if it can."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o750)
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as e:
        return e.strerror or str(e)
