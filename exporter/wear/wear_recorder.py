"""Records wear observations and estimates wear-out, on a thread of its own.

A wear observation contains the wear values of one report of a drive. The history of observations is
a file. If the disk with this file hangs, the metrics page and the polls must continue. Other
threads therefore put observations into a queue, and one thread processes the queue.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from exporter.drives.wear_counter import WearObservation
from exporter.drives.wearout import (
    WearoutEstimate,
    WearoutRules,
    estimate_wearout,
    missing_reason,
)
from exporter.wear.wear_year import WearYear

if TYPE_CHECKING:
    from exporter.wear.wear_history import WearHistory

#: Interval at which the wear-out of a drive is estimated, in seconds. An estimate reads a year of
#: observations, and its result changes only within weeks.
_ESTIMATE_SECONDS = 3600.0

#: Interval at which the queue is processed, and the shorter interval before the first estimate, in
#: seconds. The interval can be long, because wear changes within days.
_WAIT_SECONDS, _FIRST_WAIT_SECONDS = 60.0, 15.0


class _QueuedObservation(NamedTuple):
    seen: WearObservation
    rated_bytes: int | None
    former_key: str


@dataclass(slots=True)
class _Estimated:
    wearout: WearoutEstimate | None
    at: float
    rated_bytes: int | None
    former_key: str
    year: WearYear


class WearRecorder:
    """Records wear observations and provides the wear-out estimate of each drive.

    Any thread may call `record`, `remaining` and `wake`, which do not block. One thread calls the
    other methods.

    open_history: opens the history. It is called when the first drive reports wear, because SQLite
        takes 2 MB of memory, and many hosts do not need it.
    keeps: False if the file belongs to another process. Rows are then not written.
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

    def record(
        self, key: str, seen: WearObservation, rated_bytes: int | None, former_key: str = ""
    ) -> None:
        """Puts an observation into the queue.

        key: identifies the drive during its whole life (`inventory.KnownDrive`).
        rated_bytes: the configured rated endurance in bytes; None means that none is configured.
        former_key: as in `WearHistory.observations`.
        """
        with self._lock:
            self._queue[key] = _QueuedObservation(seen, rated_bytes, former_key)

    def remaining(self, key: str, now: float) -> tuple[str, tuple[float, float, float]] | None:
        """Returns how long the rated endurance of a drive lasts; None if there is no estimate.

        The result is the name of the method (`WearoutMethod`), and the low, middle and high
        estimate in seconds from `now`.

        now: the current Unix time.
        """
        known = self._estimated.get(key)
        if known is None or known.wearout is None:
            return None
        # The time that has passed is rounded down to minutes. This is exact enough for weeks, and
        # the metrics page need not render a value again that has not changed.
        estimated, passed = known.wearout, max(now - known.at, 0.0) // 60 * 60
        bounds = (estimated.low_seconds, estimated.mid_seconds, estimated.high_seconds)
        low, mid, high = (max(bound - passed, 0.0) for bound in bounds)
        return estimated.method.value, (low, mid, high)

    def missing_reason(self, key: str, now: float) -> str:
        """Returns why a drive that reports its wear has no estimate, as text for people.

        The text is never empty.

        Call it on the thread that calls `process_queue`: it reads the history.
        """
        history, known = self._history, self._estimated.get(key)
        former_key = "" if known is None else known.former_key
        seen = () if history is None else history.observations(key, former_key)
        return missing_reason(seen, now, self._rules)

    def year(self, key: str) -> list[tuple[float, float]]:
        """Returns when the wear of a drive changed in the last 400 days; empty if unknown.

        The result contains pairs of Unix time and used ratio, as of the last estimate. Any thread
        may call the method, because it reads no file.
        """
        known = self._estimated.get(key)
        return [] if known is None else list(known.year.points())

    def wake(self) -> None:
        """Makes the current `step` return soon. Other threads may call it."""
        self._woken.set()

    def step(self) -> None:
        """Waits up to a minute or until `wake` is called, then processes the queue."""
        self._woken.wait(_WAIT_SECONDS if self._estimated else _FIRST_WAIT_SECONDS)
        self._woken.clear()
        self.process_queue()

    def process_queue(self) -> None:
        """Records the queued observations, updates estimates that are due, and writes new rows."""
        with self._lock:
            queue, self._queue = self._queue, {}
        if not queue:
            return
        if self._history is None:
            self._history = self._open()
        for key, queued in queue.items():
            try:
                new = self._history.record(key, queued.seen)
            except ValueError:
                # The time in a poll document may be invalid.
                continue
            self._estimate(key, queued, self._history, is_new=new)
        if self._keeps:
            self._history.flush()

    def close(self) -> None:
        """Writes the new rows and closes the history. Call it on the thread that calls `step`."""
        self.process_queue()
        if self._history is not None and self._keeps:
            self._history.close()

    def _estimate(
        self, key: str, queued: _QueuedObservation, history: "WearHistory", *, is_new: bool
    ) -> None:
        (seen, rated_bytes, former_key), known = queued, self._estimated.get(key)
        fresh = known is not None and 0 <= seen.at - known.at < _ESTIMATE_SECONDS
        if known is None or is_new or not fresh or known.rated_bytes != rated_bytes:
            observations = history.observations(key, former_key)
            wearout = estimate_wearout(observations, seen.at, self._rules, rated_bytes)
            year = WearYear(observations)
            self._estimated[key] = _Estimated(wearout, seen.at, rated_bytes, former_key, year)
