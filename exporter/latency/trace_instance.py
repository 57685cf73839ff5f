"""Creates and removes our tracing instance in tracefs, and reads what it has counted.

The instance, its triggers and the synthetic events stay in the kernel, and go on measuring, until
somebody removes them. A process that ends therefore removes them, and `TraceGuard` does so for a
process that is killed. If both are killed, the next start does.

One process at a time may measure: it holds a flock(2) on the directory of all instances. No other
program uses this lock. It ends with the process.
"""

import contextlib
import errno
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.latency import trace_histogram, triggers
from exporter.latency.trace_histogram import TraceCounts
from exporter.latency.triggers import Trigger
from exporter.linux import files
from exporter.runtime.errors import ConfigError, ParseError, SourceError
from exporter.runtime.lock_file import lock

#: The places of tracefs below /sys, in the order of preference.
_MOUNTS = ("kernel/tracing", "kernel/debug/tracing")

#: The largest `hist` file of results that is read, in bytes: 27,000 lines of full maps are 3 MB.
_MAX_HIST_BYTES = 8 << 20

#: The time to remove an instance, in seconds, while a reader of one of its files prevents it, or
#: until the guard of a killed process has removed its instance.
_REMOVAL_SECONDS = 5.0
_RETRY_SECONDS = 0.05


class TraceFilesystem:
    """tracefs of this host, locked for this process.

    Use `opened`.
    """

    def __init__(self, sys: Path, path: Path, descriptor: int) -> None:
        self._sys = sys
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def opened(cls, sys: Path, wait_seconds: float = _REMOVAL_SECONDS) -> "TraceFilesystem":
        """Returns tracefs, locked against other processes of this program.

        wait_seconds: how long another process may have the lock.

        Raises:
            ConfigError: tracefs is not mounted, cannot be used or is in use, or the kernel has no
                hist triggers. The message says what to do.
        """
        path = _mounted(sys)
        descriptor = _locked(sys, path / "instances", wait_seconds)
        return cls(sys, path, descriptor)

    def close(self) -> None:
        """Releases the lock."""
        os.close(self._descriptor)

    @property
    def has_leftover(self) -> bool:
        """True if an instance or a synthetic event of this program exists."""
        return self._instance.is_dir() or bool(self._synthetic_events())

    @property
    def _instance(self) -> Path:
        return self.path / "instances" / triggers.INSTANCE

    def create(self, commands: Sequence[Trigger]) -> None:
        """Creates the synthetic events, the instance and its triggers.

        Raises:
            ConfigError: the kernel refuses one of them. What was created is removed again.
        """
        try:
            for event in triggers.SYNTHETIC_EVENTS:
                self._write("synthetic_events", f"{event} {triggers.FIELDS}", "a synthetic event")
            self._make_instance()
            self.add(commands)
        except BaseException:
            self.remove()
            raise

    def add(self, commands: Sequence[Trigger]) -> None:
        """Creates or removes triggers.

        Raises:
            ConfigError: the kernel refuses one of them.
        """
        for trigger in commands:
            path = f"instances/{triggers.INSTANCE}/events/{trigger.event}/trigger"
            self._write(path, trigger.command, f"a trigger of {trigger.event}")

    def mark(self, words: str) -> None:
        """Writes a text to the trace marker of the instance.

        Raises:
            ConfigError: it is refused.
        """
        self._write(f"instances/{triggers.INSTANCE}/trace_marker", words, "a marker")

    def read(self, event: str) -> TraceCounts:
        """Returns what the triggers of an event have counted.

        event: such as "synthetic/ssd_exporter_request".

        Raises:
            SourceError: the file cannot be read or parsed.
        """
        counts = trace_histogram.parse(
            files.read(self._instance / "events" / event / "hist", _MAX_HIST_BYTES)
        )
        if counts.faults:
            raise ParseError(f"{event}: {counts.faults[0]}")
        return counts.value

    def clean(self) -> None:
        """Removes what a killed measurement has left.

        Raises:
            ConfigError: it cannot be removed.
        """
        if self.has_leftover and not self.remove():
            raise ConfigError(
                "an earlier tracing instance of ssd-exporter cannot be removed",
                f"end the programs that read {self.path}/instances",
            )

    def remove(self) -> bool:
        """Removes the instance and the synthetic events. Returns True if nothing is left.

        A trigger cannot be removed before those that refer to its variables. Another process that
        reads a file of the instance also prevents the removal, for as long as it reads.
        """
        until = time.monotonic() + _REMOVAL_SECONDS
        while True:
            if self._instance.is_dir():
                known = [
                    self._instance / "events" / event / "trigger" for event in triggers.events()
                ]
                if not self._remove_instance(known):
                    # Another version of this program may have used other events.
                    self._remove_instance(sorted(self._instance.glob("events/*/*/trigger")))
            for event in self._synthetic_events():
                with contextlib.suppress(OSError):
                    _append(self.path / "synthetic_events", f"!{event}")
            if not self.has_leftover:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_RETRY_SECONDS)

    def _remove_instance(self, trigger_files: Sequence[Path]) -> bool:
        for path in trigger_files:
            for command in _removals(path):
                with contextlib.suppress(OSError):
                    _append(path, command)
        try:
            self._instance.rmdir()
        except OSError:
            return not self._instance.is_dir()
        return True

    def _synthetic_events(self) -> list[str]:
        """Returns the existing synthetic events of this program."""
        try:
            text = files.read(self.path / "synthetic_events")
        except SourceError:
            return []
        names = {line.split()[0] for line in text.splitlines() if line.strip()}
        return [event for event in triggers.SYNTHETIC_EVENTS if event in names]

    def _make_instance(self) -> None:
        try:
            self._instance.mkdir(0o700)
        except OSError as e:
            raise ConfigError(
                f"the kernel makes no tracing instance {self._instance}: {e.strerror}",
                "free memory, or remove unused tracing instances"
                if e.errno in (errno.ENOMEM, errno.ENOSPC)
                else f"remove it: rmdir {self._instance}",
            ) from e

    def _write(self, name: str, text: str, what: str) -> None:
        try:
            _append(self.path / name, text)
        except PermissionError as e:
            # A kernel that is locked down lists the files, and refuses to open them.
            raise _denied(self._sys, self.path / name, e) from e
        except OSError as e:
            raise ConfigError(
                f"the kernel {platform.release()} refuses {what} ({text}): {e.strerror}",
                "docs/latency.md has the requirements",
            ) from e


