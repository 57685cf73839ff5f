"""fio as a process: one at a time, which is ended when it must be and dies when we do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from exporter.clock import Clock
from exporter.errors import CommandError
from exporter.tools import fio, fio_document
from exporter.tools.child import Finished
from exporter.tools.command import Runner
from exporter.tools.fio_profiles import Profile
from exporter.tools.system_children import SystemChildren

#: setpriv(1) of util-linux, since 2.33: fio gets the signal when the thread that started it ends,
#: which kill -9 of this process does too.
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")

_ASK_SECONDS = 10.0
#: What is installed seldom changes.
_KNOWN_SECONDS = 3600.0
_KEY = "fio"


class Fio(Protocol):
    """Runs fio, one at a time, from one thread that lasts as long as the runs."""

    def engines(self) -> frozenset[str] | None:
        """The engines of the fio that is there; None where there is none that can be used."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        """Start a run; its process, None where it could not be started, which `wait` tells too."""

    def wait(self, seconds: float) -> Finished | None:
        """How it ended, as soon as it has; None where it runs on after so many seconds."""

    def end(self) -> None:
        """End it: SIGTERM, SIGKILL two seconds later, and given up where that does not help."""

    @property
    def is_stuck(self) -> bool:
        """One that was given up is still there."""

    @property
    def problem(self) -> str:
        """Why there are no engines, for people."""

    def close(self) -> None:
        """End what runs, within a bounded time."""


class SystemFio:
    """The fio of this machine."""

    def __init__(
        self, program: str, runner: Runner, clock: Clock, children: SystemChildren | None = None
    ) -> None:
        self._program = program
        self._runner = runner
        self._clock = clock
        most = fio_document.LARGEST_BYTES
        self._children = children or SystemChildren(clock, most_output_bytes=most)
        self._engines: frozenset[str] | None = None
        self._asked_at = float("-inf")
        self._prefix: tuple[str, ...] | None = None
        self._problem = ""

    def engines(self) -> frozenset[str] | None:
        now = self._clock.monotonic()
        if self._engines is None or now - self._asked_at >= _KNOWN_SECONDS:
            self._engines = self._ask_engines()
            self._asked_at = now
        return self._engines

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        argv = [*self._dying_with_us(), *fio.arguments(self._program, profiles, file)]
        self._children.start(_KEY, argv, limit_seconds)
        return self._children.pid(_KEY)

    def wait(self, seconds: float) -> Finished | None:
        return next(iter(self._children.wait(seconds)), None)

    def end(self) -> None:
        self._children.end(_KEY)

    @property
    def is_stuck(self) -> bool:
        if self._children.stuck():
            # Collects one that has gone meanwhile.
            self._children.wait(0.0)
        return bool(self._children.stuck())

    @property
    def problem(self) -> str:
        return self._problem

    def close(self) -> None:
        self._children.close()

    def _ask_engines(self) -> frozenset[str] | None:
        try:
            said = self._runner.run([self._program, "--version"], _ASK_SECONDS)
            its = fio.version(said)
            if its is None or its < fio.OLDEST:
                oldest = ".".join(map(str, fio.OLDEST))
                self._problem = f"{self._program} is {said.strip()[:40]!r}, older than {oldest}"
                return None
            listed = self._runner.run(fio.engines_arguments(self._program), _ASK_SECONDS)
        except CommandError as e:
            self._problem = f"{e}; install fio, or set path.fio"
            return None
        self._problem = ""
        return fio.engines(listed)

    def _dying_with_us(self) -> tuple[str, ...]:
        if self._prefix is None:
            try:
                self._runner.run([*_DIES_WITH_US, "true"], _ASK_SECONDS)
                self._prefix = _DIES_WITH_US
            except CommandError:
                # Before util-linux 2.33: a run of ten seconds may outlive us by as much.
                self._prefix = ()
        return self._prefix
