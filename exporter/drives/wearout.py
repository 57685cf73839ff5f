"""When a drive will have used up its rated endurance, if it goes on as it did.

That is no date of failure: the field studies saw no cliff there (Schroeder et al., Flash
Reliability in Production, FAST'16), but warranty ends, and spare blocks are fewer.

Four methods, best first; the first that the data allow is taken:

steps           A drive that counts whole percents tells most at the instants at which it counts:
                a line through these beats one through all readings, most of which say nothing new.
fraction        A drive that counts finer is read once a day, and a line laid through that.
lifetime_ratio  So many bytes made so much wear; the rest at the same price and the recent rate.
rated_tbw       The bytes that the maker warrants, from the configuration; never guessed.

No estimate is more certain than its data: `low` to `high` holds the scatter of the increments, the
rounding of the counter, and the time in which nobody looked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from exporter.drives.trend import Point, Trend, fit_trend
from exporter.drives.wear_counter import DAY, WearCounter, WearObservation, observations_since_reset


class WearoutMethod(str, Enum):
    STEPS = "steps"
    FRACTION = "fraction"
    LIFETIME_RATIO = "lifetime_ratio"
    RATED_TBW = "rated_tbw"


@dataclass(frozen=True, slots=True)
class WearoutRules:
    """What the estimate takes for enough.

    window_seconds: older observations do not count: the load of a year ago is not today's.
    steps: a line through fewer says too little.
    coarse_step_ratio: from this resolution on a counter is read at its steps, below every day.
    fraction_window_seconds, fraction_least_seconds, fraction_steps: the line through a fine
        counter reaches back so far, spans at least so much and rises by so many of its steps.
    suspect_ratio: what rises by more within a day is a defect of firmware and no wear, as on
        Samsung's 980 PRO and 990 PRO; it is left out of the line.
    powered_ratio: where the drive's own hours grow slower than this against the wall clock, they
        are the time axis: the host is off at night.
    rate_window_seconds, rate_least_seconds: the recent rate of writing is taken over so long.
    unsure_factor: and is known to this factor at best until twice as much was seen: less than a
        week has no weekend, or no working day, and one does not show how weeks differ.
    least_used_ratio: below, the rounding of whole percents makes the lifetime ratio worthless.
    most_seconds: beyond ten years, ten years are said.
    """

    window_seconds: float = 400 * DAY
    steps: int = 3
    coarse_step_ratio: float = 0.01
    fraction_window_seconds: float = 90 * DAY
    fraction_least_seconds: float = 14 * DAY
    fraction_steps: int = 3
    suspect_ratio: float = 0.03
    powered_ratio: float = 0.95
    rate_window_seconds: float = 7 * DAY
    rate_least_seconds: float = DAY
    unsure_factor: float = 2.0
    least_used_ratio: float = 0.03
    most_seconds: float = 3650 * DAY


@dataclass(frozen=True, slots=True)
class WearoutEstimate:
    """From now until the endurance is used up; low <= mid <= high.

    suspect: the wear level jumped within a day by more than any load makes; see `WearoutRules`.
    """

    method: WearoutMethod
    low_seconds: float
    mid_seconds: float
    high_seconds: float
    suspect: bool = False


#: Low, mid and high.
_Bounds = tuple[float, float, float]


def estimate_wearout(
    observations: Sequence[WearObservation],
    now: float,
    rules: WearoutRules,
    rated_bytes: int | None = None,
) -> WearoutEstimate | None:
    """The time from `now`, in unix seconds, until one drive's endurance is used up.

    observations: of one drive, by time; what is dated later than `now` is left out.
    rated_bytes: how much the maker lets be written, where somebody configured it.

    None where no method holds, and where the endurance is used up.
    """
    run = observations_since_reset(observations, now, rules.window_seconds)
    counter = WearCounter.over(run, now, rules.suspect_ratio, rules.powered_ratio)
    if not run or (counter and counter.used_ratio >= 1):
        return None
    bounds: _Bounds | None = None
    method = WearoutMethod.STEPS
    if counter and counter.step_ratio >= rules.coarse_step_ratio:
        bounds = _by_steps(counter, rules)
    elif counter:
        method, bounds = WearoutMethod.FRACTION, _by_fraction(counter, rules)
    if bounds is None and counter and counter.used_ratio >= rules.least_used_ratio:
        method, bounds = WearoutMethod.LIFETIME_RATIO, _by_lifetime(counter, run, rules)
    if bounds is None and rated_bytes:
        method, bounds = WearoutMethod.RATED_TBW, _by_rating(rated_bytes, run, rules)
    if bounds is None:
        return None
    low, mid, high = (min(max(seconds, 0.0), rules.most_seconds) for seconds in bounds)
    return WearoutEstimate(
        method, min(low, mid), mid, max(mid, high), counter is not None and counter.suspect
    )


def _by_steps(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """The line through the step instants, from the last step on.

    A step that is overdue slows the line, for the next is then known not to come before now; and
    at worst the drive goes on as slowly as it did since the last one.
    """
    steps = [rise.after for rise in counter.rises if not rise.suspect]
    if len(steps) < rules.steps:
        return None
    line = fit_trend(steps, by_value=True)
    if line is None:
        return None
    last, step = counter.rises[-1], counter.step_ratio
    left = 1 - counter.used_ratio
    since = counter.now - last.after.seconds
    unseen = max(rise.unseen_seconds for rise in counter.rises)
    slowest = 0.0
    if last.suspect:
        # Nobody knows where between two steps the jump has left the counter.
        since = 0.0
    elif since * line.rate > step:
        slowest = since / step
        overdue = fit_trend([*steps, Point(counter.now, last.after.value + step)], by_value=True)
        line = overdue if overdue and overdue.rate < line.rate else line
    factor = _factor(line, unseen / (steps[-1].seconds - steps[0].seconds))
    quick, slow = 1 / (line.rate * factor), factor / line.rate
    # Never more than one step was made since the last.
    least = max(left - step, 0.0)
    return counter.wall(
        max(left * quick - since - last.unseen_seconds / 2, least * quick),
        max(left / line.rate - since, least / line.rate),
        # Rounded up, the counter was a step ahead of the wear.
        max((left + step) * slow - since + last.unseen_seconds / 2, left * slowest),
    )


def _by_fraction(counter: WearCounter, rules: WearoutRules) -> _Bounds | None:
    """The line through the daily readings of a counter finer than a percent."""
    first = counter.now - rules.fraction_window_seconds
    points = [point for point in counter.points if point.seconds >= first]
    line = fit_trend(points)
    if line is None or points[-1].seconds - points[0].seconds < rules.fraction_least_seconds:
        return None
    grown, step = points[-1].value - points[0].value, counter.step_ratio
    if grown < rules.fraction_steps * step:
        return None
    factor = _factor(line, step / grown)
    left, since = 1 - counter.used_ratio, counter.now - points[-1].seconds
    return counter.wall(
        (left - step) / (line.rate * factor) - since,
        left / line.rate - since,
        (left + step) * factor / line.rate - since,
    )


def _by_lifetime(
    counter: WearCounter, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds | None:
    """The bytes that the rest of the endurance is worth, by what the used part took."""
    written = run[-1].host_written_bytes
    rate = _written_rate(run, rules)
    if not written or rate is None:
        return None
    used, step = counter.used_ratio, counter.step_ratio
    most, least = min(used + step, 1.0), max(used - step, step / 10)
    factor = _factor(rate)
    return (
        written * (1 / most - 1) / (rate.rate * factor),
        written * (1 / used - 1) / rate.rate,
        written * (1 / least - 1) * factor / rate.rate,
    )


def _by_rating(
    rated_bytes: int, run: Sequence[WearObservation], rules: WearoutRules
) -> _Bounds | None:
    """The bytes that are left of the rating."""
    written = run[-1].host_written_bytes
    rate = _written_rate(run, rules)
    if written is None or rate is None or written >= rated_bytes:
        return None
    mid, factor = (rated_bytes - written) / rate.rate, _factor(rate)
    return mid / factor, mid, mid * factor


def _written_rate(run: Sequence[WearObservation], rules: WearoutRules) -> Trend | None:
    """Bytes written a second of late; None where less than a day was seen, or nothing written.

    The mean and not a line's slope: what was written is counted. A week has too few days to show
    how much they differ, so the days before are asked too.
    """
    points = [
        Point(seen.at, float(seen.host_written_bytes))
        for seen in run
        if seen.host_written_bytes is not None
    ]
    if not points:
        return None
    before = [p for p in points if p.seconds <= points[-1].seconds - rules.rate_window_seconds]
    recent = points[max(len(before) - 1, 0) :]
    span = recent[-1].seconds - recent[0].seconds
    grown = recent[-1].value - recent[0].value
    if span < rules.rate_least_seconds or grown <= 0:
        return None
    rate, seen_seconds = grown / span, points[-1].seconds - points[0].seconds
    spread = rules.unsure_factor - 1 if seen_seconds < 2 * rules.rate_window_seconds else 0.0
    for line, seconds in ((fit_trend(recent), span), (fit_trend(points), seen_seconds)):
        if line:
            spread = max(spread, line.spread * line.rate / rate * math.sqrt(seconds / span))
    return Trend(rate, spread)


def _factor(line: Trend, unsure: float = 0.0) -> float:
    """By which a rate may be off: its own spread, and what the readings' coarseness adds."""
    return 1 + line.spread + unsure
