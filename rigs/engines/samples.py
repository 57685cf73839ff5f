"""Takes the series of a story as a scrape would: at another interval, and not on an evaluation.

A story gives each series in the notation of promtool, with samples that stand exactly on the
evaluations. A real scrape has its own interval and its own phase.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

#: One item of the notation: a value, a value with an increment and a number of repetitions, or a
#: number of missing samples.
_ITEM = re.compile(
    r"(?P<first>[^\sx]+?)(?P<step>(?<=[\d.])[+-][\d.]+(?:e[+-]?\d+)?)?(?:x(?P<repetitions>\d+))?"
)
#: Counters and times that grow all the time, and not only when something happens.
_GROWING = re.compile(
    r"ssd_(?!smart|probe)\w+_(?:(?:seconds|bytes|completed|requests)_total|sum|count|bucket)\{"
    r"|ssd_\w+_timestamp_seconds\{"
)
_HOUR_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Segment:
    """Samples of a series that form a line; `first` is None where samples are missing.

    begin, count: number of its first sample, and number of its samples.
    """

    begin: int
    count: int
    first: float | None
    step: float = 0.0


def segments(values: str, start: float = 0.0) -> list[Segment]:
    """Returns the segments of a series in the notation of promtool.

    start: a number that is added to all values.

    Raises:
        ValueError: an item is not understood.
    """
    found: list[Segment] = []
    begin = 0
    for item in values.split():
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f"not understood: {item!r} in {values[:100]!r}")
        more = int(match["repetitions"] or 0)
        if match["first"] == "_":
            segment = Segment(begin, more or 1, None)
        else:
            first, step = float(match["first"]) + start, float(match["step"] or 0)
            segment = Segment(begin, more + 1, first, step)
        found.append(segment)
        begin += segment.count
    return found


def grows(series: str) -> bool:
    """Returns True for a counter that grows between two samples of a story."""
    return _GROWING.match(series) is not None


def is_time(series: str) -> bool:
    """Returns True if the values of a series are Unix times."""
    return series.partition("{")[0].endswith(("_timestamp_seconds", "_start_time_seconds"))


@dataclass(frozen=True, slots=True)
class Scrapes:
    """The times at which a target is scraped.

    seconds: the scrape interval.
    phase: the time of the first scrape in seconds.
    lost: the scrape of each hour with this number is lost, counted from 0; None if none is.
    """

    seconds: int
    phase: int
    lost: int | None = None

    @property
    def tick(self) -> int:
        """The largest number of seconds that divides the phase and the interval."""
        return math.gcd(self.seconds, self.phase)

    def __str__(self) -> str:
        lost = "" if self.lost is None else ", one lost per hour"
        return f"every {self.seconds} s + {self.phase} s{lost}"


def sampled(parts: Sequence[Segment], interval: int, scrapes: Scrapes, *, is_linear: bool) -> str:
    """Returns the series as scraped, in the notation of promtool with one value per `Scrapes.tick`.

    A series that ends or has a gap gets a staleness marker, as from a scrape that no longer has it.

    interval: seconds between two samples of the story.
    is_linear: a value between two samples of a segment is interpolated, and not the last one.
    """
    tick = scrapes.tick
    end = (parts[-1].begin + parts[-1].count) * interval
    tokens: list[str] = []
    waiting = scrapes.phase // tick
    position, was_present = 0, False
    for number, at in enumerate(range(scrapes.phase, end, scrapes.seconds)):
        index, rest = divmod(at, interval)
        while index >= parts[position].begin + parts[position].count:
            position += 1
        value = _value(parts[position], index, rest / interval if is_linear else 0.0)
        if scrapes.lost is not None and number % (_HOUR_SECONDS // scrapes.seconds) == scrapes.lost:
            text = "_"
        elif value is None:
            text = "stale" if was_present else "_"
            was_present = False
        else:
            text, was_present = f"{value:.12g}", True
        if waiting:
            tokens.append(f"_x{waiting}" if waiting > 1 else "_")
        tokens.append(text)
        waiting = scrapes.seconds // tick - 1
    return " ".join(tokens)


def _value(part: Segment, index: int, share: float) -> float | None:
    if part.first is None:
        return None
    steps = index - part.begin
    if steps + 1 < part.count:
        return part.first + part.step * (steps + share)
    return part.first + part.step * steps
