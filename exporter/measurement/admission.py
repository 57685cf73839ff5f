"""Decides whether a measurement may start: the host lock, the gate, and the user's consent.

The host lock allows one probe per host. The gate uses the load and the state of the drive to decide
whether a probe may start. Scheduled probes use the same gate. The user is told how much a
measurement writes before it writes. The host lock is released while the user answers, so that
scheduled probes do not wait.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TextIO

from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.measurement import target
from exporter.measurement.account import Conditions
from exporter.measurement.figures import span
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.gate import Reason, Skip, gate
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.production_load import read_disk
from exporter.report.formatting import quantity
from exporter.report.progress import Progress
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable

#: The timeout for acquiring the host lock, and the time between two attempts, in seconds. The
#: timeout is longer than most probes of the daemon.
_LOCK_TIMEOUT_SECONDS = 60.0
_LOCK_POLL_SECONDS = 0.5

#: How long the load is measured before a measurement starts, in seconds.
_LOAD_SECONDS = 2.0


def wait_for_lock(
    lock: HostLock,
    pid_file: ProbePidFile,
    *,
    clock: Clock,
    progress: Progress,
    timeout_seconds: float = _LOCK_TIMEOUT_SECONDS,
) -> None:
    """Waits until this process holds the host lock, which allows one probe per host.

    First it kills a fio that an earlier process left running.

    Raises:
        ConfigError: another process holds the lock for longer than the timeout, or the lock file
            cannot be created.
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


class PlannedWrite(NamedTuple):
    """The amount of data that a measurement will write.

    profile: one of the profiles of the measurement.
    written_bytes: upper bound of the bytes that fio writes in all runs, plus the bytes that are
        written to fill the file before.
    missing_bytes: the additional free space that the file needs.
    """

    profile: Profile
    written_bytes: int
    missing_bytes: int


def admit(
    conditions: Conditions,
    settings: Settings,
    plan: PlannedWrite,
    messages: TextIO,
    *,
    anyway: bool,
    is_stuck: bool,
) -> None:
    """Measures the load for two seconds, and returns normally if the measurement may start.

    messages: the stream for progress messages.
    anyway: ignore the load of the host and of the device.
    is_stuck: True if an earlier fio process cannot be ended.

    Raises:
        ConfigError: the measurement may not start. With `anyway`, load does not cause this.
        ReadError: the filesystem cannot be read.
    """
    device, account = conditions.location.device, conditions.account
    with conditions.interruption.exit_at_once():
        busy = _busy_ratio(conditions, settings.path.procfs, messages)
    copy_on_write = settings.probe.copy_on_write
    state = replace(
        conditions.directory.gate_state(plan.profile, copy_on_write=copy_on_write),
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
    decision = gate(state, conditions.rules)
    if not isinstance(decision, Skip):
        return
    if not (decision.is_for_load or decision.reason is Reason.UNOBSERVED):
        if decision.reason is Reason.BUDGET:
            raise account.too_much(plan.written_bytes)
        raise ConfigError(f"refusing to measure {device}: {_with_units(decision.detail)}")
    if not anyway:
        raise ConfigError(
            f"refusing to measure {device}: {decision.detail}",
            "try again when the host is less busy, or add --anyway",
        )


def _busy_ratio(conditions: Conditions, proc: Path, messages: TextIO) -> float | None:
    clock, directory, device = conditions.clock, conditions.directory, conditions.location.device
    with Progress(messages) as progress:
        progress.show(f"measuring the load of {device}", None)
        started, before = clock.monotonic(), read_disk(proc, device)
        directory.record_load()
        clock.sleep(_LOAD_SECONDS)
        directory.record_load()
        seconds, now = clock.monotonic() - started, read_disk(proc, device)
    return target.busy_ratio(before, now, seconds)


def _with_units(words: str) -> str:
    """Returns the gate's message with rounded sizes and units, such as "18.3 GB".

    The gate writes plain numbers of bytes, which are suitable for the log only.
    """
    return re.sub(
        r"\b(\d{5,})\b(?: bytes)?(?! inodes)", lambda match: quantity(int(match[1]), "B"), words
    )


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of the terminal.

    answers: the user's input.
    messages: the output of questions and progress. Results are written elsewhere.
    """

    answers: TextIO
    messages: TextIO


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The plan to which the user consents.

    where: the directory and the device, such as "/mnt/probe on sda".
    charge_bytes: the largest number of written bytes, including the writes of the filesystem
        itself.
    seconds: the duration of the measurement, which is shown to the user.
    rated_bytes: the drive's rated endurance; None means unknown.
    left_bytes: the bytes that scheduled probes may still write today.
    """

    where: str
    charge_bytes: int
    seconds: float
    rated_bytes: float | None = None
    left_bytes: int = 0

    def words(self) -> str:
        """Returns the plan as text without a subject, such as "writes at most 2 GB to ..."."""
        if not self.charge_bytes:
            return f"reads in {self.where} and writes nothing; takes about {span(self.seconds)}"
        life = ""
        if self.rated_bytes:
            percent = 100 * self.charge_bytes / self.rated_bytes
            life = f" ({percent:.2g} % of its rated endurance)"
        over = ""
        if self.charge_bytes > self.left_bytes:
            over = f" (scheduled probes may write {quantity(self.left_bytes, 'B')} more today)"
        return (
            f"writes at most {quantity(self.charge_bytes, 'B')}{life} to {self.where}, including"
            f" what the filesystem adds{over}; takes about {span(self.seconds)}"
        )


def ask_consent(plan: WritePlan, streams: Streams, *, yes: bool) -> None:
    """Shows the plan, asks the user, and returns normally if the user consents.

    yes: only show the plan, because the user has already consented.

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
