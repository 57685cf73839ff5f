"""What is kept over a restart: one JSON file, written whole, that survives kill -9."""

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

VERSION = 1

#: 8,192 drives with full histograms make about 20 MB; what is larger was not written by us.
_LARGEST_BYTES = 64 << 20

FALLBACK = Path("/var/lib/ssd-exporter")


class StateFile:
    """state.json in a directory that we own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / "state.json"
        self._lock = threading.Lock()

    def load(self) -> dict[str, Any]:
        """What was saved last; empty if nothing was.

        A file that cannot be understood, or that a later version wrote, is kept aside under
        another name, said, and begun anew.
        """
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as e:
            self._set_aside(str(e))
            return {}

    def _read(self) -> dict[str, Any]:
        if self._path.stat().st_size > _LARGEST_BYTES:
            raise ValueError(f"it is larger than {_LARGEST_BYTES} bytes")
        state = json.loads(self._path.read_text(encoding="utf-8"))
        if not isinstance(state, dict):
            raise ValueError("it is no JSON object")  # noqa: TRY004  a bad file, no bad call
        if state.get("version") != VERSION:
            raise ValueError(f"it is of version {state.get('version')!r}, not {VERSION}")
        return state

    def load_read_only(self) -> dict[str, Any]:
        """What was saved last, for who does not own it; empty, and said, if it cannot be read."""
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as e:
            log.warning("%s; what was here before is not known", self._unreadable(e))
            return {}

    def problem(self) -> str:
        """Why what was saved cannot be read, for people; empty if it can, or there is nothing."""
        try:
            self._read()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, RecursionError) as e:
            return self._unreadable(e)
        return ""

    def _unreadable(self, e: Exception) -> str:
        reason = e.strerror if isinstance(e, OSError) else e
        return f"{self._path} cannot be read: {reason}"

    def save(self, state: dict[str, Any], *, wait_for_disk: bool = True) -> None:
        """Write the file whole: what is there is the old one or the new one.

        Without `wait_for_disk` that holds for kill -9 and not for a power cut, and a disk that
        hangs holds nobody up.

        Raises:
            OSError: the directory is full, gone or not writable; the old file stands.
        """
        text = json.dumps({"version": VERSION, **state}, separators=(",", ":"))
        # One name, so that what a kill leaves half written is written over the next time.
        temporary = self._path.with_name(".state.json.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._lock:
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                if wait_for_disk:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, self._path)

    def _set_aside(self, why: str) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = self._path.with_name(f"state.json.kept-{stamp}")
        try:
            os.replace(self._path, aside)
            log.warning("%s is not usable: %s; kept as %s, begun anew", self._path, why, aside.name)
        except OSError as e:
            log.warning("%s is not usable: %s; begun anew (%s)", self._path, why, e)


def open_state_file(asked: Path | None, environment: dict[str, str]) -> StateFile | None:
    """The state directory: the one asked for, or $STATE_DIRECTORY, /var/lib, the user's own.

    None, with a line in the log, where none of those that nobody asked for can be written.

    Raises:
        ConfigError: the one asked for cannot be made or written.
    """
    if asked is not None:
        if problem := _unwritable(asked):
            raise ConfigError(
                f"the state directory {asked} cannot be written: {problem}",
                "make it writable for this user or set --state.directory",
            )
        return StateFile(asked)
    candidates = _usual(environment)
    for candidate in candidates:
        problem = _unwritable(candidate)
        if not problem:
            return StateFile(candidate)
    log.warning(
        "no state directory can be written (%s: %s): what is learned is lost at the next restart; "
        "set --state.directory",
        candidates[-1],
        problem,
    )
    return None


def existing_directory(asked: Path | None, environment: dict[str, str]) -> Path | None:
    """Where a daemon keeps its state: as asked for, else the first usual directory there is."""
    candidates = _usual(environment) if asked is None else [asked]
    return next((each for each in candidates if os.path.isdir(each)), None)


def _usual(environment: dict[str, str]) -> list[Path]:
    # systemd gives several, separated by colons, where a unit has several.
    given = environment.get("STATE_DIRECTORY", "").split(":")[0]
    home = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME") or "/nonexistent", ".local", "state"
    )
    return [Path(given)] if given else [FALLBACK, Path(home) / "ssd-exporter"]


def _unwritable(directory: Path) -> str:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o750)
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as e:
        return e.strerror or str(e)
