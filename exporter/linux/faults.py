"""Collects the faults of one source, at most a fixed number."""

from collections.abc import Iterable

from exporter.errors import SourceError

#: The maximum number of faults that are kept of one source. More would not help a reader, and any
#: user can write an option file with a million broken lines.
MAX_FAULTS = 20


class Faults:
    """Collects the faults of one source. Keeps the first 20 and counts the rest."""

    __slots__ = ("_kept", "_omitted")

    def __init__(self, faults: Iterable[SourceError] = ()) -> None:
        self._kept: list[SourceError] = []
        self._omitted = 0
        self.extend(faults)

    def add(self, fault: SourceError) -> None:
        """Add a fault."""
        if len(self._kept) < MAX_FAULTS:
            self._kept.append(fault)
        else:
            self._omitted += 1

    def extend(self, faults: Iterable[SourceError]) -> None:
        """Add several faults."""
        for fault in faults:
            self.add(fault)

    @property
    def first(self) -> SourceError | None:
        """The first fault; None if there is none."""
        return self._kept[0] if self._kept else None

    @property
    def is_full(self) -> bool:
        """True if further faults are only counted."""
        return len(self._kept) >= MAX_FAULTS

    def listed(self) -> tuple[SourceError, ...]:
        """Returns the kept faults. If there were more, the last one states their number."""
        if not self._omitted:
            return tuple(self._kept)
        kind = type(self._kept[0])
        return (*self._kept, kind(f"{self._omitted} more faults are not listed"))
