"""Runs a measurement: the steps that all measuring commands share, from the lock to the report.

It uses the daemon's gate, budget, host lock and guard. The user sees how much is written and may
consent to more than the day's budget. All written bytes are charged to the drive's life, and none
to the day of the scheduled probes.
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

#: Exit statuses of all measuring commands. 2 means a wrong argument, or a measurement that was
#: refused.
MEASURED, JUDGED_BAD, NOT_MEASURED = 0, 1, 3


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """The user's options.

    directory: None for the configured one. yes: consent was given on the command line. anyway:
    measure a busy device too.
    """

    directory: Path | None = None
    yes: bool = False
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class MeasurementTools:
    """The parts of the system that a measurement uses; tests replace them.

    fio: creates the `Fio`; called on the thread that runs it.
    """

    clock: Clock
    fio: Callable[[], Fio]
    environment: Mapping[str, str]
    streams: Streams


class Measurement:
    """A measurement in one directory, while this process holds the host lock; see `measuring`.

    Call in this order: `begin` (`measuring` does), `admit`, `consent`, `prepare_file`, then `run`
    any number of times.
    """

    def __init__(
        self,
        conditions: Conditions,
        *,
        settings: Settings,
        options: MeasurementOptions,
        tools: MeasurementTools,
        state: Path,
    ) -> None:
        self.directory = conditions.directory
        self.location: Location = conditions.location
        self.clock = conditions.clock
        self.interruption = conditions.interruption
        self.fio = tools.fio()
        messages = tools.streams.messages
        places = (settings.path.rootfs / "run/lock", state)
        self._messages = messages
        self._conditions = conditions
        self._lock_session = HostLockSession(conditions, places, state, messages)
        self._admission = Admission(conditions, settings, options.anyway, messages)
        self._admitted: PlannedWrite | None = None
        self._consent = Consent(
            conditions, self._lock_session, tools.streams, options.yes, self._admit
        )
        self._runs = GuardedRun(
            conditions, self._lock_session.lock, self._lock_session.pid_file, settings.path.sysfs
        )
        self._is_stuck = False
        self._cleanup = contextlib.ExitStack()
        self._progress: Progress | None = None

    @property
    def charged_bytes(self) -> int:
        """Bytes charged to the budget so far."""
        return self._conditions.account.charged_bytes

    def begin(self) -> None:
        """Acquire the host lock and settle the bytes of a killed run; see `HostLockSession`."""
        self._lock_session.acquire()

    def with_engine(self, profiles: Sequence[Profile]) -> tuple[Profile, ...]:
        """Returns the profiles with engines that this fio has.

        Raises:
            CommandError: fio is missing or too old.
        """
        engines = self.fio.engines()
        if engines is None:
            raise CommandError(self.fio.problem)
        return tuple(with_engine(profile, engines) for profile in profiles)

    def admit(self, profile: Profile, written_bytes: int, missing_bytes: int) -> None:
        """Query the gate, after measuring the load for two seconds.

        profile: one of those given to `measuring`. written_bytes, missing_bytes: as in
        `PlannedWrite`.

        Raises:
            ConfigError: the measurement may not start. With --anyway, load is not a reason.
            ReadError: the filesystem cannot be read.
        """
        self._admitted = PlannedWrite(profile, written_bytes, missing_bytes)
        self._admit()

    def consent(self, written_bytes: int, seconds: float, *, always: bool = True) -> None:
        """Show what is written at most and how long it takes; return if the user consents.

        always: as in `Consent.request`. After this call Ctrl-C and SIGTERM end fio and not this
        process; see `interruption`.

        Raises:
            ConfigError, ReadError: as `Consent.request`.
        """
        self._consent.request(written_bytes, seconds, always=always)
        self._progress = self._cleanup.enter_context(Progress(self._messages))

    def show(self, words: str, done: float | None = None) -> None:
        """Show progress, `done` from 0 to 1. Shows nothing before `consent`."""
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
        """Returns the file `name` in the directory, at least `size_bytes` long.

        fill: fill it with random data; if False, only its length is set. keep: keep the file at the
        end; if False, it is removed, and the directory too if it was created here. retained_bytes:
        how much of a kept file stays; None for all of it.

        Raises:
            ConfigError: the directory or the file cannot be used, or the budget is too small.
            ReadError: the disk is full, production needs the device, or the user interrupted it.
        """
        path = self.directory.path
        if not keep:
            self._cleanup.enter_context(
                guarded_run.remove_afterwards(path, name, lambda: self._is_stuck)
            )
        elif retained_bytes is not None:
            self._cleanup.callback(self._shorten, name, retained_bytes)
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
        """Run the profiles one after the other in one fio, under guard and within the budget.

        go_on: called four times a second with the guard's sampler; it may show progress, and False
        ends the run. fio: used instead of `self.fio`.

        Raises:
            ConfigError: the budget is too small.
            ReadError: the budget cannot be written.
        """
        return self._runs.run(fio or self.fio, profiles, file, go_on)

    def problem(self, outcome: RunOutcome) -> str:
        """Returns why a run did not finish, in one line; empty if it succeeded."""
        return guarded_run.failure_message(outcome, self.interruption)

    def close(self) -> None:
        """End fio and remove files. A fio that cannot be ended keeps the lock and the file."""
        # Read before `close`, which resets it. Releasing the lock would release it for fio too.
        self._is_stuck = self.fio.is_stuck
        self.fio.close()
        self._cleanup.close()
        if not self._is_stuck:
            self._lock_session.lock.release()

    def _admit(self) -> None:
        if self._admitted is not None:
            self._admission.check(self._admitted, is_stuck=self.fio.is_stuck)

    def _shorten(self, name: str, size_bytes: int) -> None:
        # A fio that cannot be ended still writes to the file.
        if not self._is_stuck:
            # A file that probes do not own does not change.
            with contextlib.suppress(probe_file.UnsafeProbeFile, probe_file.FilesystemFull):
                probe_file.shorten(self.directory.path, name, size_bytes)


@contextlib.contextmanager
def measuring(
    settings: Settings,
    options: MeasurementOptions,
    profiles: Sequence[Profile],
    tools: MeasurementTools,
) -> Iterator[Measurement]:
    """Yields a measurement that holds the host lock and has not queried the gate yet.

    At the end of the context fio is ended, files are removed and the lock is released.

    As root it runs as the owner of the state directory, which is the daemon's user.

    Raises:
        ConfigError: no directory, an unsuitable filesystem, no access to the state directory, or
            another process holds the lock.
        SourceError: a file of the kernel cannot be read.
    """
    path = target.select_directory(options.directory, settings)
    state = target.state_directory(settings, tools.environment)
    # Reads come before the change of user: root may read more.
    directory = target.probe_directory(path, profiles, settings, tools.clock, state)
    target.check_directory(directory, copy_on_write=settings.probe.copy_on_write)
    with contextlib.ExitStack() as stack:
        interruption = stack.enter_context(InterruptHandler())
        stack.enter_context(ownership.created_directory(path, state))
        stack.enter_context(ownership.as_owner(state))
        conditions = Conditions(
            directory,
            MeasurementAccount(directory, settings, state, tools.clock),
            guard_rules(settings.probe.gate, anyway=options.anyway),
            tools.clock,
            interruption,
        )
        measurement = Measurement(
            conditions, settings=settings, options=options, tools=tools, state=state
        )
        stack.callback(measurement.close)
        measurement.begin()
        yield measurement


def status(run: Callable[[], int], messages: TextIO) -> int:
    """Returns the exit status of a measurement.

    If nothing could be measured, it writes one line to `messages` and returns 3.
    """
    try:
        return run()
    except SourceError as e:
        messages.write(f"ssd-exporter: {printable(str(e))}\n")
        return NOT_MEASURED


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The arguments that all measuring commands share; each command adds its own.

    as_json: print JSON instead of text. html: the file for an HTML page; None for no page.
    """

    options: MeasurementOptions = field(default_factory=MeasurementOptions)
    as_json: bool = field(default=False, kw_only=True)
    html: Path | None = field(default=None, kw_only=True)

    def check(self) -> None:
        """Check before the measurement that its report can be written.

        Raises:
            ConfigError: it cannot be written.
        """
        delivery.check(self.html)

    def deliver(self, report: Report, out: TextIO) -> None:
        """Print the report, and write the page.

        Raises:
            ConfigError: the page cannot be written. The report has been printed then.
        """
        delivery.deliver(report, out, as_json=self.as_json, html=self.html)
