"""Decides whether a measurement may start: the host lock, the gate, and the user's consent.

The gate is the daemon's own. The user sees how much is written before anything is written. The
host lock is released while the user answers, so that scheduled probes do not wait.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.config import Settings
from exporter.errors import ConfigError
from exporter.measurement import target
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.gate import GateState, Reason, Skip, gate
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.profiles import Profile
from exporter.report.formatting import printable, quantity
from exporter.report.progress import Progress

#: The timeout for the host lock, longer than the daemon usually probes, and the time between tries.
_LOCK_TIMEOUT_SECONDS = 60.0
_LOCK_POLL_SECONDS = 0.5

#: The interval over which the load is measured before a measurement starts, in seconds.
_LOAD_SECONDS = 2.0

#: If the user takes longer than this to answer, the gate decides again.
_DECISION_VALID_SECONDS = 10.0


class HostLockSession:
    """The host lock of one measurement: acquired, released for a question, and acquired again.

    directories: where the lock file may be. state: the directory of the pid file. messages: stream
    that shows which process holds the lock while this one waits.
    """

    def __init__(
        self,
        conditions: Conditions,
        directories: Sequence[Path],
        state: Path,
        messages: TextIO,
    ) -> None:
        self.lock, self.pid_file = HostLock(directories), ProbePidFile(state)
        self._conditions = conditions
        self._messages = messages

    def acquire(self) -> None:
        """Acquire the host lock, and settle the bytes of a run that was killed.

        Raises:
            ConfigError: another process holds the lock for too long, or it cannot be created.
            ReadError: the budget cannot be read or written.
        """
        conditions = self._conditions
        with (
            conditions.interruption.exit_at_once(),
            Progress(self._messages) as progress,
        ):
            wait_for_lock(self.lock, self.pid_file, clock=conditions.clock, progress=progress)
        conditions.account.recover()


def wait_for_lock(
    lock: HostLock,
    pid_file: ProbePidFile,
    *,
    clock: Clock,
    progress: Progress,
    timeout_seconds: float = _LOCK_TIMEOUT_SECONDS,
) -> None:
    """Wait until this process holds the host lock.

    Raises:
        ConfigError: another process holds it for too long, or it cannot be created.
    """
    until = clock.monotonic() + timeout_seconds
    while not (pid_file.kill_leftover() and lock.acquire()):
        left = until - clock.monotonic()
        if not lock.exists():
            listed = " and ".join(map(str, lock.directories))
            raise ConfigError(f"the probe lock cannot be created in {listed}", "run this as root")
        holder = lock.holder() or "another process"
        if left <= 0:
            raise ConfigError(
                f"{holder} is probing on this host", "one probe runs at a time: try again later"
            )
        progress.show(f"waiting for {holder}, which is probing", None)
        clock.sleep(min(_LOCK_POLL_SECONDS, left))


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """What a measurement is about to write.

    written_bytes: upper bound of what fio writes in all runs, plus the filling of the file.
    missing_bytes: free space that the file still takes.
    """

    profile: Profile
    written_bytes: int
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class Admission:
    """Queries the gate for one directory. anyway: admit despite load."""

    conditions: Conditions
    settings: Settings
    anyway: bool
    messages: TextIO

    def check(self, plan: PlannedWrite, *, is_stuck: bool) -> None:
        """Measure the load for two seconds, and return if the measurement may start.

        is_stuck: a fio process cannot be ended.

        Raises:
            ConfigError: it may not start. With --anyway, load is not a reason.
            ReadError: the filesystem cannot be read.
        """
        decision = gate(self._state(plan, is_stuck=is_stuck), self.conditions.rules)
        if not isinstance(decision, Skip):
            return
        device, account = self.conditions.location.device, self.conditions.account
        if not (decision.is_for_load or decision.reason is Reason.UNOBSERVED):
            if decision.reason is Reason.BUDGET:
                raise account.too_much(plan.written_bytes)
            raise ConfigError(f"refusing to measure {device}: {_with_units(decision.detail)}")
        if not self.anyway:
            raise ConfigError(
                f"refusing to measure {device}: {decision.detail}",
                "try again when the host is less busy, or add --anyway",
            )

    def _state(self, plan: PlannedWrite, *, is_stuck: bool) -> GateState:
        account = self.conditions.account
        with self.conditions.interruption.exit_at_once():
            busy = self._busy_ratio()
        copy_on_write = self.settings.probe.copy_on_write
        return replace(
            self.conditions.directory.gate_state(plan.profile, copy_on_write=copy_on_write),
            is_on_demand=True,
            is_unacknowledged=account.unacknowledged is not None,
            is_stuck=is_stuck,
            writes=plan.written_bytes > 0,
            missing_bytes=plan.missing_bytes,
            needed_bytes=FILESYSTEM_FACTOR * plan.written_bytes,
            budget_bytes=account.left.life_bytes,
            busy_ratio=busy,
            skips=0,
        )

    def _busy_ratio(self) -> float | None:
        proc, device = self.settings.path.procfs, self.conditions.location.device
        clock, directory = self.conditions.clock, self.conditions.directory
        with Progress(self.messages) as progress:
            progress.show(f"measuring the load of {device}", None)
            started, before = clock.monotonic(), target.read_disk(proc, device)
            directory.record_load()
            clock.sleep(_LOAD_SECONDS)
            directory.record_load()
            seconds, now = clock.monotonic() - started, target.read_disk(proc, device)
        return target.busy_ratio(before, now, seconds)


def _with_units(words: str) -> str:
    """Returns the gate's message with rounded sizes: the gate prints plain bytes for the log."""
    return re.sub(
        r"\b(\d{5,})\b(?: bytes)?(?! inodes)", lambda match: quantity(int(match[1]), "B"), words
    )


