"""Runs fio for a measurement, and prepares and removes the file that fio uses.

The guard checks four times per second during a run whether production needs the device. If so, it
ends fio.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.config.profiles import Profile
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.measurement.interruption import InterruptHandler
from exporter.probe import filling, probe_file
from exporter.probe.fio import Fio
from exporter.probe.fio_run import ProfileResult, RunOutcome, run_fio
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.runtime.errors import ConfigError, ReadError
from exporter.runtime.printable import printable

_GUARD_WORDS: Mapping[Reason, str] = {
    Reason.BUSY: "production needs the device",
    Reason.CGROUP_PRESSURE: "mysqld waits for I/O",
    Reason.HOT: "the drive is too hot",
    Reason.NO_SPACE: "the filesystem is nearly full",
}


def run(
    conditions: Conditions,
    fio: Fio,
    profiles: Sequence[Profile],
    file: Path,
    *,
    lock: HostLock,
    pid_file: ProbePidFile,
    show: Callable[[float], None],
) -> RunOutcome:
    """Runs the profiles one after the other in a single fio process. Returns the outcome.

    fio is ended early if the user interrupts it, or if the guard finds that a limit is reached
    (`guard_words` lists them). Before the run, the bytes that the profiles may write are reserved
    in the budget (the permitted bytes) for the drive's life. After it, the bytes that were written
    are counted instead.

    file: the file that fio reads and writes.
    lock: the host lock. This process holds it, and fio inherits it.
    pid_file: the file in which fio's process ID is recorded.
    show: called four times per second with the seconds since the start.

    Raises:
        ConfigError: the remaining budget is too small.
        ReadError: the budget's file cannot be read or written.
    """
    directory, account = conditions.directory, conditions.account
    written = sum(profile.written_bytes_at_most for profile in profiles)
    account.reserve("+".join(profile.name for profile in profiles), written)
    clock, interruption = conditions.clock, conditions.interruption
    started_at = clock.monotonic()

    def is_stopping() -> bool:
        show(clock.monotonic() - started_at)
        return interruption.is_set

    outcome: RunOutcome | None = None
    try:
        outcome = run_fio(
            fio,
            profiles,
            file,
            lock=lock,
            pid_file=pid_file,
            sampler=directory.guard_sampler(profiles),
            avail=directory.avail_bytes,
            rules=conditions.rules,
            clock=clock,
            is_stopping=is_stopping,
        )
    finally:
        account.settle(
            outcome.fio_bytes if outcome else None, outcome.device_bytes if outcome else None
        )
    return outcome


def failure_message(outcome: RunOutcome, interruption: InterruptHandler) -> str:
    """Returns why a run did not finish, in one line; empty if it succeeded."""
    if outcome.result is ProfileResult.SUCCESS:
        return ""
    if interruption.is_set:
        return f"ended by {interruption.words}"
    if outcome.reason is not None:
        seconds = span(outcome.ended_at - outcome.started_at)
        return f"the guard ended it after {seconds}: {guard_words(outcome.reason)}"
    # fio is started through setpriv, which the user does not know. The message names fio instead.
    words = printable(outcome.message)
    return words.replace("setpriv", "fio", 1) or f"fio: {outcome.result.value}"


def guard_words(reason: Reason) -> str:
    """Returns why the guard ended a run, as text for people: "mysqld waits for I/O".

    The guard ends a run if production needs the device, mysqld waits for I/O, the drive is too hot,
    or the filesystem is nearly full.
    """
    return _GUARD_WORDS.get(reason, reason.value)


def fill_file(
    conditions: Conditions,
    name: str,
    size_bytes: int,
    *,
    missing_bytes: int,
    show: Callable[[str, float], None],
) -> None:
    """Fills the missing part of the file with random data.

    The written bytes are counted against the budget (the permitted bytes) for the drive's life.

    name: the file's name in the directory.
    size_bytes: the length of the file afterwards.
    missing_bytes: the bytes to write, as returned by `filling.bytes_to_fill`.
    show: receives a message and the progress, 0 to 1.

    Raises:
        ConfigError: the directory or the file cannot be used, or the budget is too small.
        ReadError: the disk is full, production needs the device, the user interrupted the filling,
            or the budget's file cannot be read or written.
    """
    directory, account = conditions.directory, conditions.account
    interruption = conditions.interruption

    def on_progress(length_bytes: int) -> None:
        if interruption.is_set:
            raise ReadError(f"nothing was measured: ended by {interruption.words}")
        show("filling the file with random data", length_bytes / size_bytes)

    with _unsafe_file_as_config_error(directory.path):
        # This check comes before the reservation. Nothing is written to an unusable file, so
        # nothing must be charged for it.
        probe_file.check_usable(directory.path, name)
        account.reserve("filling", missing_bytes)
        try:
            filling.fill(
                directory,
                name,
                size_bytes,
                missing_bytes,
                rules=conditions.rules,
                clock=conditions.clock,
                on_progress=on_progress,
                settle=lambda written: account.settle(written, None),
            )
        except filling.FillAborted as e:
            words = guard_words(e.guard_reason)
            raise ReadError(f"nothing was measured: the file is not filled; {words}") from e


def prepare_length(directory: Path, name: str, size_bytes: int) -> Path:
    """Extends the file to at least `size_bytes` without filling it, and checks it.

    Call this before each run. Returns the path of the file.

    Raises:
        ConfigError: the directory or the file cannot be used.
        FilesystemFull: the disk is full.
    """
    with _unsafe_file_as_config_error(directory):
        probe_file.prepare(directory, name, size_bytes, fill=False)
        return probe_file.check(directory, name, size_bytes)


@contextmanager
def remove_afterwards(
    directory: Path, name: str, is_in_use: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Context manager that removes a probe's file at its end.

    It also removes the directory if the directory did not exist at the start.

    name: the file's name in the directory.
    is_in_use: called at the end. If it returns True, nothing is removed, because fio still writes
        to the file.
    """
    is_new = not os.path.lexists(directory)
    try:
        yield
    finally:
        if not is_in_use():
            # A file that was not created for probes is not removed.
            with suppress(probe_file.UnsafeProbeFile, probe_file.FilesystemFull):
                probe_file.remove(directory, name)
            if is_new:
                with suppress(OSError):
                    os.rmdir(directory)


@contextmanager
def _unsafe_file_as_config_error(directory: Path) -> Iterator[None]:
    try:
        yield
    except probe_file.UnsafeProbeFile as e:
        hint = "name a directory that does not exist yet: it is created for this user alone"
        if not os.path.lexists(directory):
            hint = "run this as root, or name a place where you may create a directory"
        raise ConfigError(str(e), hint) from e
