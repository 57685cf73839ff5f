"""Prepares the history of the wear counter of a drive for the estimate in `wearout`.

The wear counter is the share of the rated endurance that the drive has used. This module finds the
increases of the counter, removes increases that are too large to be wear, and chooses the time
axis.

The time axis is the scale on which times are measured. It is normally Unix time. For a drive that
has power only part of the time it is the power-on time of the drive, because a drive without power
does not wear.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.drives.trend import Point

DAY = 86400.0

#: The tolerance for comparisons of ratios, because 0.07 - 0.04 > 0.03 in floating point.
_ROUNDING = 1e-9

#: The smallest plausible ratio of power-on time to elapsed time. A drive with a lower ratio does
#: not count its power-on time correctly.
_MIN_POWERED_RATIO = 0.01

#: The largest increases between two observations of one drive. Drives count whole hours of power-on
#: time. No drive that lasts wears by more than a twentieth of its endurance in a day, or takes more
#: than 10 GB/s for a day.
_POWER_ON_MARGIN_SECONDS = 7200.0
_MAX_DAILY_RATIO = 0.05
_MAX_WRITE_RATE = 10e9

#: Fast increases are wear and no defect if there are at least this many, over this many days.
_CONTINUOUS_RISES = 3
_CONTINUOUS_DAYS = 2.0


@dataclass(frozen=True, slots=True)
class WearObservation:
    """The values in one SMART report that are related to wear.

    None means that the report did not contain the value.

    at: the time of the report, in seconds of Unix time.
    power_on_seconds: the total power-on time of the drive.
    used_ratio: the share of the rated endurance that the drive has used; 1.0 is the whole.
    step_ratio: the resolution of `used_ratio`; 0.01 for a drive that counts whole percents.
    host_written_bytes: the bytes that the host has written over the life of the drive.
    nand_written_bytes: the bytes that the drive has written to its flash over its life.
    """

    at: float
    power_on_seconds: float | None = None
    used_ratio: float | None = None
    step_ratio: float | None = None
    host_written_bytes: int | None = None
    nand_written_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """An increase of the wear counter between two successive observations.

    point: the middle of the time between the two observations, and the value after the increase.
        The value does not include suspect rises.
    gap_seconds: the time between the two observations.
    suspect: True if the increase is too large to be wear.
    """

    point: Point
    gap_seconds: float
    suspect: bool


@dataclass(frozen=True, slots=True)
class WearCounter:
    """The wear counter of one drive over several observations.

    The docstring of the module explains the time axis. `Rise` explains suspect rises.

    points: the time on the time axis and the value, for each observation that contains the wear.
        All suspect rises before it are subtracted from the value.
    rises: every increase of the counter, also the suspect ones.
    used_ratio: the last value, as the drive reported it.
    step_ratio: the resolution of the counter; 0.01 for a drive that counts whole percents.
    now: the current time on the time axis, in seconds.
    wall_ratio: converts a duration on the time axis to elapsed time. It is 1.0 if the axis is Unix
        time, and larger if it is the power-on time.
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
        """Converts three durations on the time axis to elapsed time, in seconds."""
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
        """Returns the wear counter of a drive. None if no observation contains the wear.

        run: the result of `observations_since_reset`.
        now: the current time, in seconds of Unix time.
        suspect_ratio: an increase by more than this within a day is suspect.
        powered_ratio: if the drive has power for a smaller share of the time, the time axis is its
            power-on time.
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
            # It is assumed that the drive has had power since the last observation.
            now=seconds[-1] + (now - last.at),
            wall_ratio=wall_ratio,
        )


def observations_of_one(
    mixed: Sequence[WearObservation], own: WearObservation
) -> tuple[WearObservation, ...]:
    """Returns the observations in `mixed` that may be of the same drive as `own`, sorted by time.

    The search starts at `own` and goes back in time. Each observation is compared with the one that
    was selected last. It is selected if the power-on time, the wear and the bytes written by hosts
    increased by a plausible amount in the time between them. `own` is not returned.

    mixed: the observations of several drives, sorted by time.
    own: an observation that certainly is of the drive.
    """
    result: list[WearObservation] = []
    later = own
    for seen in reversed(mixed):
        if seen.at < later.at and _can_precede(seen, later):
            result.append(seen)
            later = seen
    return tuple(reversed(result))


def _can_precede(before: WearObservation, after: WearObservation) -> bool:
    elapsed = after.at - before.at
    pairs = (
        (before.power_on_seconds, after.power_on_seconds, elapsed + _POWER_ON_MARGIN_SECONDS),
        (before.used_ratio, after.used_ratio, _MAX_DAILY_RATIO * max(elapsed / DAY, 1.0)),
        (before.host_written_bytes, after.host_written_bytes, _MAX_WRITE_RATE * max(elapsed, DAY)),
    )
    return all(
        old is None or new is None or -_ROUNDING <= new - old <= most + _ROUNDING
        for old, new, most in pairs
    )


def observations_since_reset(
    observations: Sequence[WearObservation], now: float, window_seconds: float
) -> tuple[WearObservation, ...]:
    """Returns the observations since the last reset of a counter.

    A reset is a decrease of the wear or of the written bytes, or a change of the resolution of the
    wear. The cause is a firmware update, a secure erase, or another drive with the same name.
    Observations before the reset do not describe the present drive.

    observations: sorted by time.
    now, window_seconds: only observations from `now - window_seconds` to `now` are used, in seconds
        of Unix time.
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
    """Returns the time of each observation on the time axis, and the elapsed time per axis time.

    The second value is the `wall_ratio` of `WearCounter`.
    """
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
    """Returns the readings with the suspect rises subtracted, and all rises, also the suspect ones.

    A rise is suspect if the counter increases by more than `suspect_ratio` within one day. If there
    are several days between two readings, the limit is multiplied by their number.

    readings: the values of the counter over time, sorted by time.
    suspect_ratio: the limit for the increase within one day.
    day: the length of one day on the time axis, in seconds.
    """
    pairs = list(itertools.pairwise(readings))
    suspects: set[int] = set()
    for index, (before, after) in enumerate(pairs):
        # The following loop computes the total increase within the day that ends at this reading.
        first, grown = index, after.value - before.value
        if grown <= 0:
            continue
        allowed = suspect_ratio * max((after.seconds - before.seconds) / day, 1.0)
        while first > 0 and after.seconds - pairs[first - 1][0].seconds <= day:
            first -= 1
            grown += pairs[first][1].value - pairs[first][0].value
        if grown > allowed + _ROUNDING:
            suspects.update(range(first, index + 1))
    if suspects and _is_continuous(pairs, suspects, day):
        suspects = set()
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


def _is_continuous(pairs: Sequence[tuple[Point, Point]], suspects: set[int], day: float) -> bool:
    """Returns True if the suspect increases are wear: they go on for days, and are most of all.

    A defect of the firmware adds its increase at once.

    pairs: successive readings. suspects: the positions of the pairs with suspect increases.
    day: the length of one day on the time axis, in seconds.
    """
    rising = [index for index, (before, after) in enumerate(pairs) if after.value > before.value]
    fast = [index for index in rising if index in suspects]
    if len(fast) < _CONTINUOUS_RISES or 2 * len(fast) < len(rising):
        return False
    return pairs[fast[-1]][1].seconds - pairs[fast[0]][0].seconds >= _CONTINUOUS_DAYS * day
