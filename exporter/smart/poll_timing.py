"""Decides when each drive is polled: its next moment, the queue of due drives, limits per adapter.

A drive's moments lie on a grid that is shifted by its address. The grid is the same after every
start, does not drift, and few drives share a moment.
"""

import heapq
import itertools
import math
import zlib
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from exporter.smart import smartctl
from exporter.smart.poll_document import PollResult
from exporter.smart.smartctl import Address, Logs

#: The first daily polls are spread over this time, so that a start does not read every log at once.
_FIRST_DAILY_SECONDS = 300.0

#: Drives whose moments lie within this time are polled together: a wake-up with cold caches costs
#: twice as much CPU as a poll that follows another one.
_SHARED_SECONDS = 15.0

#: Distance between the starts within a shared moment, and the number of such starts. Until a new
#: process runs, the interpreter's lock is held and a page would wait.
_START_INTERVAL_SECONDS, _STARTS_PER_MOMENT = 0.075, 4

#: Results of a poll that took longer than its time limit, or printed too much.
_TOO_LONG = frozenset(
    result.value for result in (PollResult.TIMED_OUT, PollResult.STUCK, PollResult.TOO_MUCH_OUTPUT)
)


@dataclass(frozen=True, slots=True)
class Target:
    """A drive to poll, and how.

    adapter: the host adapter that the drive shares with others, or the path.
    never_kill: True if a smartctl process for this drive must run to its end.
    spins: False for a drive that is known to be an SSD; it is polled in every power mode.
    """

    address: Address
    adapter: str
    interval_seconds: float
    timeout_seconds: float
    never_kill: bool = False
    spins: bool = True

    @property
    def may_kill(self) -> bool:
        """Whether a smartctl process for this drive may be ended early."""
        return not self.never_kill and smartctl.may_be_killed(self.address.type)


class State(Enum):
    """What a polled drive waits for."""

    WAITING = 0  # for its next moment
    READY = 1  # for a free process
    RUNNING = 2
    STUCK = 3  # its process was abandoned and still exists


@dataclass(slots=True)
class PolledDrive:
    """The state of a target between polls. Instants are monotonic, except `began_at_unix`.

    wanted: False after the drive was removed from the targets.
    adapter: the adapter whose process limit the running poll counts against.
    late: number of polls in a row that took longer than their time limit.
    """

    target: Target
    daily_due: float
    state: State = State.WAITING
    wanted: bool = True
    adapter: str = ""
    logs: Logs = Logs.REGULAR
    began: float = -math.inf
    began_at_unix: float = 0.0
    late: int = 0

    @property
    def was_polled(self) -> bool:
        """Whether this poller has started a poll of the drive."""
        return self.began > -math.inf

    @classmethod
    def new(cls, target: Target, now: float) -> "PolledDrive":
        """The state of a drive that has just been found."""
        return cls(target, now + _hash_ratio(target.address, "daily") * _FIRST_DAILY_SECONDS)

    def start_poll(self, now: float, unix_time: float) -> None:
        """Record the start of a poll, which reads the daily logs if they are due."""
        self.logs = Logs.DAILY if self.daily_due <= now else Logs.REGULAR
        self.state, self.began, self.began_at_unix = State.RUNNING, now, unix_time

    def end_poll(self, result: str, daily_seconds: float) -> None:
        """Record the result of the poll.

        A daily poll that took too long is not repeated on the same day. After one that failed for
        another reason the daily logs stay due.
        """
        self.late = self.late + 1 if result in _TOO_LONG else 0
        if self.logs is Logs.DAILY and (self.late or result == PollResult.SUCCESS):
            self.daily_due = self.began + daily_seconds

    def next_due(self, now: float, slowest_retry_seconds: float) -> float:
        """The next moment on the grid; later if the last polls took too long."""
        if not self.was_polled:
            return now
        interval = self.target.interval_seconds
        if self.late:
            backoff = interval * 2.0 ** min(self.late, 32)
            rest = max(interval, min(backoff, slowest_retry_seconds))
            return max(now, self.began + rest)
        due = self._next_on_grid(now)
        # The daily poll has a moment of its own, once. If the drive was in standby then, the daily
        # logs are read at the next regular moment and not at once.
        return min(due, self.daily_due) if now < self.daily_due else due

    def _next_on_grid(self, now: float) -> float:
        interval = self.target.interval_seconds
        shared = min(_SHARED_SECONDS, interval / 2)
        moment, rest = divmod(_hash_ratio(self.target.address, "regular") * interval, shared)
        offset = moment * shared + rest * _STARTS_PER_MOMENT // shared * _START_INTERVAL_SECONDS
        # At least half an interval after a poll outside the grid, such as the first one.
        earliest = max(now, self.began + interval / 2)
        return offset + (math.floor((earliest - offset) / interval) + 1) * interval


