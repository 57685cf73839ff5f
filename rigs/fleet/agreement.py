"""Compares the alerts of both engines while hosts fail and a Thanos Receive is down.

Each engine scrapes all hosts itself, evaluates the rules, and sends its alerts to an Alertmanager
of its own. The alerts are compared as Alertmanager has them.
"""

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.rows import show_progress
from rigs.fleet import engine, engines, faults
from rigs.fleet.comparison import Comparison, Labels, labels_of
from rigs.fleet.cost import await_hosts
from rigs.fleet.engine import Engine
from rigs.fleet.pages import Pages
from rigs.fleet.targets import Target
from stack.programs import Running, StackError, alertmanager

#: The Receive instance that is killed, and the seconds at which it is killed and started again.
_KILLED, _KILL, _RESTART = "receive-2", 90.0, 200.0
#: Duration of the comparison in seconds. Faults end at second 240.
_SECONDS = 420.0
#: Seconds without alerts of hosts before the faults begin: rules evaluate, baselines exist.
_CALM_SECONDS = 40.0
_POLL_SECONDS = 3.0
_SCRAPE = "10s"
#: An alert may fire on one engine only for this time: the sum of the intervals of scrapes and of
#: two evaluations (the recorded series and the alert), the delay of remote write, and the time for
#: which Query still asks a Receive that has ended.
TOLERANCE_SECONDS = 60.0

_ALERTMANAGER = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
#: Texts in annotations of templates that failed.
_BROKEN = ("<error", "<no value>")


class Agreement(NamedTuple):
    """Result of a comparison.

    missing: faults whose alert did not fire on an engine. broken: alerts with a text that was not
    rendered.
    """

    comparison: Comparison
    missing: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        return not (self.comparison.differences or self.missing or self.broken)


def compared(thanos: Path, pages: Pages, directory: Path) -> Agreement:
    """Runs both engines and returns their differences.

    Raises:
        StackError: a program failed.
    """
    with ExitStack() as stack:
        managers = [
            stack.enter_context(_manager(directory / f"alertmanager-{number}")) for number in (1, 2)
        ]
        addresses = [manager.program.address for manager in managers]
        targets = list(faults.hosts())
        plain, distributed = (
            engines.Work(targets, pages.port, _SCRAPE, compared=True, alertmanager=address)
            for address in addresses
        )
        one = stack.enter_context(engines.running_prometheus(plain, directory / "prometheus"))
        other = stack.enter_context(
            engines.running_thanos(thanos, distributed, directory / "thanos")
        )
        for each in (one, other):
            await_hosts(each, len(targets))
        return _watched((one, other), addresses, pages)


def _watched(both: tuple[Engine, Engine], addresses: list[str], pages: Pages) -> Agreement:
    comparison = Comparison((both[0].name, both[1].name), TOLERANCE_SECONDS)
    broken: set[str] = set()
    thanos = both[1]
    killed = None
    is_restarted = False
    show_progress("comparing: calm")
    time.sleep(_CALM_SECONDS)
    pages.begin_faults()
    begin = time.monotonic()
    while (at := time.monotonic() - begin) < _SECONDS:
        if killed is None and at >= _KILL:
            show_progress(f"comparing: {_KILLED} is killed")
            killed = thanos.kill(_KILLED)
        elif killed is not None and not is_restarted and at >= _RESTART:
            show_progress(f"comparing: {_KILLED} is started again")
            thanos.start(killed)
            is_restarted = True
        for each in both:
            each.check()
        firing = []
        for address in addresses:
            alerts, bad = _firing(address)
            firing.append(alerts)
            broken |= bad
        comparison.add(at, firing[0], firing[1], _waited_seconds())
        show_progress(
            f"comparing: second {at:.0f} of {_SECONDS:.0f}, alerts:"
            f" {len(firing[0])} and {len(firing[1])}"
        )
        time.sleep(_POLL_SECONDS)
    comparison.end()
    return Agreement(comparison, tuple(missing(comparison)), tuple(sorted(broken)))


def missing(comparison: Comparison) -> Iterator[str]:
    """Yields the faults whose alert did not fire, with the engine. Pure."""
    for target, fault in faults.hosts().items():
        if fault is not None:
            wanted = expected(target, fault)
            for name in comparison.engines:
                if comparison.fired(name, wanted) is None:
                    yield f"{name}: {fault.alert} ({fault.severity}) did not fire: {fault.name}"


def expected(target: Target, fault: faults.Fault) -> dict[str, str]:
    """Returns the labels that the alert of a fault must have."""
    return {**dict(target.labels()), "alertname": fault.alert, "severity": fault.severity}


def _waited_seconds() -> float:
    """Seconds since boot in which a task waited for a CPU; 0 if the kernel does not count them.

    Source: `total` of the line `some` in /proc/pressure/cpu, in microseconds.
    """
    try:
        line = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    return int(line.rpartition("total=")[2]) / 1e6


def _firing(address: str) -> tuple[list[Labels], set[str]]:
    """Labels of the firing alerts of an Alertmanager, and the names of those with broken texts."""
    with urllib.request.urlopen(f"http://{address}/api/v2/alerts", timeout=30) as answer:
        alerts = json.load(answer)
    broken = {
        f"{alert['labels']['alertname']}: {value}"
        for alert in alerts
        for value in alert["annotations"].values()
        if any(text in value for text in _BROKEN)
    }
    return [labels_of(alert["labels"]) for alert in alerts], broken


@contextmanager
def _manager(directory: Path) -> Iterator[Running]:
    directory.mkdir(parents=True)
    config = directory / "alertmanager.yml"
    config.write_text(json.dumps(_ALERTMANAGER))
    (port,) = engine.free_ports(1)
    running = Running(alertmanager(port, directory, config), directory)
    try:
        deadline = time.monotonic() + 60
        while not running.program.answers():
            if running.status is not None or time.monotonic() > deadline:
                raise StackError(f"alertmanager does not run: {running.failure_reason()}")
            time.sleep(0.2)
        yield running
    finally:
        running.end()
        running.wait()
