"""What every measurement that a person asks for shares: its steps, from the lock to the last file.

It goes the daemon's way: the same gate, budget, host lock and guard. What differs is that a person
sees what is written and may agree to more than the day's budget; all of it is charged to the
drive's life, and nothing to the day of the scheduled probes.

What is the same in each call of a command that measures: its options, and where it reports.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.config import Settings
from exporter.errors import CommandError, SourceError
from exporter.measurement import guarded_run, ownership, target
from exporter.measurement.account import Conditions, MeasurementAccount, guard_rules
from exporter.measurement.admission import (
    Admission,
    Consent,
    HostLockSession,
    PlannedWrite,
    Streams,
)
from exporter.measurement.guarded_run import GuardedRun
from exporter.measurement.interruption import InterruptHandler
from exporter.probe import filling, probe_file
from exporter.probe.fio import Fio
from exporter.probe.fio_run import RunOutcome
from exporter.probe.location import Location
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile, with_engine
from exporter.report import delivery
from exporter.report.content import Report
from exporter.report.formatting import printable
from exporter.report.progress import Progress

#: Exit statuses of all measurements; 2 is a mistake in how it was asked for, or a refusal.
MEASURED, JUDGED_BAD, NOT_MEASURED = 0, 1, 3


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """What a person said. directory: None for the configured one. anyway: on a busy device too."""

    directory: Path | None = None
    yes: bool = False
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class MeasurementTools:
    """What a measurement has of the system. fio: made in the thread that runs it."""

    clock: Clock
    fio: Callable[[], Fio]
    environment: Mapping[str, str]
    streams: Streams


class Measurement:
    """One directory to measure in, while the host's probe lock is held; made by `measuring`.

    In this order: `begin`, which `measuring` does, `admit`, `consent`, `prepared`, `run` as often
    as is wanted.
    """

    def __init__(
        self,
        conditions: Conditions,
        *,
        settings: Settings,
        options: MeasurementOptions,
        edges: MeasurementTools,
        state: Path,
    ) -> None:
        self.directory = conditions.directory
        self.location: Location = conditions.location
        self.clock = conditions.clock
        self.interruption = conditions.interruption
        self.fio = edges.fio()
        says = edges.streams.messages
        places = (settings.path.rootfs / "run/lock", state)
        self._says = says
        self._conditions = conditions
        self._lock_session = HostLockSession(conditions, places, state, says)
        self._admission = Admission(conditions, settings, options.anyway, says)
        self._admitted: PlannedWrite | None = None
        self._agreement = Consent(
            conditions, self._lock_session, edges.streams, options.yes, self._admit
        )
        self._runs = GuardedRun(
            conditions, self._lock_session.lock, self._lock_session.pid_file, settings.path.sysfs
        )
        self._is_stuck = False
        self._undo = contextlib.ExitStack()
        self._progress: Progress | None = None

    @property
    def charged_bytes(self) -> int:
        """What the budget was charged so far."""
        return self._conditions.account.charged_bytes

    def begin(self) -> None:
        """Acquire the host lock and settle the bytes of a killed run; see `HostLockSession`."""
        self._lock_session.acquire()

    def with_engine(self, profiles: Sequence[Profile]) -> tuple[Profile, ...]:
        """The profiles with engines that this fio has.

        Raises:
            CommandError: there is no fio that can be used.
        """
        engines = self.fio.engines()
        if engines is None:
            raise CommandError(self.fio.problem)
        return tuple(with_engine(each, engines) for each in profiles)

    def admit(self, profile: Profile, written_bytes: int, missing_bytes: int) -> None:
        """Ask the gate, after two seconds in which the load is looked at.

        profile: one of those that were given to `measuring`. written_bytes: what all runs write at
        most by fio's count, filling included. missing_bytes: what their file still takes of the
        free space.

        Raises:
            ConfigError: it must not run; or should not now, and nobody said --anyway.
            ReadError: the filesystem cannot be looked at.
        """
        self._admitted = PlannedWrite(profile, written_bytes, missing_bytes)
        self._admit()

    def consent(self, written_bytes: int, seconds: float, *, always: bool = True) -> None:
        """Say what is written at most and how long it takes; come back where that is agreed to.

        Without `always` it is asked only for more than today's scheduled probes may still write.
        From here on Ctrl-C and SIGTERM end what runs, and not this process: see `interruption`.

        Raises:
            ConfigError: nobody agreed, or the device is in use by then. ReadError: as `admit`.
        """
        self._agreement.request(written_bytes, seconds, always=always)
        self._progress = self._undo.enter_context(Progress(self._says))

    def show(self, words: str, done: float | None = None) -> None:
        """Progress; `done` from 0 to 1. After `consent`."""
        if self._progress is not None:
            self._progress.show(words, done)

    def prepare_file(
        self,
        name: str,
        size_bytes: int,
        *,
        fill: bool,
        keep: bool = False,
        retained_bytes: int | None = None,
    ) -> Path:
        """The file `name` in the directory, filled with random data or given its length only.

        Without `keep` it is removed at the end, and so is the directory where it is made here.
        retained_bytes: with it no more than so much of the file stays; None is all of it.

        Raises:
            ConfigError: the directory or the file is none that may be used, or the budget is spent.
            ReadError: the disk is full, production needs the device, or it was interrupted.
        """
        path = self.directory.path
        if not keep:
            self._undo.enter_context(
                guarded_run.remove_afterwards(path, name, lambda: self._is_stuck)
            )
        elif retained_bytes is not None:
            self._undo.callback(self._shorten, name, retained_bytes)
        if fill and (missing := filling.bytes_to_fill(path, name, size_bytes)):
            guarded_run.fill_file(
                self._conditions, name, size_bytes, missing_bytes=missing, show=self.show
            )
        return guarded_run.prepare_length(path, name, size_bytes)

    def run(
        self,
        profiles: Sequence[Profile],
        file: Path,
        go_on: Callable[[GuardSampler], bool] | None = None,
        fio: Fio | None = None,
    ) -> RunOutcome:
        """Run the profiles one after the other in one fio under guard, reserved and settled.

        go_on: asked four times a second, with all looks at the device so far; it may show progress,
        and ends the run with a False. fio: in the place of `self.fio`.

        Raises:
            ConfigError: the budget does not hold it.
            ReadError: the budget cannot be written down.
        """
        return self._runs.run(fio or self.fio, profiles, file, go_on)

    def problem(self, ended: RunOutcome) -> str:
        """Why a run did not come to its end, in one line; empty where it did."""
        return guarded_run.failure_message(ended, self.interruption)

    def close(self) -> None:
        """End fio, and tidy up. The lock and the file stay with a fio that cannot be ended."""
        # `close` forgets it; and releasing the lock would release it for fio too.
        self._is_stuck = self.fio.is_stuck
        self.fio.close()
        self._undo.close()
        if not self._is_stuck:
            self._lock_session.lock.release()

    def _admit(self) -> None:
        if self._admitted is not None:
            self._admission.ask(self._admitted, is_stuck=self.fio.is_stuck)

    def _shorten(self, name: str, size_bytes: int) -> None:
        # A fio that cannot be ended writes there still.
        if not self._is_stuck:
            # What is not ours is left alone.
            with contextlib.suppress(probe_file.UnsafeProbeFile, probe_file.FilesystemFull):
                probe_file.shorten(self.directory.path, name, size_bytes)


@contextlib.contextmanager
def measuring(
    settings: Settings,
    options: MeasurementOptions,
    profiles: Sequence[Profile],
    edges: MeasurementTools,
) -> Iterator[Measurement]:
    """Everything up to the gate; at the end fio is ended, files are tidied, the lock released.

    As root it goes on as the user who owns the state directory, which is the daemon's, until then.

    Raises:
        ConfigError: no directory, no fit filesystem, no right to the state, or the lock is held.
        SourceError: something could not be read.
    """
    path = target.select_directory(options.directory, settings)
    state = target.state_directory(settings, edges.environment)
    # All that is only read comes first: as root there is more to read, and to import.
    directory = target.probe_directory(path, profiles, settings, edges.clock, state)
    target.check_directory(directory, copy_on_write=settings.probe.copy_on_write)
    with contextlib.ExitStack() as stack:
        interruption = stack.enter_context(InterruptHandler())
        stack.enter_context(ownership.created_directory(path, state))
        stack.enter_context(ownership.as_owner(state))
        conditions = Conditions(
            directory,
            MeasurementAccount(directory, settings, state, edges.clock),
            guard_rules(settings.probe.gate, anyway=options.anyway),
            edges.clock,
            interruption,
        )
        measurement = Measurement(
            conditions, settings=settings, options=options, edges=edges, state=state
        )
        stack.callback(measurement.close)
        measurement.begin()
        yield measurement


def status(run: Callable[[], int], says: TextIO) -> int:
    """The exit status of a measurement: its own, or 3 and one line where nothing was measured."""
    try:
        return run()
    except SourceError as e:
        says.write(f"ssd-exporter: {printable(str(e))}\n")
        return NOT_MEASURED


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a person asked for, of any measurement. as_json: for programs. html: a page goes there.

    Each command adds its own.
    """

    options: MeasurementOptions = field(default_factory=MeasurementOptions)
    as_json: bool = field(default=False, kw_only=True)
    html: Path | None = field(default=None, kw_only=True)

    def check(self) -> None:
        """Before an hour of measuring: whether it can be reported as it is to be.

        Raises:
            ConfigError: it cannot.
        """
        delivery.check(self.html)

    def deliver(self, report: Report, out: TextIO) -> None:
        """Print the report, and write the page.

        Raises:
            ConfigError: the page cannot be written. The report has been printed then.
        """
        delivery.deliver(report, out, as_json=self.as_json, html=self.html)
