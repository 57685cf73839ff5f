"""Estimates when a drive will have used up its rated endurance.

This is not the date of a failure. A field study found no sudden increase of failures at the rated
endurance (Schroeder et al., Flash Reliability in Production, FAST'16). But the warranty ends then,
and fewer spare blocks are left.

An observation is the set of wear values in one SMART report. The wear counter is the share of the
rated endurance that the drive has used. There are four methods. The first one for which there is
enough data is used:

steps           This method is for counters of whole percents. Such a counter is most precise when
                it increases. So a line is fitted through the increases only.
fraction        This method is for finer counters. A line is fitted through one value per day.
lifetime_ratio  The bytes that the host has written so far and the used endurance show how many
                bytes can still be written. These are divided by the recent write rate.
rated_tbw       The configuration contains the number of bytes that the vendor warrants. The
                remaining bytes are divided by the recent write rate.

The result is a range of times, from low to high. It accounts for the scatter of the increases, the
rounding of the counter, and the time between observations. A line shows the load of months. If the
host writes at another rate now, or if the last increases show another rate, for example because the
write amplification has changed, the range also contains the estimate for that rate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from exporter.drives.trend import Point, Trend, fit_trend
from exporter.drives.wear_counter import DAY, WearCounter, WearObservation, observations_since_reset


class WearoutMethod(str, Enum):
    """Names the method of an estimate. The docstring of the module explains the methods."""

    STEPS = "steps"
    FRACTION = "fraction"
    LIFETIME_RATIO = "lifetime_ratio"
    RATED_TBW = "rated_tbw"


@dataclass(frozen=True, slots=True)
class WearoutRules:
    """Thresholds of the estimate.

    All times are in seconds. The resolution and the increase of the counter are shares of the rated
    endurance.

    window_seconds: observations that are older than this are not used, because the load may have
        changed.
    min_steps: the method "steps" needs at least this many increases of the counter.
    coarse_step_ratio: the method "steps" is used if the resolution of the counter is this or
        coarser. For a finer counter the method "fraction" is used.
    fraction_window_seconds: the method "fraction" uses only values that are not older than this.
    min_fraction_seconds: the method "fraction" needs values over at least this time.
    min_fraction_steps: the method "fraction" needs an increase of the counter by at least this many
        units of its resolution.
    suspect_ratio: an increase by more than this within a day is a firmware defect and not wear, as
        on Samsung's 980 PRO and 990 PRO. The line does not include it.
    powered_ratio: if the drive has power for a smaller share of the time, times are measured as the
        power-on time of the drive. An example is a host that is off at night.
    rate_window_seconds: the recent write rate is the mean over this time.
    min_rate_seconds: the recent write rate needs observations over at least this time.
    short_history_factor: if the observations span less than twice `rate_window_seconds`, it is
        assumed that the write rate may be wrong by at least this factor. The reason is that less
        than a week may contain no weekend, and that one week does not show how much weeks differ.
    least_factor: the bounds of a line through the values of the counter are at least this factor
        away from the middle, because the load of weeks and the write amplification are correlated.
    short_line_factor: the bounds are further away if the history or the remaining time is short,
        because the load of a few days differs from the mean. With n days of history and m days
        left, the factor is 1 + short_line_factor * sqrt(1 / n + 1 / m).
    recent_rises, recent_rise_seconds: the recent wear rate is computed from at least this number of
        increases, over at least this time. A bulk load may last a day.
    equal_factor: the wear rate has changed if the rate of the last increases and the rate of all
        increases differ by more than this factor.
    change_factor: if the recent write rate differs by this factor from the mean rate, the load has
        changed. The middle estimate is then that of the recent rate.
    min_used_ratio: the method "lifetime_ratio" needs at least this wear. The rounding error of a
        smaller wear is too large.
    max_seconds: the largest estimate. A longer time is reported as this time.
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
    least_factor: float = 1.25
    short_line_factor: float = 1.3
    recent_rises: int = 3
    recent_rise_seconds: float = 20 * DAY
    equal_factor: float = 1.1
    change_factor: float = 1.5
    min_used_ratio: float = 0.03
    max_seconds: float = 3650 * DAY


@dataclass(frozen=True, slots=True)
class WearoutEstimate:
    """The estimated time until the rated endurance of a drive is used up.

    method: the method of the estimate.
    low_seconds, mid_seconds, high_seconds: the shortest, the middle and the longest time.
    suspect: True if the wear increased implausibly within a day; see `WearoutRules.suspect_ratio`.
    """

    method: WearoutMethod
    low_seconds: float
    mid_seconds: float
    high_seconds: float
    suspect: bool = False


