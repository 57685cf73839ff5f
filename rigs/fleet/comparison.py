"""Compares the alerts of two engines over time. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

#: Labels of an alert, including alertname and severity.
Labels = frozenset[tuple[str, str]]


def labels_of(alert: Mapping[str, str]) -> Labels:
    """Returns the labels of an alert as a comparable value."""
    return frozenset(alert.items())


def text(labels: Labels) -> str:
    """Returns the alert as in PromQL, with alertname first."""
    pairs = dict(labels)
    name = pairs.pop("alertname", "")
    return name + "{" + ", ".join(f'{key}="{pairs[key]}"' for key in sorted(pairs)) + "}"


class Difference(NamedTuple):
    """An alert that fired on one engine only.

    engine: the engine on which it fired. begin, end: seconds of the comparison.
    """

    labels: Labels
    engine: str
    begin: float
    end: float

    def __str__(self) -> str:
        return (
            f"only {self.engine}, {self.end - self.begin:.0f} s from second {self.begin:.0f}:"
            f" {text(self.labels)}"
        )


@dataclass
class Comparison:
    """Alerts of two engines at increasing times.

    engines: names of both. tolerance: seconds for which an alert may fire on one engine only: the
    engines scrape, evaluate and send at different times. The time for which tasks of the machine
    waited for a CPU meanwhile is added, up to twice the tolerance.
    """

    engines: tuple[str, str]
    tolerance: float
    #: Seconds at which each alert fired first, by engine.
    first: dict[tuple[str, Labels], float] = field(default_factory=dict)
    #: Longest time for which an alert fired on one engine only, in seconds.
    longest: float = 0.0
    #: Greatest number of alerts that fired on both engines at the same time.
    common: int = 0
    differences: list[Difference] = field(default_factory=list)
    #: Second, and waited seconds until then, since which an alert fires on one engine only.
    _alone: dict[tuple[str, Labels], tuple[float, float]] = field(default_factory=dict)
    _last: tuple[float, float] = (0.0, 0.0)

    def add(
        self, at: float, one: Iterable[Labels], other: Iterable[Labels], waited: float = 0.0
    ) -> None:
        """Adds the alerts that fire on both engines at second `at`.

        waited: seconds until now for which tasks waited for a CPU; they never decrease.
        """
        firing = dict(zip(self.engines, (set(one), set(other)), strict=True))
        for engine, alerts in firing.items():
            for labels in alerts:
                self.first.setdefault((engine, labels), at)
        sets = list(firing.values())
        self.common = max(self.common, len(sets[0] & sets[1]))
        alone = {
            (engine, labels)
            for engine, rest in zip(self.engines, reversed(sets), strict=True)
            for labels in firing[engine] - rest
        }
        for key in [key for key in self._alone if key not in alone]:
            self._close(key, at, waited)
        for key in alone:
            self._alone.setdefault(key, (at, waited))
        self._last = at, waited

    def end(self) -> None:
        """Ends the comparison: an alert that now fires on one engine only is a difference."""
        for key in list(self._alone):
            self._close(key, *self._last, is_end=True)
        self.differences.sort(key=lambda each: (each.begin, text(each.labels)))

    def seen(self) -> set[Labels]:
        """Returns the alerts that fired on an engine at any time."""
        return {labels for _, labels in self.first}

    def fired(self, engine: str, expected: Mapping[str, str]) -> float | None:
        """Returns the second at which an alert with these labels first fired; None if never."""
        wanted = labels_of(expected)
        times = [
            at for (name, labels), at in self.first.items() if name == engine and wanted <= labels
        ]
        return min(times, default=None)

    def _close(
        self, key: tuple[str, Labels], at: float, waited: float, *, is_end: bool = False
    ) -> None:
        engine, labels = key
        begin, waited_before = self._alone.pop(key)
        self.longest = max(self.longest, at - begin)
        more = min(waited - waited_before, 2 * self.tolerance)
        if is_end or at - begin > self.tolerance + more:
            self.differences.append(Difference(labels, engine, begin, at))
