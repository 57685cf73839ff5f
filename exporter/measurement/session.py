"""Runs a measurement: the steps that all measuring commands share, from the lock to the report.

A measurement uses the same host lock, gate, guard and budget as the daemon's probes. The host lock
allows one probe per host. The gate decides whether a probe may start; the guard ends a running one
if production needs the device. The budget limits the bytes that are written.

The user is told how much a measurement writes, and may consent to more than the daily budget of the
scheduled probes. All written bytes are charged only to the budget for the drive's life.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from exporter.config.profiles import Profile, with_engine
from exporter.config.settings import Settings
from exporter.measurement import admission, guarded_run, ownership, target
from exporter.measurement.account import Conditions, MeasurementAccount, guard_rules
from exporter.measurement.admission import PlannedWrite, Streams, WritePlan
from exporter.measurement.interruption import InterruptHandler
from exporter.probe import filling, probe_file
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.fio import Fio
from exporter.probe.fio_run import RunOutcome
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.location import Location
from exporter.report import delivery
from exporter.report.content import Report
from exporter.report.progress import Progress
from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError, SourceError
from exporter.runtime.printable import printable
from exporter.runtime.privileges import as_owner

#: Exit statuses of all measuring commands. 0: measured, with a result that is not bad. 1: measured,
#: with a bad result. 3: nothing was measured. Status 2 means a wrong argument, or a measurement
#: that was refused.
MEASURED, JUDGED_BAD, NOT_MEASURED = 0, 1, 3

#: If the user takes longer than this to answer, in seconds, the gate decides again.
_DECISION_VALID_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """The arguments that all measuring commands share.

    directory: the directory to measure in; None means the configured one.
    yes: the user consented on the command line.
    anyway: measure even if the device is busy.
    as_json: print JSON instead of text.
    html: the file to write an HTML page to; None means that no page is written.
    """

    directory: Path | None = None
    yes: bool = False
    anyway: bool = False
    as_json: bool = False
    html: Path | None = None

    def check_report(self) -> None:
        """Checks that the report can be written. Call it before the measurement.

        Raises:
            ConfigError: the report cannot be written.
        """
        delivery.check(self.html)

    def deliver(self, report: Report, out: TextIO) -> None:
        """Prints the report to `out`, and writes the HTML page if one is requested.

        Raises:
            ConfigError: the page cannot be written. The report has already been printed.
        """
        delivery.deliver(report, out, as_json=self.as_json, html=self.html)


@dataclass(frozen=True, slots=True)
class MeasurementTools:
    """The parts of the system that a measurement uses; tests replace them.

    fio: creates the object that runs fio. It is called on the thread that then uses the object.
    environment: the environment variables.
    streams: the input and output of questions and progress.
    """

    clock: Clock
    fio: Callable[[], Fio]
    environment: Mapping[str, str]
    streams: Streams


class Measurement:
    """A measurement in one directory; `measuring` creates it.

    Call the methods in this order: `admit`, `consent`, `prepare_file`, then `run` any number of
    times. `measuring` calls `begin` first and `close` last.

    state (argument): the state directory, which contains the file with the written bytes of each
        drive (the budget).
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
        self._lock = HostLock((settings.path.rootfs / "run/lock", state))
        self._pid_file = ProbePidFile(state)
        self._conditions = conditions
        self._settings = settings
        self._options = options
        self._streams = tools.streams
        self._planned: PlannedWrite | None = None
        self._is_stuck = False
        self._cleanup = contextlib.ExitStack()
        self._progress: Progress | None = None

    @property
    def charged_bytes(self) -> int:
        """The bytes of this measurement that were counted against the budget so far."""
        return self._conditions.account.charged_bytes

    def begin(self) -> None:
        """Acquires the host lock, which allows one probe per host.

        If the process of an earlier run was killed, the bytes of that run are counted against its
        drive's budget.

        Raises:
            ConfigError: another process holds the lock for too long, or the lock file cannot be
                created.
            ReadError: the budget's file cannot be read or written.
        """
        with self.interruption.exit_at_once(), Progress(self._streams.messages) as progress:
            admission.wait_for_lock(self._lock, self._pid_file, clock=self.clock, progress=progress)
        self._conditions.account.recover()

    def with_engine(self, profiles: Sequence[Profile]) -> tuple[Profile, ...]:
        """Returns the profiles, each with an I/O engine that the installed fio supports.

        Raises:
            CommandError: fio is missing or too old.
        """
        engines = self.fio.engines()
        if engines is None:
            raise CommandError(self.fio.problem)
        return tuple(with_engine(profile, engines) for profile in profiles)

    def admit(self, profile: Profile, written_bytes: int, missing_bytes: int) -> None:
        """Measures the load for two seconds, and returns normally if the measurement may start.

        profile: one of the profiles that were passed to `measuring`.
        written_bytes: upper bound of the bytes that fio writes in all runs, plus the bytes that are
            written to fill the file before.
        missing_bytes: the additional free space that the file needs.

        Raises:
            ConfigError: the measurement may not start. With --anyway, load does not cause this.
            ReadError: the filesystem cannot be read.
        """
        self._planned = PlannedWrite(profile, written_bytes, missing_bytes)
        self._query_gate()

    def consent(self, written_bytes: int, seconds: float, *, always: bool = True) -> None:
        """Shows the plan, asks the user, and returns normally if the user consents.

        After this call Ctrl-C and SIGTERM end fio, but not this process; see `interruption`.

        written_bytes: upper bound of the written bytes, without the writes of the filesystem.
        seconds: the duration of the measurement, which is shown to the user.
        always: ask in any case. If False, ask only if the measurement writes more than scheduled
            probes may still write today.

        Raises:
            ConfigError: the user refuses, the input is not a terminal, a second check after a long
                wait for the answer finds too much load or another obstacle, or the host lock cannot
                be acquired again.
            ReadError: the filesystem cannot be read, or the budget's file cannot be read or
                written.
        """
        account = self._conditions.account
        plan = WritePlan(
            f"{self.directory.path} on {self.location.device}",
            FILESYSTEM_FACTOR * written_bytes,
            seconds,
            account.rated_bytes,
            account.left.day_bytes,
        )
        if always or plan.charge_bytes > plan.left_bytes:
            self._ask(plan)
        self._progress = self._cleanup.enter_context(Progress(self._streams.messages))

    def show(self, words: str, done: float | None = None) -> None:
        """Shows the current step on the terminal. Before `consent` this does nothing.

        done: the finished share of the step, 0 to 1; None means unknown.
        """
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
        """Creates or extends the file `name` in the directory, and returns its path.

        size_bytes: the file is at least this long afterwards.
        fill: fill the file with random data. If False, only its length is set.
        keep: keep the file at the end of the measurement. If False, the file is removed, and also
            the directory if it did not exist before.
        retained_bytes: a kept file is truncated to this length; None means that it is not
            truncated.

        Raises:
            ConfigError: the directory or the file cannot be used, or the missing bytes exceed the
                budget (the permitted bytes) for the drive's life.
            ReadError: the disk is full, production needs the device, the user interrupted the
                filling, or the budget's file cannot be read or written.
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
        show: Callable[[float], None],
        fio: Fio | None = None,
    ) -> RunOutcome:
        """Runs the profiles one after the other in a single fio process. Returns the outcome.

        fio is ended early if the user interrupts it, or if a limit is reached: production needs the
        device, mysqld waits for I/O, the drive is too hot, or the filesystem is nearly full.
        `RunOutcome.reason` contains the limit. The written bytes are counted against the budget
        (the permitted bytes) for the drive's life, and not against its daily budget.

        file: the file that fio reads and writes.
        show: called four times per second with the seconds since the start, to show the progress.
        fio: used instead of `self.fio`.

        Raises:
            ConfigError: the profiles may write more than the remaining budget for the drive's life.
            ReadError: the budget's file cannot be read or written.
        """
        return guarded_run.run(
            self._conditions,
            fio or self.fio,
            profiles,
            file,
            lock=self._lock,
            pid_file=self._pid_file,
            show=show,
        )

    def problem(self, outcome: RunOutcome) -> str:
        """Returns why a run did not finish, in one line; empty if it succeeded."""
        return guarded_run.failure_message(outcome, self.interruption)

    def close(self) -> None:
        """Ends fio, removes files and releases the host lock.

        If fio cannot be ended, the file stays and the lock is not released.
        """
        # The attribute is read before `fio.close` resets it. If fio cannot be ended, the lock is
        # not released, because that would release it for fio too.
        self._is_stuck = self.fio.is_stuck
        self.fio.close()
        self._cleanup.close()
        if not self._is_stuck:
            self._lock.release()

    def _query_gate(self) -> None:
        if self._planned is not None:
            admission.admit(
                self._conditions,
                self._settings,
                self._planned,
                self._streams.messages,
                anyway=self._options.anyway,
                is_stuck=self.fio.is_stuck,
            )

    def _ask(self, plan: WritePlan) -> None:
        if self._options.yes:
            admission.ask_consent(plan, self._streams, yes=True)
            return
        started = self.clock.monotonic()
        # Scheduled probes do not wait for the answer.
        self._lock.release()
        with self.interruption.exit_at_once():
            admission.ask_consent(plan, self._streams, yes=False)
        self.begin()
        if self.clock.monotonic() - started > _DECISION_VALID_SECONDS:
            self._query_gate()

    def _shorten(self, name: str, size_bytes: int) -> None:
        # If fio cannot be ended, it still writes to the file.
        if not self._is_stuck:
            # A file that was not created for probes is not changed.
            with contextlib.suppress(probe_file.UnsafeProbeFile, probe_file.FilesystemFull):
                probe_file.shorten(self.directory.path, name, size_bytes)


@contextlib.contextmanager
def measuring(
    settings: Settings,
    options: MeasurementOptions,
    profiles: Sequence[Profile],
    tools: MeasurementTools,
) -> Iterator[Measurement]:
    """Context manager that yields a measurement and holds the host lock (one probe per host).

    It does not check whether the load and the state of the drive permit a measurement;
    `Measurement.admit` does. At the end of the context, fio is ended, files are removed and the
    lock is released. If root starts the measurement, it runs with the rights of the owner of the
    state directory, which is the daemon's user.

    profiles: all profiles that the measurement may run.

    Raises:
        ConfigError: no directory is given, the filesystem is unsuitable, the state directory cannot
            be written, or the host lock cannot be acquired.
        SourceError: a file of the kernel, or the file with the written bytes, cannot be read.
    """
    path = target.select_directory(options.directory, settings)
    state = target.state_directory(settings, tools.environment)
    # The host is read before the change of user, because root may read more files.
    directory = target.probe_directory(path, profiles, settings, tools.clock, state)
    target.check_directory(directory, copy_on_write=settings.probe.copy_on_write)
    with contextlib.ExitStack() as stack:
        interruption = stack.enter_context(InterruptHandler())
        stack.enter_context(ownership.created_directory(path, state))
        stack.enter_context(as_owner(state))
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
    """Runs a measurement and returns its exit status.

    If nothing could be measured, it writes one line to `messages` and returns 3.

    run: runs the measurement; it returns the exit status or raises SourceError.
    """
    try:
        return run()
    except SourceError as e:
        messages.write(f"ssd-exporter: {printable(str(e))}\n")
        return NOT_MEASURED
