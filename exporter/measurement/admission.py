"""One probe a host: a command waits for the daemon's to end, and says who has the lock.

One probe runs on a host at a time: a measurement's lock_session, taken, given up, and taken again.

Whether a measurement may begin: the daemon's gate is asked, of what a person wants to write.

What a measurement writes is said before it begins, and agreed to by a person.

A person agrees to what is written before it is; other probes do not wait for who thinks.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.config import Settings
from exporter.errors import ConfigError, SourceError
from exporter.linux import files, locks
from exporter.measurement import target
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.gate import GateState, Reason, Skip, gate
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.profiles import Profile
from exporter.report.formatting import printable, quantity
from exporter.report.progress import Progress

#: A slot of the daemon's takes less.
_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.5

#: As `HostLock` has it.
_NAME = "ssd-exporter-probe.lock"


def wait_for_lock(
    lock: HostLock,
    pid_file: ProbePidFile,
    places: Sequence[Path],
    *,
    clock: Clock,
    progress: Progress,
    patience_seconds: float = _PATIENCE_SECONDS,
) -> None:
    """Have the host's probe lock, after a while where another has it.

    places: the directories of `lock`.

    Raises:
        ConfigError: the other goes on, or the lock cannot be had at all.
    """
    until = clock.monotonic() + patience_seconds
    while not (pid_file.kill_leftover() and lock.acquire()):
        left = until - clock.monotonic()
        if not any(os.path.exists(place / _NAME) for place in places):
            listed = " and ".join(map(str, places))
            raise ConfigError(f"the probe lock cannot be made in {listed}", "run this as root")
        who = lock_holder(places) or "another process"
        if left <= 0:
            raise ConfigError(
                f"{who} is probing on this host", "one probe runs at a time: try again later"
            )
        progress.show(f"waiting for {who}, which is probing", None)
        clock.sleep(min(_LOOK_SECONDS, left))


def lock_holder(places: Sequence[Path], proc: Path = Path("/proc")) -> str:
    """Who has the lock, as "ssd-exporter (process 12)"; empty where nobody is told to."""
    for place in places:
        pid = locks.read_flock_holder(proc, place / _NAME)
        if pid is not None:
            return f"{_name(proc, pid)} (process {pid})"
    return ""


def _name(proc: Path, pid: int) -> str:
    try:
        command = files.read(proc / str(pid) / "cmdline").split("\0")
    except SourceError:
        command = []
    # Run as `python -m exporter` or by its script, the program's name is in the second place.
    if any("ssd-exporter" in each or each == "exporter" for each in command[:4]):
        return "ssd-exporter"
    return files.read_attribute(proc / str(pid) / "comm") or "another program"


class HostLockSession:
    """The host's lock, and what a killed run left. places: where the lock may be.

    state: where the pid_file is noted. says: where it is said who is waited for.
    """

    def __init__(
        self, conditions: Conditions, places: Sequence[Path], state: Path, says: TextIO
    ) -> None:
        self.lock, self.pid_file = HostLock(places), ProbePidFile(state)
        self._conditions = conditions
        self._places = places
        self._says = says

    def acquire(self) -> None:
        """Have the host's probe lock, and settle what a killed run left.

        Raises:
            ConfigError: another has it. ReadError: the budget cannot be read or written.
        """
        its = self._conditions
        with its.interruption.exit_at_once(), Progress(self._says) as progress:
            wait_for_lock(
                self.lock, self.pid_file, self._places, clock=its.clock, progress=progress
            )
        its.account.recover()


#: Over so long the load is looked at before anything begins.
_LOAD_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """What is to be done.

    written_bytes: what all runs write at most by fio's count, filling included. missing_bytes: what
    their file still takes of the free space.
    """

    profile: Profile
    written_bytes: int
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class Admission:
    """The gate of one directory. anyway: load keeps nothing off. says: where progress goes."""

    conditions: Conditions
    settings: Settings
    anyway: bool
    says: TextIO

    def ask(self, intent: PlannedWrite, *, is_stuck: bool) -> None:
        """Come back where it may begin, after two seconds in which the load is looked at.

        is_stuck: a fio cannot be ended.

        Raises:
            ConfigError: it must not run; or should not now, and nobody said --anyway.
            ReadError: the filesystem cannot be looked at.
        """
        skip = gate(self._state(intent, is_stuck=is_stuck), self.conditions.rules)
        if not isinstance(skip, Skip):
            return
        device, account = self.conditions.location.device, self.conditions.account
        if not (skip.is_for_load or skip.reason is Reason.UNOBSERVED):
            if skip.reason is Reason.BUDGET:
                raise account.too_much(intent.written_bytes)
            raise ConfigError(f"{device} is not measured now: {_sizes(skip.detail)}")
        if not self.anyway:
            raise ConfigError(
                f"{device} is not measured now: {skip.detail}",
                "try again when the host is quieter, or add --anyway",
            )

    def _state(self, intent: PlannedWrite, *, is_stuck: bool) -> GateState:
        its, account = self.conditions, self.conditions.account
        with its.interruption.exit_at_once():
            busy = self._busy_ratio()
        copy_on_write = self.settings.probe.copy_on_write
        return replace(
            its.directory.gate_state(intent.profile, copy_on_write=copy_on_write),
            is_on_demand=True,
            is_unacknowledged=account.unacknowledged is not None,
            is_stuck=is_stuck,
            writes=intent.written_bytes > 0,
            missing_bytes=intent.missing_bytes,
            needed_bytes=FILESYSTEM_FACTOR * intent.written_bytes,
            budget_bytes=account.left.life_bytes,
            busy_ratio=busy,
            skips=0,
        )

    def _busy_ratio(self) -> float | None:
        its, proc, device = (
            self.conditions,
            self.settings.path.procfs,
            self.conditions.location.device,
        )
        with Progress(self.says) as progress:
            progress.show(f"looking at the load of {device}", None)
            begun, before = its.clock.monotonic(), target.read_disk(proc, device)
            its.directory.record_load()
            its.clock.sleep(_LOAD_SECONDS)
            its.directory.record_load()
            seconds, now = its.clock.monotonic() - begun, target.read_disk(proc, device)
        return target.busy_ratio(before, now, seconds)


def _sizes(words: str) -> str:
    """The gate says bytes to the last one, as a log has them."""
    return re.sub(
        r"\b(\d{5,})\b(?: bytes)?(?! inodes)", lambda found: quantity(int(found[1]), "B"), words
    )


@dataclass(frozen=True, slots=True)
class Streams:
    """asks: where the answer is read from; says: where questions and progress go, not results."""

    answers: TextIO
    messages: TextIO


@dataclass(frozen=True, slots=True)
class WritePlan:
    """What is about to be done.

    where: "/mnt/probe on sda". charge_bytes: written at most, with the filesystem's share.
    rated_bytes: what the drive's maker lets be written; None is not known. left_bytes: of today's
    budget of the scheduled probes.
    """

    where: str
    charge_bytes: int
    seconds: float
    rated_bytes: float | None = None
    left_bytes: int = 0

    def words(self) -> str:
        """A sentence without its subject and end: "writes at most 2 GB to ..."."""
        if not self.charge_bytes:
            return f"reads in {self.where} and writes nothing; takes at most {span(self.seconds)}"
        life = ""
        if self.rated_bytes:
            life = f" ({100 * self.charge_bytes / self.rated_bytes:.2g} % of its rated life)"
        over = ""
        if self.charge_bytes > self.left_bytes:
            over = f" (scheduled probes may write {quantity(self.left_bytes, 'B')} more today)"
        return (
            f"writes at most {quantity(self.charge_bytes, 'B')}{life} to {self.where}, with what"
            f" the filesystem adds{over}; takes at most {span(self.seconds)}"
        )


def ask_consent(plan: WritePlan, streams: Streams, *, yes: bool) -> None:
    """Come back where the plan is agreed to.

    Raises:
        ConfigError: it is not, or nobody is there to be asked.
    """
    words = printable(plan.words())
    if yes:
        streams.messages.write(f"{words}\n")
        streams.messages.flush()
        return
    if not streams.answers.isatty():
        raise ConfigError(f"this {words}", "agree to it with --yes")
    streams.messages.write(f"{words}\ngo on? [y/N] ")
    streams.messages.flush()
    answer = streams.answers.readline()
    if not answer.endswith("\n"):
        streams.messages.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was written", "it begins with the answer y, or with --yes")


#: What the gate said is believed for so long, while a person thinks.
_BELIEVED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Consent:
    """yes: it was agreed to beforehand. admit: asks the gate again."""

    conditions: Conditions
    lock_session: HostLockSession
    streams: Streams
    yes: bool
    admit: Callable[[], None]

    def request(self, written_bytes: int, seconds: float, *, always: bool) -> None:
        """Say what is written at most and how long it takes; come back where that is agreed to.

        Without `always` it is asked only for more than today's scheduled probes may still write.

        Raises:
            ConfigError: nobody agreed, or the device is in use by then. ReadError: as `acquire`.
        """
        its, account = self.conditions, self.conditions.account
        plan = WritePlan(
            f"{its.directory.path} on {its.location.device}",
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
        begun = clock.monotonic()
        self.lock_session.lock.release()
        with self.conditions.interruption.exit_at_once():
            ask_consent(plan, self.streams, yes=False)
        self.lock_session.acquire()
        if clock.monotonic() - begun > _BELIEVED_SECONDS:
            self.admit()