#: The shortest, the middle and the longest time, in seconds.
_Bounds: TypeAlias = tuple[float, float, float]


def estimate_wearout(
    observations: Sequence[WearObservation],
    now: float,
    rules: WearoutRules,
    rated_bytes: int | None = None,
) -> WearoutEstimate | None:
    """Returns the estimated time from `now` until the rated endurance of a drive is used up.

    None if no method has enough data, or if the endurance is already used up.

    observations: the observations of one drive, sorted by time. Those after `now` are ignored.
    now: the current time, in seconds of Unix time.
    rated_bytes: the number of bytes that the vendor warrants. None means that it is not configured.
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
    if method in (WearoutMethod.STEPS, WearoutMethod.FRACTION) and counter:
        bounds = _with_recent_load(bounds, counter, run, rules)
    low, mid, high = (min(max(seconds, 0.0), rules.max_seconds) for seconds in bounds)
    return WearoutEstimate(
        method, min(low, mid), mid, max(mid, high), counter is not None and counter.suspect
    )


def missing_reason(observations: Sequence[WearObservation], now: float, rules: WearoutRules) -> str:
    """Returns why `estimate_wearout` returns None for these observations, as text for people.

    Call it only if there is no estimate and the endurance is not used up: the text is never empty.

    The text contains the available and the necessary data. The arguments are those of
    `estimate_wearout`.
    """
    run = observations_since_reset(observations, now, rules.window_seconds)
    counter = WearCounter.from_observations(run, now, rules.suspect_ratio, rules.powered_ratio)
    if not run or counter is None:
        return "no wear history yet"
    seconds = run[-1].at - run[0].at
    if seconds < rules.min_rate_seconds:
        needed = f"at least {_hours_or_days(rules.min_rate_seconds)}"
    elif counter.step_ratio < rules.coarse_step_ratio:
        needed = f"at least {_hours_or_days(rules.min_fraction_seconds)} with measurable wear"
    elif counter.used_ratio < rules.min_used_ratio:
        needed = f"{rules.min_used_ratio * 100:.0f} % wear, or {rules.min_steps} increases of it,"
    else:
        needed = "writes of the host"
    return f"the wear history covers {_hours_or_days(seconds)}; {needed} are needed"


def _hours_or_days(seconds: float) -> str:
    if seconds < 2 * DAY:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / DAY:.0f} days"


def _by_steps(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """Returns the estimate of the method "steps"; None if there is not enough data.

    A step is an increase of the counter. If the line predicts the next step for a time before now,
    the drive now wears more slowly. The line is then fitted again with an assumed step at the
    present time, which is the earliest possible time for it. In this case the longest time is at
    least the time at which the endurance is used up at the rate since the last step.
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
        # The last increase is not wear, so the time since the last real step is unknown.
        since = 0.0
    elif since * line.rate > step:
        overdue_seconds_per_ratio = since / step
        overdue = fit_trend([*steps, Point(counter.now, last.point.value + step)], by_value=True)
        line = overdue if overdue and overdue.rate < line.rate else line
    factor = _error_factor(line, max_gap / (steps[-1].seconds - steps[0].seconds))
    # Seconds in which the drive uses the whole endurance, at the highest and the lowest plausible
    # rate.
    fast, slow = 1 / (line.rate * factor), factor / line.rate
    # The wear since the last increase of the counter is at most one step.
    least = max(left - step, 0.0)
    return counter.wall(
        max(left * fast - since - last.gap_seconds / 2, least * fast),
        max(left / line.rate - since, least / line.rate),
        # If the counter rounds up, its value is above the wear by up to one step.
        max((left + step) * slow - since + last.gap_seconds / 2, left * overdue_seconds_per_ratio),
    )