def _removals(path: Path) -> Iterator[str]:
    try:
        text = files.read(path)
    except SourceError:
        # The kernel lacks this event, or the instance is gone.
        return
    for line in text.splitlines():
        if command := triggers.removal(line):
            yield command


def _append(path: Path, text: str) -> None:
    """Writes a line to a control file. Without O_APPEND, tracefs would remove what it has."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _mounted(sys: Path) -> Path:
    """Returns the mounted tracefs.

    Raises:
        ConfigError: there is none, or the kernel lacks what is needed.
    """
    places = [sys / place for place in _MOUNTS]
    for path in places:
        try:
            present = set(os.listdir(path))
        except PermissionError as e:
            raise _denied(sys, path, e) from e
        except OSError:
            continue
        if "events" not in present:
            continue
        if "synthetic_events" not in present:
            raise _lacking("synthetic events (CONFIG_SYNTH_EVENTS)")
        if not (path / "events" / "block" / "block_rq_issue" / "hist").exists():
            raise _lacking("hist triggers (CONFIG_HIST_TRIGGERS)")
        return path
    if not places[0].is_dir():
        raise _lacking("tracefs (CONFIG_TRACING)")
    raise ConfigError(
        "tracefs is not mounted", f"run: mount -t tracefs tracefs {places[0]}, or reboot"
    )


def _lacking(what: str) -> ConfigError:
    return ConfigError(
        f"the kernel {platform.release()} has no {what}",
        "use a kernel that has it; docs/latency.md has the requirements",
    )


def _locked(sys: Path, instances: Path, wait_seconds: float) -> int:
    """Returns a descriptor of the directory of instances, which holds the lock.

    Raises:
        ConfigError: another process measures, or the directory cannot be used.
    """
    try:
        descriptor = os.open(instances, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError as e:
        raise _denied(sys, instances, e) from e
    except OSError as e:
        raise ConfigError(
            f"{instances} cannot be opened: {e.strerror}", "the kernel has no tracing instances"
        ) from e
    until = time.monotonic() + wait_seconds
    while not lock(descriptor):
        if time.monotonic() >= until:
            os.close(descriptor)
            raise ConfigError(
                "another ssd-exporter measures the latency on this host",
                "wait until it ends; one can measure at a time",
            )
        time.sleep(_RETRY_SECONDS)
    if not _is_writable(instances):
        os.close(descriptor)
        raise ConfigError(
            f"{instances} is read-only",
            "run it outside a container; a unit needs systemd/latency.conf (docs/latency.md)",
        )
    return descriptor


def _is_writable(path: Path) -> bool:
    return not os.statvfs(path).f_flag & os.ST_RDONLY


def _denied(sys: Path, path: Path, e: OSError) -> ConfigError:
    lockdown = files.read_attribute(sys / "kernel" / "security" / "lockdown") or ""
    if "[confidentiality]" in lockdown:
        return ConfigError(
            f"the kernel is locked down (confidentiality): {path} cannot be opened",
            "boot with lockdown=integrity or without it to measure single requests",
        )
    return ConfigError(f"{path} cannot be opened: {e.strerror}", "run this command as root")
