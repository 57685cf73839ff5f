"""How each drive wears: noted and estimated apart from all else, for a file may hang.

The history stands on a disk, and a disk that hangs must hold up neither the page nor the polls of
other drives: whoever hears of wear leaves it here, and one thread works it through.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from exporter.drives.wear_counter import WearObservation
from exporter.drives.wearout import WearoutEstimate, WearoutRules, estimate_wearout

if TYPE_CHECKING:
    from exporter.smart.wear_history import WearHistory

#: An estimate looks through a year of observations, and moves within weeks.
_ESTIMATE_SECONDS = 3600.0

#: Wear moves within days; who has just started waits for a first estimate.
_WAIT_SECONDS, _FIRST_WAIT_SECONDS = 60.0, 15.0


class _QueuedObservation(NamedTuple):
    seen: WearObservation
    rated_bytes: int | None


@dataclass(slots=True)
class _Estimated:
    wearout: WearoutEstimate | None
    at: float
    rated_bytes: int | None


class WearRecorder:
    """`hear` and `outlook` are for every thread and wait for nothing; the rest is for one.

    open_history: opens it on that thread, and not before a drive tells of wear: SQLite is 2 MB,
    and many hosts need none. keeps: False where the file is another process's.
    """

    def __init__(
        self, open_history: "Callable[[], WearHistory]", rules: WearoutRules, *, keeps: bool = True
    ) -> None:
        self._open = open_history
        self._rules = rules
        self._keeps = keeps
        self._history: WearHistory | None = None
        self._heard: dict[str, _QueuedObservation] = {}
        self._estimated: dict[str, _Estimated] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()

    def record(self, key: str, seen: WearObservation, rated_bytes: int | None) -> None:
        """A drive, known by `key`, has told of its wear."""
        with self._lock:
            self._heard[key] = _QueuedObservation(seen, rated_bytes)

    def remaining(self, key: str, now: float) -> tuple[str, tuple[float, float, float]] | None:
        """By which method, and the low, middle and high estimate, in seconds from now."""
        known = self._estimated.get(key)
        if known is None or known.wearout is None:
            return None
        # To the minute: it counts weeks, and what stands still need not be made anew.
        its, passed = known.wearout, max(now - known.at, 0.0) // 60 * 60
        bounds = (its.low_seconds, its.mid_seconds, its.high_seconds)
        low, mid, high = (max(bound - passed, 0.0) for bound in bounds)
        return its.method.value, (low, mid, high)

    def wake(self) -> None:
        """Let the `step` under way return soon."""
        self._woken.set()

    def step(self) -> None:
        """Work through what was heard, after a while in which more may come."""
        self._woken.wait(_WAIT_SECONDS if self._estimated else _FIRST_WAIT_SECONDS)
        self._woken.clear()
        self.process_queue()

    def process_queue(self) -> None:
        """Note what was heard, estimate where it is time to, and write what is new."""
        with self._lock:
            heard, self._heard = self._heard, {}
        if not heard:
            return
        if self._history is None:
            self._history = self._open()
        for key, (seen, rated_bytes) in heard.items():
            try:
                new = self._history.record(key, seen)
            except ValueError:
                # A document may be dated at what is no instant.
                continue
            self._estimate(key, seen.at, rated_bytes, self._history, is_new=new)
        if self._keeps:
            self._history.flush()

    def close(self) -> None:
        """Keep what is new, on the thread of `step`."""
        self.process_queue()
        if self._history is not None and self._keeps:
            self._history.close()

    def _estimate(
        self, key: str, at: float, rated_bytes: int | None, history: "WearHistory", *, is_new: bool
    ) -> None:
        known = self._estimated.get(key)
        fresh = known is not None and 0 <= at - known.at < _ESTIMATE_SECONDS
        if known is None or is_new or not fresh or known.rated_bytes != rated_bytes:
            wearout = estimate_wearout(history.observations(key), at, self._rules, rated_bytes)
            self._estimated[key] = _Estimated(wearout, at, rated_bytes)
