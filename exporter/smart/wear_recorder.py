"""Records wear observations and estimates wear-out on a thread of its own.

The history is a file, and a disk that hangs must block neither the page nor the polls of other
drives. Other threads put observations into a queue, and one thread processes it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from exporter.drives.wear_counter import WearObservation
from exporter.drives.wearout import WearoutEstimate, WearoutRules, estimate_wearout

if TYPE_CHECKING:
    from exporter.smart.wear_history import WearHistory

#: Interval of a drive's estimates. Each reads a year of observations and changes within weeks.
_ESTIMATE_SECONDS = 3600.0

#: Interval of processing, and the shorter one before the first estimate. Wear changes within days.
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
    """`record` and `remaining` are for every thread and do not block; the rest is for one thread.

    open_history: opens the history on that thread, when the first drive reports wear: SQLite takes
    2 MB, and many hosts need none. keeps: False if the file belongs to another process.
    """

    def __init__(
        self, open_history: "Callable[[], WearHistory]", rules: WearoutRules, *, keeps: bool = True
    ) -> None:
        self._open = open_history
        self._rules = rules
        self._keeps = keeps
        self._history: WearHistory | None = None
        self._queue: dict[str, _QueuedObservation] = {}
        self._estimated: dict[str, _Estimated] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()

    def record(self, key: str, seen: WearObservation, rated_bytes: int | None) -> None:
        """Queue an observation of the drive with this key."""
        with self._lock:
            self._queue[key] = _QueuedObservation(seen, rated_bytes)

    def remaining(self, key: str, now: float) -> tuple[str, tuple[float, float, float]] | None:
        """The method, and the low, middle and high estimate in seconds from now, or None."""
        known = self._estimated.get(key)
        if known is None or known.wearout is None:
            return None
        # To the minute: it counts weeks, and an unchanged value need not be rendered again.
        estimated, passed = known.wearout, max(now - known.at, 0.0) // 60 * 60
        bounds = (estimated.low_seconds, estimated.mid_seconds, estimated.high_seconds)
        low, mid, high = (max(bound - passed, 0.0) for bound in bounds)
        return estimated.method.value, (low, mid, high)

    def wake(self) -> None:
        """Make the current `step` return soon."""
        self._woken.set()

    def step(self) -> None:
        """Wait for more observations, then process the queue."""
        self._woken.wait(_WAIT_SECONDS if self._estimated else _FIRST_WAIT_SECONDS)
        self._woken.clear()
        self.process_queue()

    def process_queue(self) -> None:
        """Record the queued observations, estimate where due, and write the new rows."""
        with self._lock:
            queue, self._queue = self._queue, {}
        if not queue:
            return
        if self._history is None:
            self._history = self._open()
        for key, (seen, rated_bytes) in queue.items():
            try:
                new = self._history.record(key, seen)
            except ValueError:
                # A document may have an invalid date.
                continue
            self._estimate(key, seen.at, rated_bytes, self._history, is_new=new)
        if self._keeps:
            self._history.flush()

    def close(self) -> None:
        """Write the new rows, on the thread of `step`."""
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
