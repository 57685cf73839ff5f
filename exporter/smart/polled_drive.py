"""One drive from poll to poll: what it is doing, how it fared, and when it is asked next.

Its moments stand on a grid that its address moves, the same at every start, so that they do not
drift, and few drives share one.
"""

import math
import zlib
from dataclasses import dataclass
from enum import Enum

from exporter.programs.child import End
from exporter.smart import smartctl
from exporter.smart.poll_outcome import PollResult
from exporter.smart.smartctl import Address, Logs

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
