"""Fakes of the clock and of external programs. Tests replace only these and the root paths."""

import io
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from exporter.programs.child import End, Finished
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import CommandError


class FakeClock:
    """A clock that advances only on request."""

    def __init__(self, monotonic: float = 1000.0, wall: float = 1_700_000_000.0) -> None:
        self._monotonic = monotonic
        self._boottime = monotonic
        self._wall = wall
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._boottime

    def wall(self) -> float:
        return self._wall

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Advances all clocks."""
        self._monotonic += seconds
        self._boottime += seconds
        self._wall += seconds

    def suspend(self, seconds: float) -> None:
        """Suspends the host: the monotonic clock does not advance."""
        self._boottime += seconds
        self._wall += seconds

    def step_wall(self, seconds: float) -> None:
        """Sets the wall clock forward or back."""
        self._wall += seconds


class SkippingClock(SystemClock):
    """The time of the system, and the time that a test skips."""

    skipped_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_seconds


class FakeRunner:
    """Returns a configured output per argument list; other programs are not found."""

    def __init__(self, outputs: Mapping[tuple[str, ...], str | CommandError] | None = None) -> None:
        self._outputs = dict(outputs or {})
        self.ran: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], timeout: float) -> str:
        self.ran.append(tuple(argv))
        output = self._outputs.get(tuple(argv), CommandError(f"{argv[0]}: not found"))
        if isinstance(output, CommandError):
            raise output
        return output


class FakeChildren:
    """Child processes that end when they are waited for, with the result of `answer`."""

    def __init__(self, answer: Callable[[Sequence[str]], Finished | None]) -> None:
        """`answer` takes an argument list and returns a result, or None for a timeout."""
        self._answer = answer
        self._running: dict[Hashable, tuple[Sequence[str], float]] = {}
        self.ran: list[tuple[str, ...]] = []

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def next_start(self) -> float:
        return 0.0

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        self.ran.append(tuple(argv))
        self._running[key] = (argv, limit_seconds)

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        done = []
        for key, (argv, limit) in list(self._running.items()):
            finished = self._answer(argv)
            if finished is None:
                finished = Finished(
                    key, End.TIMED_OUT, -9, seconds=limit, message=f"it took over {limit:g} s"
                )
            del self._running[key]
            done.append(replace(finished, key=key))
        return done

    def stuck(self) -> frozenset[Hashable]:
        return frozenset()

    def end_all(self) -> None:
        self._running.clear()

    def close(self) -> None:
        self.end_all()


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True
