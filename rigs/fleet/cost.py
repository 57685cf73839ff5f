"""Measures the cost of the rules on a running engine."""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.rows import show_progress
from rigs.fleet import rule_files
from rigs.fleet.engine import Engine
from stack.programs import StackError

#: Maximum CPU time of a group, as a share of its interval. It leaves time for scrapes, queries and
#: rules of others. On a slower machine than that of docs/costs.md it is greater (bench.machine).
MAX_SHARE = 0.25
#: Interval between two queries of the state of an engine.
_POLL_SECONDS = 5.0
#: Seconds within which all hosts must have been scraped.
_SCRAPED_SECONDS = 900.0


class Group(NamedTuple):
    """A group of rules.

    interval: seconds between two evaluations. seconds: durations of the evaluations. rules: CPU
    seconds and name of each rule, the most expensive first.
    """

    name: str
    interval: float
    seconds: tuple[float, ...]
    rules: tuple[tuple[float, str], ...]

    @property
    def cpu(self) -> float:
        return sum(seconds for seconds, _ in self.rules)

    @property
    def share(self) -> float:
        return self.cpu / self.interval


class Part(NamedTuple):
    """A program of an engine: CPU cores, and the maximum of its memory in MiB."""

    name: str
    cores: float
    peak: float


class Cost(NamedTuple):
    """The cost of an engine.

    series: series of all hosts at one time. most_share: maximum CPU time of a group, as a share of
    its interval.
    """

    engine: str
    groups: tuple[Group, ...]
    parts: tuple[Part, ...]
    series: float
    alerts: float
    load: float
    most_share: float = MAX_SHARE

    @property
    def is_met(self) -> bool:
        return all(group.share <= self.most_share for group in self.groups)


def await_hosts(engine: Engine, hosts: int) -> None:
    """Waits until all hosts have been scraped.

    Raises:
        StackError: some were not, after 15 minutes.
    """
    deadline = time.monotonic() + _SCRAPED_SECONDS
    while (up := engine.value('count(up{job="ssd"})')) < hosts:
        show_progress(f"{engine.name}: {up:.0f} of {hosts} hosts are scraped")
        if time.monotonic() > deadline:
            raise StackError(f"{engine.name} scraped only {up:.0f} of {hosts} hosts")
        time.sleep(_POLL_SECONDS)


def measured(engine: Engine, hosts: int, seconds: float, most_share: float) -> Cost:
    """Returns the cost of an engine, measured for `seconds` and then rule by rule."""
    await_hosts(engine, hosts)
    show_progress(f"{engine.name}: measuring for {seconds:.0f} s")
    durations, cores = _evaluations(engine, seconds)
    alerts = engine.value("count(ALERTS) or vector(0)")
    series = engine.value('sum(scrape_samples_post_metric_relabeling{job="ssd"})')
    load, peaks = os.getloadavg()[0], engine.peaks()
    groups = _alone(engine, durations)
    parts = tuple(Part(name, cores.get(name, 0.0), peaks[name]) for name in peaks)
    return Cost(engine.name, tuple(groups), parts, series, alerts, load, most_share)


def _evaluations(engine: Engine, seconds: float) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Durations of the evaluations by group, and the number of cores that each program used."""
    taken: dict[str, dict[str, float]] = defaultdict(dict)
    before, start = engine.cpu(), time.monotonic()
    while time.monotonic() - start < seconds:
        for group in engine.groups():
            if not group["lastEvaluation"].startswith("0001-"):
                taken[group["name"]][group["lastEvaluation"]] = group["evaluationTime"]
        time.sleep(_POLL_SECONDS)
    lasted = time.monotonic() - start
    cores = {name: (used - before.get(name, 0.0)) / lasted for name, used in engine.cpu().items()}
    return {name: list(by_time.values()) for name, by_time in taken.items()}, cores


def _alone(engine: Engine, durations: Mapping[str, Sequence[float]]) -> list[Group]:
    """Evaluates every rule once in an engine that neither scrapes nor evaluates rules."""
    at = f"{time.time():.3f}"
    engine.quiet(engine)
    # Waits for garbage collection and for scrapes in progress.
    time.sleep(20)
    groups = []
    for name, interval, rules in rule_files.groups():
        cost = []
        for rule, expr in rules:
            before = engine.total_cpu()
            engine.query(expr, time=at)
            cost.append((engine.total_cpu() - before, rule))
            show_progress(f"{engine.name}: {name}: {rule} {cost[-1][0]:.2f} s")
        every = tuple(sorted(cost, reverse=True))
        groups.append(Group(name, interval, tuple(durations.get(name, ())), every))
    return groups
