"""Simulates the wear of drives: a weekly cycle, random days, and a counter that rounds."""

import bisect
import itertools
import math
import random
from dataclasses import dataclass

from exporter.drives.wear_counter import DAY, WearObservation

#: A Monday, 2026-01-05, 00:00 UTC.
EPOCH = 1_767_571_200.0

#: Bytes written per percent of wear.
BYTES_PER_RATIO = 300e12


@dataclass(frozen=True)
class Load:
    """rate: mean wear per day as a ratio. noise: sigma of the lognormal distribution of days."""

    rate: float
    weekly: float = 0.3
    noise: float = 0.5
    begin: float = 0.20


class SimulatedDrive:
    """The true wear of one drive at every moment, and the wear that the drive reports."""

    def __init__(self, load: Load, days: int, chance: random.Random) -> None:
        self.load = load
        self.days = days
        phase, begin = chance.random() * 7, load.begin + chance.random() * 0.01
        amounts = [
            load.rate
            * (1 + load.weekly * math.sin(2 * math.pi * (day + phase) / 7))
            * chance.lognormvariate(-(load.noise**2) / 2, load.noise)
            for day in range(days)
        ]
        #: The wear at midnight of each day.
        self.wear = list(itertools.accumulate(amounts, initial=begin))

    @property
    def now(self) -> float:
        return EPOCH + self.days * DAY

    @property
    def left_seconds(self) -> float:
        """The true remaining time at the mean rate."""
        return (1 - self.wear[-1]) / self.load.rate * DAY

    def wear_at(self, day: float) -> float:
        whole = min(int(day), self.days - 1)
        return self.wear[whole] + (day - whole) * (self.wear[whole + 1] - self.wear[whole])

    def reading(self, day: float, step: float) -> WearObservation:
        wear = self.wear_at(day)
        return WearObservation(
            at=EPOCH + day * DAY,
            power_on_seconds=1e7 + day * DAY,
            used_ratio=math.floor(wear / step + 1e-9) * step,
            step_ratio=step,
            host_written_bytes=int(wear * BYTES_PER_RATIO),
        )

    def looked_at(self, step: float = 0.01, poll_days: float = 0.01) -> list[WearObservation]:
        """The observations that the wear history keeps: one per day, and for a counter of whole
        percents those before and after every step."""
        instants = {float(day) for day in range(self.days + 1)}
        if step >= 0.01:
            first, last = (math.floor(wear / step) for wear in (self.wear[0], self.wear[-1]))
            for level in range(first + 1, last + 1):
                above = bisect.bisect_left(self.wear, level * step)
                part = level * step - self.wear[above - 1]
                crossed = above - 1 + part / (self.wear[above] - self.wear[above - 1])
                poll = math.floor(crossed / poll_days)
                instants |= {poll * poll_days, (poll + 1) * poll_days}
        return [self.reading(day, step) for day in sorted(instants) if day <= self.days]
