"""What is due when: one moment for each item, the soonest first.

Who may start next, with a bound on all and a bound on each host adapter.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class DueQueue(Generic[KeyT]):
    """Items by the moment when they are due; of two at the same one, the one that came first.

    A moment costs the logarithm of the number of items, and so does changing it.
    """

    def __init__(self) -> None:
        self._moments: list[tuple[float, int, KeyT]] = []
        #: Of each item its place in the line; what stands there with another one is void.
        self._tickets: dict[KeyT, int] = {}
        self._next = itertools.count(1)

    def put(self, item: KeyT, due: float) -> None:
        """The item is due then, and at no other moment."""
        ticket = self._tickets[item] = next(self._next)
        heapq.heappush(self._moments, (due, ticket, item))

    def drop(self, item: KeyT) -> None:
        """The item is not due any more, if it was."""
        self._tickets.pop(item, None)

    def soonest(self) -> float | None:
        """When the next one is due; None where none is."""
        while self._moments and not self._is_valid(self._moments[0]):
            heapq.heappop(self._moments)
        return self._moments[0][0] if self._moments else None

    def take(self, now: float) -> KeyT | None:
        """The next item that is due by now; None where none is."""
        due = self.soonest()
        if due is None or due > now:
            return None
        _, _, item = heapq.heappop(self._moments)
        del self._tickets[item]
        return item

    def _is_valid(self, moment: tuple[float, int, KeyT]) -> bool:
        _, ticket, item = moment
        return self._tickets.get(item) == ticket


ItemT = TypeVar("ItemT")


@dataclass(slots=True)
class _Adapter(Generic[ItemT]):
    waiting: deque[tuple[int, ItemT]] = field(default_factory=deque)
    running: int = 0
    offered: bool = False


class AdapterQueue(Generic[ItemT]):
    """Waiting items leave in the order in which they came, as far as the bounds let them.

    One adapter that is busy holds up its own only. Each step costs the logarithm of the number
    of adapters, whatever waits.
    """

    def __init__(self, most: int, most_per_adapter: int) -> None:
        self._most = most
        self._most_per_adapter = most_per_adapter
        self._adapters: dict[str, _Adapter[ItemT]] = {}
        self._places = itertools.count()
        # Adapters that have an item and a process for it, by how long their first one waits.
        self._free: list[tuple[int, str]] = []
        self.waiting = 0
        self.running = 0

    def put(self, adapter: str, item: ItemT) -> None:
        self._adapters.setdefault(adapter, _Adapter()).waiting.append((next(self._places), item))
        self.waiting += 1
        self._offer(adapter)

    @property
    def may_take(self) -> bool:
        return bool(self._free) and self.running < self._most

    def take(self) -> ItemT | None:
        """The next item that may start, None while none may; to be given back at its end."""
        if not self.may_take:
            return None
        _, name = heapq.heappop(self._free)
        adapter = self._adapters[name]
        adapter.offered = False
        adapter.running += 1
        self.running += 1
        self.waiting -= 1
        _, item = adapter.waiting.popleft()
        self._offer(name)
        return item

    def give_back(self, adapter: str) -> None:
        """An item that was taken has ended."""
        self._adapters[adapter].running -= 1
        self.running -= 1
        self._offer(adapter)

    def _offer(self, name: str) -> None:
        adapter = self._adapters[name]
        if adapter.waiting:
            if not adapter.offered and adapter.running < self._most_per_adapter:
                adapter.offered = True
                heapq.heappush(self._free, (adapter.waiting[0][0], name))
        elif not adapter.running:
            del self._adapters[name]
