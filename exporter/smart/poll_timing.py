"""What is due when: one moment for each item, the soonest first.

Who may start next, with a bound on all and a bound on each host adapter.

One drive from poll to poll: what it is doing, how it fared, and when it is asked next.

Its moments stand on a grid that its address moves, the same at every start, so that they do not
drift, and few drives share one.
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

from exporter.programs.child import End
from exporter.smart import smartctl
from exporter.smart.poll_document import PollResult
from exporter.smart.smartctl import Address, Logs

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


#: The first daily sets are spread over this, so that a start does not read every log at once.
_FIRST_DAILY_SECONDS = 300.0

#: So far apart are the moments that drives share, at most.
_SHARED_SECONDS = 15.0

#: And those that share one are begun a few at a time: so far apart, in so many turns.
_APART_SECONDS, _TURNS = 0.075, 4

#: Not an answer, and not that a drive is missing: it took its time.
_TOO_LONG = frozenset({End.TIMED_OUT, End.STUCK, End.TOO_MUCH_OUTPUT})


@dataclass(frozen=True, slots=True)
class Target:
    """A drive to be asked, and how often.

    adapter: what the drive shares with others: its host adapter.
    spins: False for a drive known to be an SSD, which is asked in every power mode.
    """

    address: Address
    adapter: str
    interval_seconds: float
    timeout_seconds: float
    never_kill: bool = False
    spins: bool = True

    @property
    def may_kill(self) -> bool:
        """Whether a process that asks this drive may be ended before its time."""
        return not self.never_kill and smartctl.may_be_killed(self.address.type)


class State(Enum):
    WAITING = 0  # for its time
    READY = 1  # for a process
    RUNNING = 2
    STUCK = 3


@dataclass(slots=True)
class PolledDrive:
    """A target between two polls; instants are monotonic, but for `began_at_unix`."""

    target: Target
    daily_due: float
    state: State = State.WAITING
    wanted: bool = True
    adapter: str = ""  # whose process it holds
    logs: Logs = Logs.REGULAR
    began: float = -math.inf
    began_at_unix: float = 0.0
    late: int = 0  # how often in a row it took longer than its time

    @property
    def was_begun(self) -> bool:
        """Whether it was ever asked by this poller."""
        return self.began > -math.inf

    @classmethod
    def found(cls, target: Target, now: float) -> "PolledDrive":
        """A drive that was not there before."""
        return cls(target, now + _splay(target.address, "daily") * _FIRST_DAILY_SECONDS)

    def begin(self, now: float, unix_time: float) -> None:
        """It is asked from now on: by the daily set, if that is due."""
        self.logs = Logs.DAILY if self.daily_due <= now else Logs.REGULAR
        self.state, self.began, self.began_at_unix = State.RUNNING, now, unix_time

    def end(self, how: End, result: PollResult, daily_seconds: float) -> None:
        """What became of the poll."""
        self.late = self.late + 1 if how in _TOO_LONG else 0
        # Asked for too much? Then not again today. A drive that said nothing is still to be asked.
        if self.logs is Logs.DAILY and (self.late or result is PollResult.SUCCESS):
            self.daily_due = self.began + daily_seconds

    def next_due(self, now: float, slowest_retry_seconds: float) -> float:
        """When to ask it again: its next moment on the grid, or later where it takes too long."""
        if not self.was_begun:
            return now
        interval = self.target.interval_seconds
        if self.late:
            longer = interval * 2.0 ** min(self.late, 32)
            rest = max(interval, min(longer, slowest_retry_seconds))
            return max(now, self.began + rest)
        due = self._on_grid(now)
        # The daily set has a moment of its own, once: it is not asked for again at once where the
        # drive was in standby then.
        return min(due, self.daily_due) if now < self.daily_due else due

    def _on_grid(self, now: float) -> float:
        interval = self.target.interval_seconds
        # Those whose moments are near nearly share one: each on its own wakes us with cold caches,
        # and costs twice what it costs behind another. Not all at once: until a new process has
        # begun, the interpreter's lock is held, and it wants a CPU; the page would wait for them.
        shared = min(_SHARED_SECONDS, interval / 2)
        moment, rest = divmod(_splay(self.target.address, "regular") * interval, shared)
        offset = moment * shared + rest * _TURNS // shared * _APART_SECONDS
        # Not the moment that follows at once on a poll out of the grid, as the first one is.
        earliest = max(now, self.began + interval / 2)
        return offset + (math.floor((earliest - offset) / interval) + 1) * interval


def _splay(address: Address, what: str) -> float:
    """From 0 to 1, the same for an address at every start, and seldom for two of them."""
    return zlib.crc32(f"{what} {address}".encode()) / 2.0**32