@dataclass(frozen=True, slots=True)
class Streams:
    """answers: the user's input. messages: questions and progress, not results."""

    answers: TextIO
    messages: TextIO


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The plan that the user consents to.

    where: "/mnt/probe on sda". charge_bytes: written at most, including what the filesystem adds.
    rated_bytes: the drive's rated endurance; None is unknown. left_bytes: what is left of today's
    budget of the scheduled probes.
    """

    where: str
    charge_bytes: int
    seconds: float
    rated_bytes: float | None = None
    left_bytes: int = 0

    def words(self) -> str:
        """Returns a sentence without its subject: "writes at most 2 GB to ..."."""
        if not self.charge_bytes:
            return f"reads in {self.where} and writes nothing; takes at most {span(self.seconds)}"
        life = ""
        if self.rated_bytes:
            percent = 100 * self.charge_bytes / self.rated_bytes
            life = f" ({percent:.2g} % of its rated endurance)"
        over = ""
        if self.charge_bytes > self.left_bytes:
            over = f" (scheduled probes may write {quantity(self.left_bytes, 'B')} more today)"
        return (
            f"writes at most {quantity(self.charge_bytes, 'B')}{life} to {self.where}, including"
            f" what the filesystem adds{over}; takes at most {span(self.seconds)}"
        )


def ask_consent(plan: WritePlan, streams: Streams, *, yes: bool) -> None:
    """Show the plan and return if the user consents. yes: do not ask.

    Raises:
        ConfigError: the user refuses, or the input is not a terminal.
    """
    words = printable(plan.words())
    if yes:
        streams.messages.write(f"{words}\n")
        streams.messages.flush()
        return
    if not streams.answers.isatty():
        raise ConfigError(f"this {words}", "give --yes to consent")
    streams.messages.write(f"{words}\ncontinue? [y/N] ")
    streams.messages.flush()
    answer = streams.answers.readline()
    if not answer.endswith("\n"):
        streams.messages.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was written", "answer y or give --yes to start")


@dataclass(frozen=True, slots=True)
class Consent:
    """Obtains the user's consent.

    yes: the user gave consent on the command line. admit: queries the gate again.
    """

    conditions: Conditions
    lock_session: HostLockSession
    streams: Streams
    yes: bool
    admit: Callable[[], None]

    def request(self, written_bytes: int, seconds: float, *, always: bool) -> None:
        """Show what is written at most and how long it takes; return if the user consents.

        always: ask in any case. Otherwise ask only if the measurement writes more than scheduled
        probes may still write today.

        Raises:
            ConfigError: the user refuses, or the gate refuses after a long wait for the answer.
            ReadError: as `HostLockSession.acquire`.
        """
        directory, account = self.conditions.directory, self.conditions.account
        plan = WritePlan(
            f"{directory.path} on {self.conditions.location.device}",
            FILESYSTEM_FACTOR * written_bytes,
            seconds,
            account.rated_bytes,
            account.left.day_bytes,
        )
        if always or plan.charge_bytes > plan.left_bytes:
            self._ask(plan)

    def _ask(self, plan: WritePlan) -> None:
        if self.yes:
            ask_consent(plan, self.streams, yes=True)
            return
        clock = self.conditions.clock
        started = clock.monotonic()
        self.lock_session.lock.release()
        with self.conditions.interruption.exit_at_once():
            ask_consent(plan, self.streams, yes=False)
        self.lock_session.acquire()
        if clock.monotonic() - started > _DECISION_VALID_SECONDS:
            self.admit()
