"""Decides when each drive is polled, and limits the number of polls at a time per host adapter.

The polls of a drive have fixed start times, one interval apart. A hash of the drive's address
determines the first one, so that the polls of many drives are spread over the interval. A restart
does not change the start times. Times are monotonic seconds. The module does no I/O.
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
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.smartctl import Address, Form, Logs

#: A daily poll also reads the error and self-test logs. The first daily polls of all drives are
#: spread over this time, in seconds, so that not all logs are read at once after a start.
_FIRST_DAILY_SECONDS = 300.0

#: Drives whose start times lie within this time, in seconds, are polled together. A poll after a
#: wake-up with cold caches costs twice as much CPU time as a poll that follows another one.
_SHARED_SECONDS = 15.0

#: Drives that are polled together start in a few groups: the time between two groups in seconds,
#: and the number of groups. Starting a process holds the interpreter's lock until the process runs,
#: and a request for the metrics page would wait for all of them.
_START_INTERVAL_SECONDS, _STARTS_PER_MOMENT = 0.075, 4

#: Results of a poll that took longer than its time limit, or printed too much.
_TOO_LONG = frozenset(
    result.value for result in (PollResult.TIMED_OUT, PollResult.STUCK, PollResult.TOO_MUCH_OUTPUT)
)
#: Results of a poll with text that a poll with JSON may not have.
_NOT_TEXT = frozenset(r.value for r in (PollResult.UNREADABLE, PollResult.BAD_REQUEST))


@dataclass(frozen=True, slots=True)
class Target:
    """A drive to poll, with the settings of its polls.

    address: the smartctl address of the drive.
    adapter: the host adapter of the drive, which other drives may share; the path if unknown.
    interval_seconds: the regular time between two polls.
    timeout_seconds: the time limit of one poll.
    never_kill: True if a smartctl process for this drive must run to its end.
    spins: False if the drive is known to be an SSD. An SSD is polled in every power mode. Other
        drives are not polled in standby.
    """

    address: Address
    adapter: str
    interval_seconds: float
    timeout_seconds: float
    never_kill: bool = False
    spins: bool = True

    @property
    def may_kill(self) -> bool:
        """True if a smartctl process for this drive may be ended early."""
        return not self.never_kill and smartctl.may_be_killed(self.address.type)


class State(Enum):
    """The state of a polled drive."""

    WAITING = 0  # it waits for its next start time
    READY = 1  # its start time is reached, and it waits for a free process
    RUNNING = 2  # its process is running
    STUCK = 3  # its process was abandoned and still exists


@dataclass(slots=True)
class PolledDrive:
    """The state of a target from one poll to the next.

    daily_due: when the next daily poll is due.
    wanted: False after the drive was removed from the targets.
    adapter: the host adapter whose limit of processes includes the running poll.
    logs: the logs that the last poll reads.
    began: the start of the last poll; minus infinity before the first one.
    began_moment: the same as a `Moment`; None before the first poll.
    late: the number of consecutive polls that reached their time limit or printed too much.
    form: the form of smartctl's output at the next poll.
    is_text_unreadable: True if a poll with text could not be read, so that JSON is used.
    """

    target: Target
    daily_due: float
    state: State = State.WAITING
    wanted: bool = True
    adapter: str = ""
    logs: Logs = Logs.REGULAR
    began: float = -math.inf
    began_moment: Moment | None = None
    late: int = 0
    form: Form = Form.JSON
    is_text_unreadable: bool = False

    @property
    def was_polled(self) -> bool:
        """True if this poller has started a poll of the drive."""
        return self.began > -math.inf

    @classmethod
    def new(cls, target: Target, now: float) -> "PolledDrive":
        """Returns the state of a drive that has just been found."""
        return cls(target, now + _hash_ratio(target.address, "daily") * _FIRST_DAILY_SECONDS)

    def start_poll(self, now: float, moment: Moment) -> None:
        """Records the start of a poll, and decides whether it is a daily poll.

        now: the current monotonic time, in seconds. moment: the current time.
        """
        self.logs = Logs.DAILY if self.daily_due <= now else Logs.REGULAR
        self.state, self.began, self.began_moment = State.RUNNING, now, moment

    def end_poll(self, result: str, daily_seconds: float) -> None:
        """Records the result of the poll.

        A daily poll that took too long is not repeated on the same day. If a daily poll failed for
        another reason, the next poll is a daily poll again.

        result: a value of `PollResult`.
        daily_seconds: the interval of the daily polls.
        """
        self.late = self.late + 1 if result in _TOO_LONG else 0
        if self.logs is Logs.DAILY and (self.late or result == PollResult.SUCCESS):
            self.daily_due = self.began + daily_seconds

    def changes_form(self, result: str, best: Form) -> bool:
        """Sets the form of smartctl's output. Returns True if the poll must be repeated.

        result: the result of the poll, a value of `PollResult`.
        best: the result of `smartctl.best_form` for the output of the poll.
        """
        before = self.form
        if before is Form.JSON and not self.is_text_unreadable:
            self.form = best
        elif before is not Form.JSON and result in _NOT_TEXT:
            self.form, self.is_text_unreadable = Form.JSON, True
        return self.form is not before

    def next_due(self, now: float, slowest_retry_seconds: float) -> float:
        """Returns the time of the next poll. It is later than usual if polls took too long.

        slowest_retry_seconds: the longest interval of a drive whose polls take too long.
        """
        if not self.was_polled:
            return now
        interval = self.target.interval_seconds
        if self.late:
            backoff = interval * 2.0 ** min(self.late, 32)
            rest = max(interval, min(backoff, slowest_retry_seconds))
            return max(now, self.began + rest)
        due = self._next_on_grid(now)
        # A daily poll that becomes due earlier has a start time of its own. If the drive was in
        # standby at that time, the daily poll is overdue: it replaces the next regular poll.
        return min(due, self.daily_due) if now < self.daily_due else due

    def _next_on_grid(self, now: float) -> float:
        interval = self.target.interval_seconds
        shared = min(_SHARED_SECONDS, interval / 2)
        moment, rest = divmod(_hash_ratio(self.target.address, "regular") * interval, shared)
        offset = moment * shared + rest * _STARTS_PER_MOMENT // shared * _START_INTERVAL_SECONDS
        # A poll can be at another time than the regular ones, such as the first poll. The next
        # regular poll is at least half an interval later.
        earliest = max(now, self.began + interval / 2)
        return offset + (math.floor((earliest - offset) / interval) + 1) * interval


def _hash_ratio(address: Address, purpose: str) -> float:
    """Returns a number from 0 to 1 that depends only on the address and the purpose."""
    return zlib.crc32(f"{purpose} {address}".encode()) / 2.0**32


KeyT = TypeVar("KeyT", bound=Hashable)


class DueQueue(Generic[KeyT]):
    """A queue of items that are due at given times. Items due at the same time keep their order.

    Insertion and removal take time proportional to the logarithm of the number of items.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, KeyT]] = []
        #: The number of the valid heap entry of each item. Entries with another number are ignored.
        self._tickets: dict[KeyT, int] = {}
        self._next = itertools.count(1)

    def put(self, item: KeyT, due: float) -> None:
        """Adds the item, or changes the time at which it is due."""
        ticket = self._tickets[item] = next(self._next)
        heapq.heappush(self._heap, (due, ticket, item))

    def drop(self, item: KeyT) -> None:
        """Removes the item if it is in the queue."""
        self._tickets.pop(item, None)

    def soonest(self) -> float | None:
        """Returns the time at which the next item is due; None if the queue is empty."""
        while self._heap and not self._is_valid(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: float) -> KeyT | None:
        """Removes and returns the next item that is due; None if no item is due."""
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
    """A queue of items that wait for a free process.

    The number of processes is limited in total and per host adapter. Items leave in the order of
    insertion as far as the limits allow: a busy adapter delays only its own items. Each operation
    takes time proportional to the logarithm of the number of adapters.

    waiting: the number of items in the queue.
    running: the number of items that were taken and not given back.
    """

    def __init__(self, limit: int, limit_per_adapter: int) -> None:
        self._limit = limit
        self._limit_per_adapter = limit_per_adapter
        self._adapters: dict[str, _Adapter[ItemT]] = {}
        self._places = itertools.count()
        #: A heap of the adapters that have a waiting item and a free process, with the number of
        #: their first item. Items are numbered in the order of insertion.
        self._free: list[tuple[int, str]] = []
        self.waiting = 0
        self.running = 0

    def put(self, adapter: str, item: ItemT) -> None:
        """Adds an item to the adapter's queue."""
        self._adapters.setdefault(adapter, _Adapter()).waiting.append((next(self._places), item))
        self.waiting += 1
        self._offer(adapter)

    @property
    def can_take(self) -> bool:
        """True if `take` would return an item."""
        return bool(self._free) and self.running < self._limit

    def take(self) -> ItemT | None:
        """Removes and returns the next item that the limits allow; None if there is none.

        When the process of the item has ended, `give_back` must be called.
        """
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
        """Records that the process of an item of this adapter has ended."""
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
