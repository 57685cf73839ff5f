"""A run of fio for a person: reserved on the account, guarded, settled, and said why it ended.

A measurement's file is filled: charged for, and only while production can spare the device.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.errors import ReadError
from exporter.linux import files
from exporter.measurement import measured_file
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.measurement.interruption import InterruptHandler
from exporter.probe.file_filling import FillingGuard
from exporter.probe.fio import Fio
from exporter.probe.fio_run import ProfileResult, RunEnd, run_fio
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.production_load import GuardWatch
from exporter.probe.profiles import Profile
from exporter.report.formatting import printable

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
    leftover: ProbePidFile
    sys: Path

    def run(
        self,
        fio: Fio,
        profiles: Sequence[Profile],
        file: Path,
        go_on: Callable[[GuardWatch], bool] | None,
    ) -> RunEnd:
        """The profiles one after the other in one fio. go_on: see `Measurement.run`.

        Raises:
            ConfigError: the budget does not hold it.
            ReadError: the budget cannot be written down.
        """
        its, account = self.conditions, self.conditions.account
        written = sum(each.written_bytes_at_most for each in profiles)
        account.reserve("+".join(each.name for each in profiles), written)
        watch = its.directory.watch([self._in_requests(each) for each in profiles])
        ended: RunEnd | None = None
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
                self.leftover.clear()
            account.settle(
                ended.fio_bytes if ended else None, ended.device_bytes if ended else None
            )
        return ended

    def _in_requests(self, profile: Profile) -> Profile:
        """For the guard: the kernel cuts a large block into requests that are all our own."""
        queue = self.sys / "block" / self.conditions.place.device.replace("/", "!") / "queue"
        most = (files.read_integer(queue / "max_sectors_kb") or _USUAL_REQUEST_KB) << 10
        return replace(profile, depth=profile.depth * -(-profile.block_bytes // most))

    def _note(self, pid: int) -> None:
        # Where it cannot be written down: it dies with us, and has the lock while it lives.
        with contextlib.suppress(OSError):
            self.leftover.note(pid)


def problem(ended: RunEnd, interruption: InterruptHandler) -> str:
    """Why a run did not come to its end, in one line; empty where it did."""
    if ended.result is ProfileResult.SUCCESS:
        return ""
    if interruption.is_set:
        return f"ended by {interruption.words}"
    if ended.reason is not None:
        gone = span(ended.ended - ended.begun)
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
    guard = FillingGuard(its, conditions.rules, conditions.clock, size_bytes, missing)

    def filling(at: int) -> None:
        reason = guard.look(at)
        if interruption.is_set:
            raise ReadError(f"nothing was measured: ended by {interruption.words}")
        if reason is not None:
            words = guard_words(reason)
            raise ReadError(f"nothing was measured: the file is not filled, for {words}")
        show("filling the file with random data", at / size_bytes)

    account.reserve("filling", missing)
    try:
        measured_file.fill(
            its.path, name, size_bytes, missing=missing, clock=conditions.clock, filling=filling
        )
    finally:
        account.settle(guard.written_bytes, None)
