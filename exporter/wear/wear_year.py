"""Stores the wear of a drive over a year in little memory, for the page of the drive. Pure."""

from array import array
from collections.abc import Iterator, Sequence

from exporter.drives.wear_counter import DAY, WearObservation

#: The most points that are kept of a drive. A counter of whole per cent has about a hundred, and a
#: finer one has a point per day.
_MOST_POINTS = 500


class WearYear:
    """The times at which the wear of a drive changed. Each time takes 8 bytes.

    observations: the rows of one drive, in the order of time.
    """

    __slots__ = ("_numbers",)

    def __init__(self, observations: Sequence[WearObservation]) -> None:
        points: list[tuple[float, float]] = []
        for seen in observations:
            if seen.used_ratio is None:
                continue
            if len(points) > 1 and points[-1][1] == points[-2][1] == seen.used_ratio:
                points.pop()
            points.append((seen.at / DAY, seen.used_ratio))
        self._numbers = array("f", (number for point in points[-_MOST_POINTS:] for number in point))

    def points(self) -> Iterator[tuple[float, float]]:
        """Yields pairs of Unix time, precise to some minutes, and used ratio."""
        numbers = self._numbers
        return ((numbers[i] * DAY, numbers[i + 1]) for i in range(0, len(numbers), 2))
