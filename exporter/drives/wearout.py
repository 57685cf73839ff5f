"""Estimates when a drive will have used up its rated endurance.

This is not the date of a failure. Field studies found no sudden rise of failures at the rated
endurance (Schroeder et al., Flash Reliability in Production, FAST'16). At that point the
warranty ends, and fewer spare blocks are left.

There are four methods. The first one that the data allow is used:

steps           For a counter of whole percents. Such a counter is most precise at the moments at
                which it increases, so the line goes through these moments only.
fraction        For a finer counter. The line goes through one reading per day.
lifetime_ratio  Bytes written per used endurance over the life of the drive, and the recent rate
                of writing.
rated_tbw       The bytes that the vendor warrants, from the configuration, and the recent rate.

The range from `low` to `high` contains the scatter of the increments, the rounding of the
counter, and the time between observations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from exporter.drives.trend import Point, Trend, fit_trend
from exporter.drives.wear_counter import DAY, WearCounter, WearObservation, observations_since_reset


class WearoutMethod(str, Enum):
    """The method of an estimate; the module docstring explains each one."""

    STEPS = "steps"
    FRACTION = "fraction"
    LIFETIME_RATIO = "lifetime_ratio"
    RATED_TBW = "rated_tbw"


@dataclass(frozen=True, slots=True)
class WearoutRules:
    """Thresholds of the estimate.

    window_seconds: older observations are not used, because the load may have changed.
    min_steps: a line needs at least this many steps.
    coarse_step_ratio: a counter with this resolution or a coarser one is read at its steps, a
        finer one once per day.
    fraction_window_seconds: the line through a fine counter uses this much history.
    min_fraction_seconds, min_fraction_steps: the line must span at least this time, and the
        counter must increase by at least this many units of its resolution.
    suspect_ratio: a larger increase within a day is a firmware defect and not wear, as on
        Samsung's 980 PRO and 990 PRO. The line does not include it.
    powered_ratio: if power-on time per wall time is below this, because the host is off at
        night for example, power-on time is the time axis.
    rate_window_seconds: the recent rate of writing is the mean over this time.
    min_rate_seconds: the rate needs at least this much history.
    short_history_factor: until the history is twice `rate_window_seconds`, the range is at
        least this wide: the rate may be wrong by this factor. Less than a week may contain no
        weekend, and one week does not show how much weeks differ.
    min_used_ratio: below this, the rounding of whole percents makes the lifetime ratio useless.
    max_seconds: the limit of the estimate. A longer time is reported as this limit.
    """

    window_seconds: float = 400 * DAY
    min_steps: int = 3
    coarse_step_ratio: float = 0.01
    fraction_window_seconds: float = 90 * DAY
    min_fraction_seconds: float = 14 * DAY
    min_fraction_steps: int = 3
    suspect_ratio: float = 0.03
    powered_ratio: float = 0.95
    rate_window_seconds: float = 7 * DAY
    min_rate_seconds: float = DAY
    short_history_factor: float = 2.0
    min_used_ratio: float = 0.03
    max_seconds: float = 3650 * DAY


@dataclass(frozen=True, slots=True)
class WearoutEstimate:
    """The time until the rated endurance is used up; low <= mid <= high.

    suspect: the wear level increased implausibly within a day; see `WearoutRules.suspect_ratio`.
    """

    method: WearoutMethod
    low_seconds: float
    mid_seconds: float
    high_seconds: float
    suspect: bool = False


#: Low, mid and high, in seconds.
_Bounds: TypeAlias = tuple[float, float, float]


def estimate_wearout(
    observations: Sequence[WearObservation],
    now: float,
    rules: WearoutRules,
    rated_bytes: int | None = None,
) -> WearoutEstimate | None:
    """The time until the rated endurance of one drive is used up, counted from `now`.

    observations: the history of one drive, sorted by time. Those after `now` are ignored.
    now: unix time.
    rated_bytes: the bytes that the vendor warrants, if configured.

    None if no method has enough data, and if the endurance is already used up.
    """
    run = observations_since_reset(observations, now, rules.window_seconds)
    counter = WearCounter.from_observations(run, now, rules.suspect_ratio, rules.powered_ratio)
    if not run or (counter and counter.used_ratio >= 1):
        return None
    bounds: _Bounds | None = None
    method = WearoutMethod.STEPS
    if counter and counter.step_ratio >= rules.coarse_step_ratio:
        bounds = _by_steps(counter, rules)
    elif counter:
        method, bounds = WearoutMethod.FRACTION, _by_fraction(counter, rules)
    if bounds is None and counter and counter.used_ratio >= rules.min_used_ratio:
        method, bounds = WearoutMethod.LIFETIME_RATIO, _by_lifetime(counter, run, rules)
    if bounds is None and rated_bytes:
        method, bounds = WearoutMethod.RATED_TBW, _by_rating(rated_bytes, run, rules)
    if bounds is None:
        return None
    low, mid, high = (min(max(seconds, 0.0), rules.max_seconds) for seconds in bounds)
    return WearoutEstimate(
        method, min(low, mid), mid, max(mid, high), counter is not None and counter.suspect
    )


def _by_steps(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """The estimate from a line through the steps of the counter.

    If the next step is overdue, the line is fitted again with a step at `now`, which is the
    earliest time for it. The upper bound then assumes the rate since the last step.
    """
    steps = [rise.point for rise in counter.rises if not rise.suspect]
    if len(steps) < rules.min_steps:
        return None
    line = fit_trend(steps, by_value=True)
    if line is None:
        return None
    last, step = counter.rises[-1], counter.step_ratio
    left = 1 - counter.used_ratio
    since = counter.now - last.point.seconds
    max_gap = max(rise.gap_seconds for rise in counter.rises)
    overdue_seconds_per_ratio = 0.0
    if last.suspect:
        # The counter jumped, so the time since its last regular step is unknown.
        since = 0.0
    elif since * line.rate > step:
        overdue_seconds_per_ratio = since / step
        overdue = fit_trend([*steps, Point(counter.now, last.point.value + step)], by_value=True)
        line = overdue if overdue and overdue.rate < line.rate else line
    factor = _error_factor(line, max_gap / (steps[-1].seconds - steps[0].seconds))
    # Seconds per used ratio at the highest and at the lowest plausible rate.
    fast, slow = 1 / (line.rate * factor), factor / line.rate
    # The drive has used at most one step since the last increase of the counter.
    least = max(left - step, 0.0)
    return counter.wall(
        max(left * fast - since - last.gap_seconds / 2, least * fast),
        max(left / line.rate - since, least / line.rate),
        # A counter that rounds up is up to one step ahead of the wear.
        max((left + step) * slow - since + last.gap_seconds / 2, left * overdue_seconds_per_ratio),
    )


def _by_fraction(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """The estimate from a line through the daily readings of a counter finer than a percent."""
    first = counter.now - rules.fraction_window_seconds
    points = [point for point in counter.points if point.seconds >= first]
    line = fit_trend(points)
    if line is None or points[-1].seconds - points[0].seconds < rules.min_fraction_seconds:
        return None
    grown, step = points[-1].value - points[0].value, counter.step_ratio
    if grown < rules.min_fraction_steps * step:
        return None
    factor = _error_factor(line, step / grown)
    left, since = 1 - counter.used_ratio, counter.now - points[-1].seconds
    return counter.wall(
        (left - step) / (line.rate * factor) - since,
        left / line.rate - since,
        (left + step) * factor / line.rate - since,
    )


def _by_lifetime(
    counter: WearCounter, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds | None:
    """The estimate from the bytes that were written per used endurance until now."""
    written = run[-1].host_written_bytes
    rate = _written_rate(run, rules)
    if not written or rate is None:
        return None
    used, step = counter.used_ratio, counter.step_ratio
    most, least = min(used + step, 1.0), max(used - step, step / 10)
    factor = _error_factor(rate)
    return (
        written * (1 / most - 1) / (rate.rate * factor),
        written * (1 / used - 1) / rate.rate,
        written * (1 / least - 1) * factor / rate.rate,
    )


def _by_rating(
    rated_bytes: int, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds | None:
    """The estimate from the remaining bytes of the rating."""
    written = run[-1].host_written_bytes
    rate = _written_rate(run, rules)
    if written is None or rate is None or written >= rated_bytes:
        return None
    mid, factor = (rated_bytes - written) / rate.rate, _error_factor(rate)
    return mid / factor, mid, mid * factor


def _written_rate(run: Sequence[WearObservation], rules: WearoutRules) -> Trend | None:
    """The recent rate of writing in bytes per second.

    None if the history is shorter than `min_rate_seconds`, or nothing was written. The rate is
    a mean and not the slope of a line, because written bytes are counted without error. One
    week has too few days to show their scatter, so the spread is also computed from the whole
    history.
    """
    points = [
        Point(observation.at, float(observation.host_written_bytes))
        for observation in run
        if observation.host_written_bytes is not None
    ]
    if not points:
        return None
    before = [p for p in points if p.seconds <= points[-1].seconds - rules.rate_window_seconds]
    recent = points[max(len(before) - 1, 0) :]
    span = recent[-1].seconds - recent[0].seconds
    grown = recent[-1].value - recent[0].value
    if span < rules.min_rate_seconds or grown <= 0:
        return None
    rate, history_seconds = grown / span, points[-1].seconds - points[0].seconds
    is_short = history_seconds < 2 * rules.rate_window_seconds
    spread = rules.short_history_factor - 1 if is_short else 0.0
    for line, seconds in ((fit_trend(recent), span), (fit_trend(points), history_seconds)):
        if line:
            spread = max(spread, line.spread * line.rate / rate * math.sqrt(seconds / span))
    return Trend(rate, spread)


def _error_factor(line: Trend, resolution_error: float = 0.0) -> float:
    """The factor by which the rate may be wrong, from its spread and the counter's resolution."""
    return 1 + line.spread + resolution_error
