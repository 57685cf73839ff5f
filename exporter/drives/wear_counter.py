"""What a drive's wear counter did: its steps, its jumps, and the clock on which it wears."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.drives.trend import Point

DAY = 86400.0

#: Ratios are percents divided by 100: 0.07 - 0.04 is more than 0.03 by the last bit.
_ROUNDING = 1e-9

#: A drive whose own hours stand still, or nearly so, does not count them.
_LEAST_POWERED_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class WearObservation:
    """What one report said of wear. at: unix time.

    step_ratio: the resolution of used_ratio.
    power_on_seconds: the drive's own clock, which stands still while the host is off.
    """

    at: float
    power_on_seconds: float | None = None
    used_ratio: float | None = None
    step_ratio: float | None = None
    host_written_bytes: int | None = None
    nand_written_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """The counter rose. after: halfway between the two looks at it, with the value it rose to.

    Values hold the good rises alone, as if no suspect one had been.
    unseen_seconds: between the two looks.
    """

    after: Point
    unseen_seconds: float
    suspect: bool


@dataclass(frozen=True, slots=True)
class WearCounter:
    """A drive's wear over one run of observations.

    points: every reading, on the time axis of `now`, without suspect rises.
    used_ratio: the last reading, as the drive gave it.
    wall_seconds: so many pass on the wall for one of the axis.
    """

    points: tuple[Point, ...]
    rises: tuple[Rise, ...]
    used_ratio: float
    step_ratio: float
    now: float
    wall_seconds: float

    @property
    def suspect(self) -> bool:
        return any(rise.suspect for rise in self.rises)

    def wall(self, *durations: float) -> tuple[float, float, float]:
        """Durations of the time axis on the wall clock."""
        low, mid, high = (duration * self.wall_seconds for duration in durations)
        return low, mid, high

    @classmethod
    def over(
        cls,
        run: Sequence[WearObservation],
        now: float,
        suspect_ratio: float,
        powered_ratio: float,
    ) -> "WearCounter | None":
        """The counter over what `since_reset` left; None where the drive tells no wear."""
        known = [
            (seen, seen.used_ratio, seen.step_ratio)
            for seen in run
            if seen.used_ratio is not None and seen.step_ratio
        ]
        if not known:
            return None
        seconds, wall_seconds = _axis([seen for seen, _, _ in known], powered_ratio)
        readings = [Point(at, used) for at, (_, used, _) in zip(seconds, known, strict=True)]
        points, rises = _rises(readings, suspect_ratio, DAY / wall_seconds)
        last, used_ratio, step_ratio = known[-1]
        return cls(
            points=points,
            rises=rises,
            used_ratio=used_ratio,
            step_ratio=step_ratio,
            # The drive runs, or nobody could ask, so both clocks went on alike.
            now=seconds[-1] + (now - last.at),
            wall_seconds=wall_seconds,
        )


def observations_since_reset(
    observations: Sequence[WearObservation], now: float, window_seconds: float
) -> tuple[WearObservation, ...]:
    """The observations since a count last went back, or was first made in other steps.

    A firmware update, an erased drive, or another drive under the same name: the old slope is no
    longer this drive's. Those before the window and those of the future are left out.
    """
    recent = [seen for seen in observations if now - window_seconds <= seen.at <= now]
    used = step = written = None
    begin = 0
    for index, seen in enumerate(recent):
        if (
            _fell(used, seen.used_ratio)
            or _fell(written, seen.host_written_bytes)
            or (step and seen.step_ratio and step != seen.step_ratio)
        ):
            begin, used, step, written = index, None, None, None
        used = used if seen.used_ratio is None else seen.used_ratio
        step = step if seen.step_ratio is None else seen.step_ratio
        written = written if seen.host_written_bytes is None else seen.host_written_bytes
    return tuple(recent[begin:])


def _fell(before: float | None, after: float | None) -> bool:
    return before is not None and after is not None and after < before


def _axis(run: Sequence[WearObservation], powered_ratio: float) -> tuple[list[float], float]:
    """Where each observation lies on the time axis, and the wall seconds for one of its seconds."""
    wall = run[-1].at - run[0].at
    powered = [seen.power_on_seconds for seen in run if seen.power_on_seconds is not None]
    if len(powered) == len(run) and powered == sorted(powered) and wall > 0:
        share = (powered[-1] - powered[0]) / wall
        if _LEAST_POWERED_RATIO <= share < powered_ratio:
            return powered, 1 / share
    return [seen.at for seen in run], 1.0


def _rises(
    readings: Sequence[Point], suspect_ratio: float, day: float
) -> tuple[tuple[Point, ...], tuple[Rise, ...]]:
    """The readings without suspect rises, and all the rises.

    Suspect is what rises by more than `suspect_ratio` within a `day` of the axis.
    """
    pairs = list(itertools.pairwise(readings))
    suspects: set[int] = set()
    for index, (before, after) in enumerate(pairs):
        # All that rose in the day that ends here; a longer gap counts by its days.
        first, grown = index, after.value - before.value
        if grown <= 0:
            continue
        allowed = suspect_ratio * max((after.seconds - before.seconds) / day, 1.0)
        while first > 0 and after.seconds - pairs[first - 1][0].seconds <= day:
            first -= 1
            grown += pairs[first][1].value - pairs[first][0].value
        if grown > allowed + _ROUNDING:
            suspects.update(range(first, index + 1))
    points, rises, left_out = list(readings[:1]), [], 0.0
    for index, (before, after) in enumerate(pairs):
        grown = after.value - before.value
        suspect = index in suspects and grown > 0
        left_out += grown if suspect else 0.0
        points.append(Point(after.seconds, after.value - left_out))
        if grown > 0:
            unseen = after.seconds - before.seconds
            middle = Point(after.seconds - unseen / 2, after.value - left_out)
            rises.append(Rise(middle, unseen, suspect))
    return tuple(points), tuple(rises)
