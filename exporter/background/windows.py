"""The worst value and the prevailing verdict of the last while."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class RollingMax:
    """The largest value observed within the last `seconds`; no scrape resets it.

    Observations later than a larger one are dropped, so it holds few.
    """

    __slots__ = ("_falling", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._falling: deque[tuple[float, float]] = deque()

    def observe(self, now: float, value: float) -> None:
        falling = self._falling
        while falling and falling[-1][1] <= value:
            falling.pop()
        falling.append((now, value))
        self._forget(now)

    def value(self, now: float) -> float | None:
        """None where nothing was observed in the window."""
        self._forget(now)
        return self._falling[0][1] if self._falling else None

    def _forget(self, now: float) -> None:
        while self._falling and self._falling[0][0] <= now - self._seconds:
            self._falling.popleft()


class Prevailing(Generic[V]):
    """The value that held for most of the last `seconds`, or since `born` if that is shorter.

    Time that nothing was said of is the `default`'s. A tie goes to what was said, and said last.
    """

    __slots__ = ("_born", "_default", "_recent", "_seconds")

    def __init__(self, seconds: float, default: V, born: float) -> None:
        self._seconds = seconds
        self._default = default
        self._born = born
        self._recent: deque[tuple[float, float, V]] = deque()

    def observe(self, now: float, lasted: float, value: V) -> None:
        self._recent.append((now, lasted, value))
        self._forget(now)

    def value(self, now: float) -> V:
        self._forget(now)
        held: dict[V, float] = {}
        for _, lasted, value in reversed(self._recent):
            held[value] = held.get(value, 0.0) + lasted
        silent = min(self._seconds, now - self._born) - sum(held.values())
        held[self._default] = held.get(self._default, 0.0) + silent
        return max(held, key=lambda value: held[value])

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - self._seconds:
            self._recent.popleft()
