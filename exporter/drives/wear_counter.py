"""Prepares the history of a drive's wear counter: steps, implausible jumps, and the time axis.

The time axis is the wall clock. For a drive that is powered only part of the time it is the
power-on time of the drive, because a drive without power does not wear.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.drives.trend import Point

DAY = 86400.0

#: Tolerance of comparisons of ratios, because 0.07 - 0.04 > 0.03 in floating point.
_ROUNDING = 1e-9

#: The smallest credible ratio of power-on time to wall time. A drive with a lower ratio does not
#: count its power-on time correctly.
_MIN_POWERED_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class WearObservation:
    """The wear that one report contained.

    at: the unix time of the report.
    power_on_seconds: the total power-on time of the drive.
    used_ratio, step_ratio: as in `Endurance`.
    host_written_bytes, nand_written_bytes: the lifetime byte counters of the drive.
    None means that the report did not contain the value.
    """

    at: float
    power_on_seconds: float | None = None
    used_ratio: float | None = None
    step_ratio: float | None = None
    host_written_bytes: int | None = None
    nand_written_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """An increase of the counter between two observations.

    point: the midpoint in time of the two observations, and the value after the increase.
        The value does not include suspect rises.
    gap_seconds: the time between the two observations.
    suspect: the increase is larger than any load can cause.
    """

    point: Point
    gap_seconds: float
    suspect: bool


@dataclass(frozen=True, slots=True)
class WearCounter:
    """The wear of one drive over a series of observations.

    points: every observation on the time axis, without suspect rises.
    rises: every increase of the counter.
    used_ratio: the last value, as the drive reported it.
    now: the current time on the time axis.
    wall_ratio: seconds of wall time per second of the time axis.
    """

    points: tuple[Point, ...]
    rises: tuple[Rise, ...]
    used_ratio: float
    step_ratio: float
    now: float
    wall_ratio: float

    @property
    def suspect(self) -> bool:
        """True if any rise is suspect."""
        return any(rise.suspect for rise in self.rises)

    def wall(self, *durations: float) -> tuple[float, float, float]:
        """Convert three durations of the time axis to wall time, in seconds."""
        low, mid, high = (duration * self.wall_ratio for duration in durations)
        return low, mid, high

    @classmethod
    def from_observations(
        cls,
        run: Sequence[WearObservation],
        now: float,
        suspect_ratio: float,
        powered_ratio: float,
    ) -> "WearCounter | None":
        """The counter of a drive. None if the drive does not report wear.

        run: the result of `observations_since_reset`.
        now: unix time.
        suspect_ratio, powered_ratio: as in `WearoutRules`.
        """
        known = [
            (observation, observation.used_ratio, observation.step_ratio)
            for observation in run
            if observation.used_ratio is not None and observation.step_ratio
        ]
        if not known:
            return None
        seconds, wall_ratio = _time_axis(
            [observation for observation, _, _ in known], powered_ratio
        )
        readings = [Point(at, used) for at, (_, used, _) in zip(seconds, known, strict=True)]
        points, rises = _rises(readings, suspect_ratio, DAY / wall_ratio)
        last, used_ratio, step_ratio = known[-1]
        return cls(
            points=points,
            rises=rises,
            used_ratio=used_ratio,
            step_ratio=step_ratio,
            # Assume that the drive was powered since the last observation.
            now=seconds[-1] + (now - last.at),
            wall_ratio=wall_ratio,
        )


def observations_since_reset(
    observations: Sequence[WearObservation], now: float, window_seconds: float
) -> tuple[WearObservation, ...]:
    """The observations since the last reset of a counter, between `now - window_seconds` and `now`.

    A counter that goes backward, or that changes its resolution, is a reset. The causes are a
    firmware update, a secure erase, or another drive under the same name. Older observations
    do not describe the present drive.
    """
    recent = [
        observation for observation in observations if now - window_seconds <= observation.at <= now
    ]
    used = step = written = None
    start = 0
    for index, observation in enumerate(recent):
        if (
            _decreased(used, observation.used_ratio)
            or _decreased(written, observation.host_written_bytes)
            or (step and observation.step_ratio and step != observation.step_ratio)
        ):
            start, used, step, written = index, None, None, None
        used = used if observation.used_ratio is None else observation.used_ratio
        step = step if observation.step_ratio is None else observation.step_ratio
        written = (
            written if observation.host_written_bytes is None else observation.host_written_bytes
        )
    return tuple(recent[start:])


def _decreased(before: float | None, after: float | None) -> bool:
    return before is not None and after is not None and after < before


def _time_axis(run: Sequence[WearObservation], powered_ratio: float) -> tuple[list[float], float]:
    """The time of each observation on the time axis, and `wall_ratio` of `WearCounter`."""
    wall = run[-1].at - run[0].at
    powered = [
        observation.power_on_seconds
        for observation in run
        if observation.power_on_seconds is not None
    ]
    if len(powered) == len(run) and powered == sorted(powered) and wall > 0:
        share = (powered[-1] - powered[0]) / wall
        if _MIN_POWERED_RATIO <= share < powered_ratio:
            return powered, 1 / share
    return [observation.at for observation in run], 1.0


def _rises(
    readings: Sequence[Point], suspect_ratio: float, day: float
) -> tuple[tuple[Point, ...], tuple[Rise, ...]]:
    """The readings with suspect rises subtracted, and all rises.

    A rise is suspect if the counter increases by more than `suspect_ratio` within one `day` of
    the time axis. For a gap of several days the limit is multiplied by their number.
    """
    pairs = list(itertools.pairwise(readings))
    suspects: set[int] = set()
    for index, (before, after) in enumerate(pairs):
        # The total increase within the day that ends at this reading.
        first, grown = index, after.value - before.value
        if grown <= 0:
            continue
        allowed = suspect_ratio * max((after.seconds - before.seconds) / day, 1.0)
        while first > 0 and after.seconds - pairs[first - 1][0].seconds <= day:
            first -= 1
            grown += pairs[first][1].value - pairs[first][0].value
        if grown > allowed + _ROUNDING:
            suspects.update(range(first, index + 1))
    points, rises, subtracted = list(readings[:1]), [], 0.0
    for index, (before, after) in enumerate(pairs):
        grown = after.value - before.value
        suspect = index in suspects and grown > 0
        subtracted += grown if suspect else 0.0
        points.append(Point(after.seconds, after.value - subtracted))
        if grown > 0:
            gap = after.seconds - before.seconds
            middle = Point(after.seconds - gap / 2, after.value - subtracted)
            rises.append(Rise(middle, gap, suspect))
    return tuple(points), tuple(rises)
