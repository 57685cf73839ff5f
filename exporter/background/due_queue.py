"""What is due when: one moment for each item, the soonest first."""

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DueQueue(Generic[T]):
    """Items by the moment when they are due; of two at the same one, the one that came first.

    A moment costs the logarithm of the number of items, and so does changing it.
    """

    def __init__(self) -> None:
        self._moments: list[tuple[float, int, T]] = []
        #: Of each item its place in the line; what stands there with another one is void.
        self._tickets: dict[T, int] = {}
        self._next = itertools.count(1)

    def put(self, item: T, due: float) -> None:
        """The item is due then, and at no other moment."""
        ticket = self._tickets[item] = next(self._next)
        heapq.heappush(self._moments, (due, ticket, item))

    def drop(self, item: T) -> None:
        """The item is not due any more, if it was."""
        self._tickets.pop(item, None)

    def soonest(self) -> float | None:
        """When the next one is due; None where none is."""
        while self._moments and not self._is_valid(self._moments[0]):
            heapq.heappop(self._moments)
        return self._moments[0][0] if self._moments else None

    def take(self, now: float) -> T | None:
        """The next item that is due by now; None where none is."""
        due = self.soonest()
        if due is None or due > now:
            return None
        _, _, item = heapq.heappop(self._moments)
        del self._tickets[item]
        return item

    def _is_valid(self, moment: tuple[float, int, T]) -> bool:
        _, ticket, item = moment
        return self._tickets.get(item) == ticket
