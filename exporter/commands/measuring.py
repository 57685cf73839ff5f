"""What every measurement that a person asks for shares: the place, the locks, consent, the run.

It goes the daemon's way: the same gate, budget, host lock and guard. What differs is that a person
sees what is written and may agree to more than the day's budget; all of it is charged to the
drive's life, and nothing to the day of the scheduled probes.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from exporter.background.probe_directory import ProbeDirectory
from exporter.background.probe_ledger import FILESYSTEM_FACTOR
from exporter.background.probe_load import Watch
from exporter.background.probe_lock import HostLock, Leftover
from exporter.background.probe_place import Place
from exporter.background.probe_run import Ended, Result, run_fio
from exporter.clock import Clock
from exporter.commands import consent, host_lock, measured_file, measured_place, rights
from exporter.commands.account import Account
from exporter.commands.consent import Plan, Streams
from exporter.commands.guarded_filling import GuardedFilling, guard_words
from exporter.commands.interruption import Interruption
from exporter.commands.words import span
from exporter.config import Settings
from exporter.diagnosis.probe_gate import Reason, Skip, gate
from exporter.errors import CommandError, ConfigError, SourceError
from exporter.linux import files
from exporter.report.progress import Progress
from exporter.report.words import printable, quantity
from exporter.tools.fio_process import Fio
from exporter.tools.fio_profiles import Profile, with_engine

#: Over so long the load is looked at before anything begins.
_LOAD_SECONDS = 2.0

#: With --anyway production's load no longer ends a run.
_NEVER = 1 << 30

#: What the kernel makes of a request where it does not say.
_USUAL_REQUEST_KB = 128

#: What the gate said is believed for so long, while a person thinks.
_BELIEVED_SECONDS = 10.0

#: Exit statuses of all measurements; 2 is a mistake in how it was asked for, or a refusal.
MEASURED, JUDGED_BAD, NOT_MEASURED = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Options:
    """What a person said. directory: None for the configured one. anyway: on a busy device too."""

    directory: Path | None = None
    yes: bool = False
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class Edges:
    """What a measurement has of the system. fio: made in the thread that runs it."""

    clock: Clock
    fio: Callable[[], Fio]
    environment: Mapping[str, str]
    streams: Streams


class Measurement:
    """One directory to measure in, while the host's probe lock is held; made by `measuring`.

    In this order: `take_lock`, which `measuring` does, `admit`, `consent`, `prepared`, `run` as
    often as is wanted.
    """

    def __init__(
        self,
        directory: ProbeDirectory,
        *,
        settings: Settings,
        options: Options,
        edges: Edges,
        account: Account,
        state: Path,
        interruption: Interruption,
    ) -> None:
        assert directory.place is not None
        self.directory = directory
        self.place: Place = directory.place
        self.clock = edges.clock
        self.fio = edges.fio()
        self.interruption = interruption
        self._settings = settings
        self._options = options
        self._streams = edges.streams
        self._account = account
        self._lock_places = (settings.path.rootfs / "run/lock", state)
        self._lock, self._leftover = HostLock(self._lock_places), Leftover(state)
        self._admitted: tuple[Profile, int, int] | None = None
        self._is_stuck = False
        self._undo = contextlib.ExitStack()
        self._progress: Progress | None = None
        self._rules = settings.probe.gate
        if options.anyway:
            self._rules = replace(
                self._rules, guard_queue=_NEVER, guard_pressure_ratio=float(_NEVER)
            )

    @property
    def charged_bytes(self) -> int:
        """What the budget was charged so far."""
        return self._account.charged_bytes

    def take_lock(self) -> None:
        """Have the host's probe lock, and settle what a killed run left.

        Raises:
            ConfigError: another has it. ReadError: the budget cannot be read or written.
        """
        with self.interruption.leaving(), Progress(self._streams.says) as progress:
            host_lock.acquire(
                self._lock, self._leftover, self._lock_places, clock=self.clock, progress=progress
            )
        self._account.recover()

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
        self._admitted = profile, written_bytes, missing_bytes
        with self.interruption.leaving():
            busy = self._busy_ratio()
        copy_on_write = self._settings.probe.copy_on_write
        state = replace(
            self.directory.gate_state(profile, copy_on_write=copy_on_write),
            is_on_demand=True,
            is_unacknowledged=self._account.unacknowledged is not None,
            is_stuck=self.fio.is_stuck,
            writes=written_bytes > 0,
            missing_bytes=missing_bytes,
            needed_bytes=FILESYSTEM_FACTOR * written_bytes,
            budget_bytes=self._account.left.life_bytes,
            busy_ratio=busy,
            skips=0,
        )
        skip = gate(state, self._rules)
        if not isinstance(skip, Skip):
            return
        if not (skip.is_for_load or skip.reason is Reason.UNOBSERVED):
            if skip.reason is Reason.BUDGET:
                raise self._account.too_much(written_bytes)
            raise ConfigError(f"{self.place.device} is not measured now: {_sizes(skip.detail)}")
        if not self._options.anyway:
            raise ConfigError(
                f"{self.place.device} is not measured now: {skip.detail}",
                "try again when the host is quieter, or add --anyway",
            )

    def consent(self, written_bytes: int, seconds: float, *, always: bool = True) -> None:
        """Say what is written at most and how long it takes; come back where that is agreed to.

        Without `always` it is asked only for more than today's scheduled probes may still write.
        From here on Ctrl-C and SIGTERM end what runs, and not this process: see `interruption`.

        Raises:
            ConfigError: nobody agreed, or the device is in use by then. ReadError: as `admit`.
        """
        plan = Plan(
            f"{self.directory.path} on {self.place.device}",
            FILESYSTEM_FACTOR * written_bytes,
            seconds,
            self._account.rated_bytes,
            self._account.left.day_bytes,
        )
        if always or plan.charge_bytes > plan.left_bytes:
            self._ask(plan)
        self._progress = self._undo.enter_context(Progress(self._streams.says))

    def show(self, words: str, done: float | None = None) -> None:
        """Progress; `done` from 0 to 1. After `consent`."""
        if self._progress is not None:
            self._progress.show(words, done)

    def prepared(self, name: str, size_bytes: int, *, fill: bool, keep: bool = False) -> Path:
        """The file `name` in the directory, filled with random data or given its length only.

        Without `keep` it is removed at the end, and so is the directory where it is made here.

        Raises:
            ConfigError: the directory or the file is none that may be used, or the budget is spent.
            ReadError: the disk is full, production needs the device, or it was interrupted.
        """
        path = self.directory.path
        if not keep:
            self._undo.enter_context(measured_file.removed(path, name, lambda: self._is_stuck))
        if fill and (missing := measured_file.missing_bytes(path, name, size_bytes)):
            # What is refused is not written, and need not be charged.
            measured_file.look(path, name)
            self._fill(name, size_bytes, missing)
        return measured_file.sized(path, name, size_bytes)

    def run(
        self,
        profiles: Sequence[Profile],
        file: Path,
        go_on: Callable[[Watch], bool] | None = None,
        fio: Fio | None = None,
    ) -> Ended:
        """Run the profiles one after the other in one fio under guard, reserved and settled.

        go_on: asked four times a second, with all looks at the device so far; it may show progress,
        and ends the run with a False. fio: in the place of `self.fio`.

        Raises:
            ConfigError: the budget does not hold it.
            ReadError: the budget cannot be written down.
        """
        its_fio = fio or self.fio
        written = sum(each.written_bytes_at_most for each in profiles)
        self._account.reserve("+".join(each.name for each in profiles), written)
        watch = self.directory.watch([self._in_requests(each) for each in profiles])
        ended: Ended | None = None
        try:
            ended = run_fio(
                its_fio,
                profiles,
                file,
                lock=self._lock,
                started=self._note,
                watch=watch,
                avail=self.directory.avail_bytes,
                rules=self._rules,
                clock=self.clock,
                is_stopping=lambda: self.interruption.is_set or not (go_on is None or go_on(watch)),
            )
        finally:
            if not its_fio.is_stuck:
                self._leftover.clear()
            self._account.settle(
                ended.fio_bytes if ended else None, ended.device_bytes if ended else None
            )
        return ended

    def problem(self, ended: Ended) -> str:
        """Why a run did not come to its end, in one line; empty where it did."""
        if ended.result is Result.SUCCESS:
            return ""
        if self.interruption.is_set:
            return f"ended by {self.interruption.words}"
        if ended.reason is not None:
            gone = span(ended.ended - ended.begun)
            return f"ended after {gone}, for {guard_words(ended.reason)}"
        # It is started through setpriv, which nobody has asked for.
        words = printable(ended.message)
        return words.replace("setpriv", "fio", 1) or f"fio: {ended.result.value}"

    def close(self) -> None:
        """End fio, and tidy up. The lock and the file stay with a fio that cannot be ended."""
        # `close` forgets it; and releasing the lock would release it for fio too.
        self._is_stuck = self.fio.is_stuck
        self.fio.close()
        self._undo.close()
        if not self._is_stuck:
            self._lock.release()

    def _ask(self, plan: Plan) -> None:
        """Without the lock: other probes do not wait for a person who thinks."""
        if self._options.yes:
            consent.ask(plan, self._streams, yes=True)
            return
        begun = self.clock.monotonic()
        self._lock.release()
        with self.interruption.leaving():
            consent.ask(plan, self._streams, yes=False)
        self.take_lock()
        if self._admitted and self.clock.monotonic() - begun > _BELIEVED_SECONDS:
            self.admit(*self._admitted)

    def _busy_ratio(self) -> float | None:
        proc, device = self._settings.path.procfs, self.place.device
        with Progress(self._streams.says) as progress:
            progress.show(f"looking at the load of {device}", None)
            begun, before = self.clock.monotonic(), measured_place.disk(proc, device)
            self.directory.note_load()
            self.clock.sleep(_LOAD_SECONDS)
            self.directory.note_load()
            seconds, now = self.clock.monotonic() - begun, measured_place.disk(proc, device)
        return measured_place.busy_ratio(before, now, seconds)

    def _fill(self, name: str, size_bytes: int, missing: int) -> None:
        self._account.reserve("filling", missing)
        its, written = self.directory, 0
        try:
            watch = its.watch([])
            guarded = GuardedFilling(
                watch,
                its.avail_bytes,
                self._rules,
                clock=self.clock,
                interruption=self.interruption,
                missing=missing,
            )

            def filling(at: int) -> None:
                guarded.go_on(size_bytes - at)
                self.show("filling the file with random data", at / size_bytes)

            try:
                measured_file.fill(
                    its.path, name, size_bytes, missing=missing, clock=self.clock, filling=filling
                )
            finally:
                written = guarded.written_bytes
        finally:
            self._account.settle(written, None)

    def _in_requests(self, profile: Profile) -> Profile:
        """For the guard: the kernel cuts a large block into requests that are all our own."""
        queue = self._settings.path.sysfs / "block" / self.place.device.replace("/", "!") / "queue"
        most = (files.integer(queue / "max_sectors_kb") or _USUAL_REQUEST_KB) << 10
        return replace(profile, depth=profile.depth * -(-profile.block_bytes // most))

    def _note(self, pid: int) -> None:
        # Where it cannot be written down: it dies with us, and has the lock while it lives.
        with contextlib.suppress(OSError):
            self._leftover.note(pid)


def _sizes(words: str) -> str:
    """The gate says bytes to the last one, as a log has them."""
    return re.sub(
        r"\b(\d{5,})\b(?: bytes)?(?! inodes)", lambda found: quantity(int(found[1]), "B"), words
    )


@contextlib.contextmanager
def measuring(
    settings: Settings, options: Options, profiles: Sequence[Profile], edges: Edges
) -> Iterator[Measurement]:
    """Everything up to the gate; at the end fio is ended, files are tidied, the lock released.

    As root it goes on as the user who owns the state directory, which is the daemon's, until then.

    Raises:
        ConfigError: no directory, no fit filesystem, no right to the state, or the lock is held.
        SourceError: something could not be read.
    """
    path = measured_place.chosen_directory(options.directory, settings)
    state = measured_place.state_directory(settings, edges.environment)
    # All that is only read comes first: as root there is more to read, and to import.
    directory = measured_place.probe_directory(path, profiles, settings, edges.clock, state)
    measured_place.look(directory, copy_on_write=settings.probe.copy_on_write)
    with contextlib.ExitStack() as stack:
        interruption = stack.enter_context(Interruption())
        stack.enter_context(rights.made(path, state))
        stack.enter_context(rights.of_owner(state))
        account = Account(directory, settings, state, edges.clock)
        measurement = Measurement(
            directory,
            settings=settings,
            options=options,
            edges=edges,
            account=account,
            state=state,
            interruption=interruption,
        )
        stack.callback(measurement.close)
        measurement.take_lock()
        yield measurement


def status(run: Callable[[], int], says: TextIO) -> int:
    """The exit status of a measurement: its own, or 3 and one line where nothing was measured."""
    try:
        return run()
    except SourceError as e:
        says.write(f"ssd-exporter: {printable(str(e))}\n")
        return NOT_MEASURED
