"""Simulated child processes on a fake clock. A test sets the end of each."""

from collections.abc import Callable, Hashable, Sequence

from exporter.programs.child import End, Finished
from tests.fakes import FakeClock
from tests.stand_ins.smartctl import GOOD

Behaviour = Callable[[Hashable, Sequence[str], float], Finished]


def answers(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
    return Finished(key, End.EXITED, 0, GOOD.encode(), seconds=0.04)


class FakeChildren:
    """A child ends `Finished.seconds` after its start, as `behaviour` says by its key.

    between_seconds: from one start to the next.
    """

    def __init__(self, clock: FakeClock, behaviour: Behaviour = answers) -> None:
        self._clock = clock
        self.between_seconds = 0.0
        self.behaviour = behaviour
        self._running: list[tuple[float, int, Finished]] = []
        self._stuck: set[Hashable] = set()
        self._has_gone = False
        self.started: list[tuple[float, Hashable, tuple[str, ...]]] = []
        self.may_kill: dict[Hashable, bool] = {}
        self.most_running = 0
        self.is_closed = False

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def next_start(self) -> float:
        return self.started[-1][0] + self.between_seconds if self.started else 0.0

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        assert key not in {finished.key for _, _, finished in self._running}, f"{key} runs twice"
        assert key not in self._stuck, f"{key} is stuck and was started again"
        now = self._clock.monotonic()
        self.started.append((now, key, tuple(argv)))
        self.may_kill[key] = may_kill
        finished = self.behaviour(key, argv, limit_seconds)
        self._running.append((now + finished.seconds, len(self.started), finished))
        self.most_running = max(self.most_running, len(self._running))

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        until = self._clock.monotonic() + (0.0 if self._has_gone else timeout)
        self._has_gone = False
        soonest = min((entry[:2] for entry in self._running), default=(float("inf"), 0))[0]
        assert min(until, soonest) < float("inf"), "it would wait for ever"
        self._clock.advance(max(0.0, min(until, soonest) - self._clock.monotonic()))
        now = self._clock.monotonic()
        done = sorted(entry[:2] for entry in self._running if entry[0] <= now)
        by_number = {number: finished for _, number, finished in self._running}
        self._running = [entry for entry in self._running if entry[0] > now]
        finished = [by_number[number] for _, number in done]
        self._stuck |= {each.key for each in finished if each.end is End.STUCK}
        return finished

    def stuck(self) -> frozenset[Hashable]:
        return frozenset(self._stuck)

    def let_go(self, key: Hashable) -> None:
        """The stuck child of this key ends at last."""
        self._stuck.remove(key)
        self._has_gone = True

    def end_all(self) -> None:
        """Those that may not be killed are stuck from then on."""
        keys = {finished.key for _, _, finished in self._running}
        self._stuck |= {key for key in keys if not self.may_kill[key]}
        self._running.clear()

    def close(self) -> None:
        self.end_all()
        self._stuck.clear()
        self.is_closed = True