def _by_fraction(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """Returns the estimate of the method "fraction"; None if there is not enough data."""
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


def _with_recent_load(
    bounds: _Bounds, counter: WearCounter, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds:
    """Returns the bounds of a line, extended by what the recent write rate shows.

    The line shows the mean of months, and the increases of the counter are treated as independent,
    although the load and the write amplification change slowly. So the bounds are never closer
    than `least_factor`. If the host now writes at another rate than over the time of the line, the
    drive wears at another rate, too, and the estimate for that rate is included. The same applies
    to the rate of the last increases, which changes with the write amplification.
    """
    low, mid, high = bounds
    past, coming = max(run[-1].at - run[0].at, DAY) / DAY, max(mid, DAY) / DAY
    short_error = rules.short_line_factor * math.sqrt(1 / past + 1 / coming)
    least_factor = max(rules.least_factor, 1 + short_error)
    low, high = min(low, mid / least_factor), max(high, mid * least_factor)
    for wear_change in _recent_wear_change(counter, rules):
        factor = rules.least_factor
        if not 1 / rules.equal_factor < wear_change < rules.equal_factor:
            # The few last increases may include some of before the change.
            factor *= rules.least_factor
        low = min(low, mid / wear_change / factor)
        high = max(high, mid / wear_change * factor)
    recent, whole = _written_rate(run, rules), _whole_rate(run, counter, rules)
    if recent is None or whole is None:
        return low, mid, high
    change, error = recent.rate / whole, _error_factor(recent) * rules.least_factor
    now_mid = mid / change
    has_changed = not 1 / rules.change_factor < change < rules.change_factor
    return min(low, now_mid / error), now_mid if has_changed else mid, max(high, now_mid * error)


def _recent_wear_change(counter: WearCounter, rules: WearoutRules) -> tuple[float, float]:
    """Returns the wear rate of the last increases of the counter, divided by that of all of them.

    The second value assumes that the drive has worn at the same rate since the last increase, and
    the first that it has not, if the next increase is overdue. Both are 1 if there are too few
    increases.
    """
    rises = [rise.point for rise in counter.rises if not rise.suspect]
    if len(rises) <= rules.recent_rises:
        return 1.0, 1.0
    first, last = rises[0], rises[-1]
    begin = next(
        point
        for point in rises[-1 - rules.recent_rises :: -1]
        if last.seconds - point.seconds >= rules.recent_rise_seconds or point is first
    )
    if begin is first:
        return 1.0, 1.0
    grown = last.value - begin.value
    whole = (last.value - first.value) / (last.seconds - first.seconds)
    seconds = last.seconds - begin.seconds
    overdue = counter.now - last.seconds - seconds * counter.step_ratio / grown
    return grown / (seconds + max(overdue, 0.0)) / whole, grown / seconds / whole


def _whole_rate(
    run: Sequence[WearObservation], counter: WearCounter, rules: WearoutRules
) -> float | None:
    """Returns the mean write rate over the time of the line, in bytes per second; None if unknown.

    For the method "steps" this is the time of the increases, else `fraction_window_seconds`.
    """
    first_at = run[0].at
    if counter.step_ratio < rules.coarse_step_ratio:
        first_at = max(first_at, run[-1].at - rules.fraction_window_seconds)
    known = [seen for seen in run if seen.host_written_bytes is not None and seen.at >= first_at]
    if len(known) < 2 or known[-1].at - known[0].at < 2 * rules.rate_window_seconds:
        return None
    first, last = known[0], known[-1]
    assert first.host_written_bytes is not None
    assert last.host_written_bytes is not None
    return (last.host_written_bytes - first.host_written_bytes) / (last.at - first.at) or None


def _by_lifetime(
    counter: WearCounter, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds | None:
    """Returns the estimate of the method "lifetime_ratio"; None if there is not enough data."""
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
    """Returns the estimate of the method "rated_tbw".

    None if there is not enough data, or if the host has already written the rated bytes.
    """
    written = run[-1].host_written_bytes
    rate = _written_rate(run, rules)
    if written is None or rate is None or written >= rated_bytes:
        return None
    mid, factor = (rated_bytes - written) / rate.rate, _error_factor(rate)
    return mid / factor, mid, mid * factor


def _written_rate(run: Sequence[WearObservation], rules: WearoutRules) -> Trend | None:
    """Returns the recent write rate in bytes per second, with its error.

    The rate is the mean over `rate_window_seconds`, and not the slope of a line, because the drive
    counts written bytes without error. The error is computed from the recent observations and from
    all observations, and the larger one is used. The reason is that the days of one week are too
    few to show how much the days differ.

    None if the observations span less than `min_rate_seconds`, or if nothing was written.
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
    """Returns the factor by which the rate may be too high or too low; at least 1.

    line: the rate with its error.
    resolution_error: the relative error of the rate from the resolution of the counter.
    """
    return 1 + line.spread + resolution_error
