"""Passes the wear of each drive to the wear history, as soon as the drive has a key there."""

from collections.abc import Collection, Hashable

from exporter.drives.wear_counter import WearObservation
from exporter.wear.wear_recorder import WearRecorder


class WearFeed:
    """The places of the drives whose last wear waits for a key, and the recorder that receives it.

    A drive has no key before all drives of the host were polled once: only then it is clear which
    of them share a WWN or a serial number.

    recorder: None means that wear is not recorded.
    """

    def __init__(self, recorder: WearRecorder | None) -> None:
        self._recorder = recorder
        self._waiting: set[Hashable] = set()

    def add(self, place: Hashable) -> None:
        """Makes the wear of the drive at a place wait. Call it after each poll."""
        if self._recorder is not None:
            self._waiting.add(place)

    def keep(self, places: Collection[Hashable]) -> None:
        """Drops the drives at other places."""
        self._waiting.intersection_update(places)

    def is_waiting(self, place: Hashable) -> bool:
        """True if the wear of the drive at a place waits."""
        return place in self._waiting

    def pass_on(
        self,
        place: Hashable,
        seen: WearObservation | None,
        *,
        key: str | None,
        former_key: str,
        rated_bytes: int | None,
    ) -> None:
        """Passes the wear of the drive at a place to the recorder, unless it has no key yet.

        seen: the wear; None means that the drive reports none.
        key: None means that the drive has no key yet, or reports too little for one.
        former_key, rated_bytes: as in `WearRecorder.record`.
        """
        if seen is not None and key is None:
            return
        self._waiting.discard(place)
        if self._recorder is not None and seen is not None and key is not None:
            self._recorder.record(key, seen, rated_bytes, former_key)

    def remaining(self, key: str, now: float) -> tuple[str, tuple[float, float, float]] | None:
        """Returns the result of `WearRecorder.remaining`; None without a recorder or a key."""
        return self._recorder.remaining(key, now) if self._recorder and key else None
