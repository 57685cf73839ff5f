"""The worst value and the prevailing verdict of the last while."""

import math
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


#: A window slides in so many steps. Every device is asked four times a second, so what an
#: observation touches counts: here it is one number.
_STEPS = 6


class RollingMax:
    """The largest value of the last `seconds`, or of up to a sixth more; no scrape resets it."""

    __slots__ = ("_largest", "_older", "_step", "_step_ends", "_step_seconds")

    def __init__(self, seconds: float) -> None:
        self._step_seconds = seconds / _STEPS
        self._step = -1
        self._step_ends = -math.inf
        self._largest = 0.0
        self._older: tuple[tuple[int, float], ...] = ()

    def observe(self, now: float, value: float) -> None:
        """Values are not negative, and times do not go back."""
        if now < self._step_ends:
            if value > self._largest:  # noqa: PLR1730  four a device and second: half of max()
                self._largest = value
            return
        step = int(now / self._step_seconds)
        first = max(0, step - _STEPS)
        seen = (*self._older, (self._step, self._largest))
        self._older = tuple(each for each in seen if each[0] >= first)
        self._step, self._largest = step, value
        self._step_ends = (step + 1) * self._step_seconds

    def value(self, now: float) -> float | None:
        """None where nothing was observed in the window."""
        first = max(0, int(now / self._step_seconds) - _STEPS)
        if self._step < first:
            return None
        largest = self._largest
        for step, value in self._older:
            if step >= first and value > largest:
                largest = value
        return largest


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