def _hash_ratio(address: Address, purpose: str) -> float:
    """A number from 0 to 1 that depends on the address and the purpose only."""
    return zlib.crc32(f"{purpose} {address}".encode()) / 2.0**32


KeyT = TypeVar("KeyT", bound=Hashable)


class DueQueue(Generic[KeyT]):
    """Items with the instant at which each is due. Equal instants keep the order of insertion.

    Insertion and removal take time proportional to the logarithm of the number of items.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, KeyT]] = []
        #: The valid ticket of each item. A heap entry with another ticket is void.
        self._tickets: dict[KeyT, int] = {}
        self._next = itertools.count(1)

    def put(self, item: KeyT, due: float) -> None:
        """Add the item, or change the instant at which it is due."""
        ticket = self._tickets[item] = next(self._next)
        heapq.heappush(self._heap, (due, ticket, item))

    def drop(self, item: KeyT) -> None:
        """Remove the item if it is in the queue."""
        self._tickets.pop(item, None)

    def soonest(self) -> float | None:
        """The instant at which the next item is due; None if the queue is empty."""
        while self._heap and not self._is_valid(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: float) -> KeyT | None:
        """Remove and return the next item that is due; None if none is."""
        due = self.soonest()
        if due is None or due > now:
            return None
        _, _, item = heapq.heappop(self._heap)
        del self._tickets[item]
        return item

    def _is_valid(self, entry: tuple[float, int, KeyT]) -> bool:
        _, ticket, item = entry
        return self._tickets.get(item) == ticket


ItemT = TypeVar("ItemT")


@dataclass(slots=True)
class _Adapter(Generic[ItemT]):
    waiting: deque[tuple[int, ItemT]] = field(default_factory=deque)
    running: int = 0
    offered: bool = False


class AdapterQueue(Generic[ItemT]):
    """Items that wait for a free process, with a limit in total and a limit per adapter.

    Items leave in the order of insertion as far as the limits allow: a busy adapter delays its own
    items only. Each operation takes time proportional to the logarithm of the number of adapters.
    """

    def __init__(self, limit: int, limit_per_adapter: int) -> None:
        self._limit = limit
        self._limit_per_adapter = limit_per_adapter
        self._adapters: dict[str, _Adapter[ItemT]] = {}
        self._places = itertools.count()
        #: Adapters that have an item and a free process, by the place of their first item.
        self._free: list[tuple[int, str]] = []
        self.waiting = 0
        self.running = 0

    def put(self, adapter: str, item: ItemT) -> None:
        """Add an item to the adapter's queue."""
        self._adapters.setdefault(adapter, _Adapter()).waiting.append((next(self._places), item))
        self.waiting += 1
        self._offer(adapter)

    @property
    def can_take(self) -> bool:
        """Whether `take` would return an item."""
        return bool(self._free) and self.running < self._limit

    def take(self) -> ItemT | None:
        """The next item within the limits, or None. `give_back` must follow when it has ended."""
        if not self.can_take:
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
        """Free the process of an item that was taken."""
        self._adapters[adapter].running -= 1
        self.running -= 1
        self._offer(adapter)

    def _offer(self, name: str) -> None:
        adapter = self._adapters[name]
        if adapter.waiting:
            if not adapter.offered and adapter.running < self._limit_per_adapter:
                adapter.offered = True
                heapq.heappush(self._free, (adapter.waiting[0][0], name))
        elif not adapter.running:
            del self._adapters[name]
