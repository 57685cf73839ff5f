"""The file of a measurement: filled at a bearable pace, and taken away again.

A run of fio for a person: reserved on the account, guarded, settled, and said why it ended.

A measurement's file is filled: charged for, and only while production can spare the device.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ConfigError, ReadError
from exporter.linux import files
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.measurement.interruption import InterruptHandler
from exporter.probe import probe_file
from exporter.probe.filling import FillGuard
from exporter.probe.fio import Fio
from exporter.probe.fio_run import ProfileResult, RunOutcome, run_fio
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile
from exporter.report.formatting import printable

#: What production bears beside it: the daemon's pace.
_BYTES_PER_SECOND = 64 << 20

#: Who is later than this, as after a stall, does not catch up.
_LATE_SECONDS = 0.25


def missing_bytes(directory: Path, name: str, size_bytes: int) -> int:
    """What filling the file writes.

    A file that is long enough and has holes, as an aborted run leaves them, is filled anew.
    """
    missing = probe_file.missing_bytes(directory, name, size_bytes)
    return size_bytes if missing and _length(directory / name) >= size_bytes else missing


def fill_seconds(missing: int) -> float:
    """How long it takes to fill so much, on a drive that is faster than we want to be."""
    return missing / _BYTES_PER_SECOND


def fill_paced(
    directory: Path,
    name: str,
    size_bytes: int,
    *,
    missing: int,
    clock: Clock,
    filling: Callable[[int], None],
) -> None:
    """Fill what is missing; `filling` hears how far the file reaches, and may raise to give up.

    Raises:
        ConfigError: the directory or the file is none that may be used.
        NoSpace: the disk is full; what was begun is taken away again.
    """
    due, before = clock.monotonic(), size_bytes - missing

    def progress(at: int) -> None:
        nonlocal due, before
        filling(at)
        due = max(due, clock.monotonic() - _LATE_SECONDS)
        due, before = due + max(0, at - before) / _BYTES_PER_SECOND, max(at, before)
        if (left := due - clock.monotonic()) > 0:
            clock.sleep(left)

    with _usable(directory):
        if _length(directory / name) >= size_bytes:
            probe_file.remove(directory, name)
        probe_file.prepare(directory, name, size_bytes, progress=progress)


def check_file(directory: Path, name: str) -> None:
    """See that the file may be used, before anything is charged for it; the directory is made.

    Raises:
        ConfigError: the directory or the file is none that may be used.
    """
    with _usable(directory):
        probe_file.look(directory, name)


def prepare_length(directory: Path, name: str, size_bytes: int) -> Path:
    """The file, at least of that length, as it must be right before a run.

    Raises:
        ConfigError: the directory or the file is none that may be used.
        NoSpace: the disk is full.
    """
    with _usable(directory):
        probe_file.prepare(directory, name, size_bytes, fill=False)
        return probe_file.check(directory, name, size_bytes)


@contextmanager
def remove_afterwards(
    directory: Path, name: str, stays: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """The file is gone afterwards, and so is the directory where it was not there before.

    stays: asked at the end whether both are left, because something writes there still.
    """
    is_new = not os.path.lexists(directory)
    try:
        yield
    finally:
        if not stays():
            # What is not ours is left alone.
            with suppress(probe_file.UnsafeProbeFile, probe_file.FilesystemFull):
                probe_file.remove(directory, name)
            if is_new:
                with suppress(OSError):
                    os.rmdir(directory)


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    try:
        yield
    except probe_file.UnsafeProbeFile as e:
        hint = "a directory that does not exist yet is best: it is made, for us alone"
        if not os.path.lexists(directory):
            hint = "run this as root, or name a place where you may make one"
        raise ConfigError(str(e), hint) from e


def _length(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1


#: What the kernel makes of a request where it does not say.
_USUAL_REQUEST_KB = 128

_GUARD_WORDS: Mapping[Reason, str] = {
    Reason.BUSY: "production needs the device",
    Reason.CGROUP_PRESSURE: "mysqld waits for I/O",
    Reason.HOT: "the drive is too hot",
    Reason.NO_SPACE: "the filesystem is nearly full",
}


@dataclass(frozen=True, slots=True)
class GuardedRun:
    """Runs in one directory. lock: the host's, held, and lent to fio. sys: where sysfs is."""

    conditions: Conditions
    lock: HostLock
    pid_file: ProbePidFile
    sys: Path

    def run(
        self,
        fio: Fio,
        profiles: Sequence[Profile],
        file: Path,
        go_on: Callable[[GuardSampler], bool] | None,
    ) -> RunOutcome:
        """The profiles one after the other in one fio. go_on: see `Measurement.run`.

        Raises:
            ConfigError: the budget does not hold it.
            ReadError: the budget cannot be written down.
        """
        its, account = self.conditions, self.conditions.account
        written = sum(each.written_bytes_at_most for each in profiles)
        account.reserve("+".join(each.name for each in profiles), written)
        watch = its.directory.guard_sampler([self._in_requests(each) for each in profiles])
        ended: RunOutcome | None = None
        try:
            ended = run_fio(
                fio,
                profiles,
                file,
                lock=self.lock,
                started=self._note,
                watch=watch,
                avail=its.directory.avail_bytes,
                rules=its.rules,
                clock=its.clock,
                is_stopping=lambda: its.interruption.is_set or not (go_on is None or go_on(watch)),
            )
        finally:
            if not fio.is_stuck:
                self.pid_file.clear()
            account.settle(
                ended.fio_bytes if ended else None, ended.device_bytes if ended else None
            )
        return ended

    def _in_requests(self, profile: Profile) -> Profile:
        """For the guard: the kernel cuts a large block into requests that are all our own."""
        queue = self.sys / "block" / self.conditions.location.device.replace("/", "!") / "queue"
        most = (files.read_integer(queue / "max_sectors_kb") or _USUAL_REQUEST_KB) << 10
        return replace(profile, depth=profile.depth * -(-profile.block_bytes // most))

    def _note(self, pid: int) -> None:
        # Where it cannot be written down: it dies with us, and has the lock while it lives.
        with contextlib.suppress(OSError):
            self.pid_file.write(pid)


def failure_message(ended: RunOutcome, interruption: InterruptHandler) -> str:
    """Why a run did not come to its end, in one line; empty where it did."""
    if ended.result is ProfileResult.SUCCESS:
        return ""
    if interruption.is_set:
        return f"ended by {interruption.words}"
    if ended.reason is not None:
        gone = span(ended.ended_at - ended.started_at)
        return f"ended after {gone}, for {guard_words(ended.reason)}"
    # It is started through setpriv, which nobody has asked for.
    words = printable(ended.message)
    return words.replace("setpriv", "fio", 1) or f"fio: {ended.result.value}"


def guard_words(reason: Reason) -> str:
    """Why the guard ended something, for people."""
    return _GUARD_WORDS.get(reason, reason.value)


def fill(
    conditions: Conditions,
    name: str,
    size_bytes: int,
    *,
    missing: int,
    show: Callable[[str, float], None],
) -> None:
    """Fill what is missing of the file. show: hears how far it is, from 0 to 1.

    Raises:
        ConfigError: the directory or the file is none that may be used, or the budget is spent.
        ReadError: the disk is full, production needs the device, or it was interrupted.
    """
    its, account, interruption = conditions.directory, conditions.account, conditions.interruption
    guard = FillGuard(its, conditions.rules, conditions.clock, size_bytes, missing)

    def filling(at: int) -> None:
        reason = guard.check(at)
        if interruption.is_set:
            raise ReadError(f"nothing was measured: ended by {interruption.words}")
        if reason is not None:
            words = guard_words(reason)
            raise ReadError(f"nothing was measured: the file is not filled, for {words}")
        show("filling the file with random data", at / size_bytes)

    account.reserve("filling", missing)
    try:
        fill_paced(
            its.path, name, size_bytes, missing=missing, clock=conditions.clock, filling=filling
        )
    finally:
        account.settle(guard.written_bytes, None)
