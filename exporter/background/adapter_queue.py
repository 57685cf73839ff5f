"""Who may start next, with a bound on all and a bound on each host adapter."""

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Adapter(Generic[T]):
    waiting: deque[tuple[int, T]] = field(default_factory=deque)
    running: int = 0
    offered: bool = False


class AdapterQueue(Generic[T]):
    """Waiting items leave in the order in which they came, as far as the bounds let them.

    One adapter that is busy holds up its own only. Each step costs the logarithm of the number
    of adapters, whatever waits.
    """

    def __init__(self, most: int, most_per_adapter: int) -> None:
        self._most = most
        self._most_per_adapter = most_per_adapter
        self._adapters: dict[str, _Adapter[T]] = {}
        self._places = itertools.count()
        # Adapters that have an item and a process for it, by how long their first one waits.
        self._free: list[tuple[int, str]] = []
        self.waiting = 0
        self.running = 0

    def put(self, adapter: str, item: T) -> None:
        self._adapters.setdefault(adapter, _Adapter()).waiting.append((next(self._places), item))
        self.waiting += 1
        self._offer(adapter)

    @property
    def may_take(self) -> bool:
        return bool(self._free) and self.running < self._most

    def take(self) -> T | None:
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
