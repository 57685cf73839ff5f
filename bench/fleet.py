"""Measures the CPU time of the rules of alerts/ in a Prometheus with many hosts (`make fleet`).

A separate process serves the pages of all hosts on one loopback port, and Prometheus scrapes each
as a target. Its database contains 30 days of the series that rules read (bench/fleet_history.py).
Other load of the machine increases the durations that Prometheus reports. Therefore each rule is
evaluated once more on its own, and the CPU time of each group is compared with the limit.
"""

import argparse
import json
import os
import signal
import socket
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench import fleet_history, fleet_page, fleet_pages
from bench.rows import show_progress
from stack.programs import HOST, Running, StackError, prometheus

#: Maximum CPU time of a group, as a share of its interval. It leaves time for scrapes, queries and
#: rules of others.
_MAX_SHARE = 0.25
#: Groups with an interval of four minutes are evaluated every minute, to shorten the run.
_REAL_INTERVAL, _TEST_INTERVAL = "interval: 4m", "interval: 1m"
_INTERVALS = {"30s": 30.0, "1m": 60.0, "4m": 240.0}
#: Interval between two queries of the state of Prometheus.
_POLL_SECONDS = 5.0
#: Priority of this process and its children; only root may set a negative value.
_NICE = -10


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


def main() -> int:
    """Prints a row for each group.

    Returns 0 if all groups are within the limit, 1 if not, and 2 if Prometheus does not run.
    """
    parser = argparse.ArgumentParser(prog="make fleet", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=240, help="duration of the measurement")
    parser.add_argument("--scrape", default="60s", help="scrape interval")
    arguments = parser.parse_args()
    # Child processes inherit the priority, which reduces the effect of other load.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    os.environ["GOMAXPROCS"] = "2"
    hosts = [f"db{number:04d}" for number in range(arguments.hosts)]
    page = fleet_page.lines()
    try:
        with tempfile.TemporaryDirectory(prefix="ssd-fleet-") as place, fleet_pages.served() as at:
            directory = Path(place)
            show_progress("writing 30 days of history")
            fleet_history.write(directory / "prometheus", hosts, page)
            (directory / "prometheus.yml").write_text(
                _config(directory, hosts, at, arguments.scrape)
            )
            with _prometheus(directory) as server:
                _await_hosts(server, len(hosts))
                show_progress(f"measuring for {arguments.seconds:.0f} s")
                evaluations, cores = _evaluations(server, arguments.seconds)
                firing = _value(server, "count(ALERTS) or vector(0)")
                series = _value(server, "prometheus_tsdb_head_series")
                load = os.getloadavg()[0]
                groups = _alone(server, evaluations)
    except StackError as e:
        sys.stderr.write(f"make fleet: {e}\n")
        return 2
    print(
        f"\n{len(hosts)} hosts of {len(fleet_page.DRIVES)} drives, {len(page)} series each"
        f" ({series:.0f} in total), scrape interval {arguments.scrape}, {os.cpu_count()} cores,"
        f" load average {load:.1f}, of which Prometheus {cores:.2f};"
        f" {firing:.0f} alerts pending or firing\n"
    )
    print(table(groups))
    return int(any(group.share > _MAX_SHARE for group in groups))


def table(groups: Sequence[Group]) -> str:
    """Markdown table with one row per group, the most expensive first."""
    head = (
        "| group | rules | interval | CPU | share of interval | longest evaluation"
        " | most expensive rule | |\n"
    )
    rows = [
        f"| {group.name} | {len(group.rules)} | {group.interval:.0f} s | {group.cpu:.2f} s"
        f" | {group.share:.1%} | {max(group.seconds, default=0):.1f} s"
        f" | {group.rules[0][1]} {group.rules[0][0]:.2f} s"
        f" | {'met' if group.share <= _MAX_SHARE else 'MISSED'} |"
        for group in sorted(groups, key=lambda group: -group.share)
    ]
    return f"{head}|---|---|---|---|---|---|---|---|\n" + "\n".join(rows)


def _config(directory: Path, hosts: Sequence[str], port: int, scrape: str) -> str:
    """Writes the rule files with short intervals; returns the Prometheus configuration as JSON."""
    alerts = Path(__file__).parents[1] / "alerts"
    document = yaml.safe_load((alerts / "examples" / "prometheus.yml").read_text())
    rules = sorted(alerts.glob("*.yml"))
    for path in rules:
        text = path.read_text()
        (directory / path.name).write_text(text.replace(_REAL_INTERVAL, _TEST_INTERVAL))
    document["rule_files"] = [path.name for path in rules]
    targets = [
        {
            "targets": [f"{HOST}:{port}"],
            "labels": {"instance": host, "__metrics_path__": f"/{host}"},
        }
        for host in hosts
    ]
    own = {"job_name": "prometheus", "static_configs": [{"targets": [f"{HOST}:{_PORT}"]}]}
    job = {"job_name": "ssd", "static_configs": targets}
    document["global"]["scrape_interval"] = scrape
    document["scrape_configs"] = [job, own]
    del document["alerting"]
    return json.dumps(document)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


_PORT = _free_port()


@contextmanager
def _prometheus(directory: Path) -> Iterator[Running]:
    program = prometheus(_PORT, directory, directory / "prometheus.yml")
    program = replace(program, flags=(*program.flags, "--web.enable-lifecycle"))
    running = Running(program, directory)
    try:
        while not program.answers():
            _require(running)
            time.sleep(0.5)
        yield running
    finally:
        running.end()
        running.wait()


def _require(running: Running) -> None:
    if running.status is not None:
        raise StackError(f"prometheus ended with {running.status}: {running.failure_reason()}")


def _query(running: Running, path: str, **parameters: str) -> Any:
    _require(running)
    url = f"http://{running.program.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.load(answer)["data"]


def _value(running: Running, expression: str) -> float:
    result = _query(running, "query", query=expression)["result"]
    return float(result[0]["value"][1]) if result else 0.0


def _await_hosts(running: Running, hosts: int) -> None:
    while (up := _value(running, 'sum(up{job="ssd"})')) < hosts:
        show_progress(f"{up:.0f} of {hosts} hosts are scraped")
        time.sleep(_POLL_SECONDS)


def _evaluations(running: Running, seconds: float) -> tuple[dict[str, list[float]], float]:
    """Durations of the evaluations by group, and the number of cores that Prometheus used."""
    taken: dict[str, dict[str, float]] = defaultdict(dict)
    cpu, start = _cpu_seconds(running), time.monotonic()
    while time.monotonic() - start < seconds:
        for group in _query(running, "rules")["groups"]:
            if not group["lastEvaluation"].startswith("0001-"):
                taken[group["name"]][group["lastEvaluation"]] = group["evaluationTime"]
        time.sleep(_POLL_SECONDS)
    cores = (_cpu_seconds(running) - cpu) / (time.monotonic() - start)
    return {name: list(by_time.values()) for name, by_time in taken.items()}, cores


def _alone(running: Running, evaluations: Mapping[str, Sequence[float]]) -> list[Group]:
    """Evaluates every rule once in a Prometheus that neither scrapes nor evaluates rules."""
    at = f"{time.time():.3f}"
    (running.log.parent / "prometheus.yml").write_text("{}")
    reload = f"http://{running.program.address}/-/reload"
    with urllib.request.urlopen(urllib.request.Request(reload, method="POST"), timeout=120):
        # Waits for garbage collection and for scrapes in progress.
        time.sleep(20)
    groups = []
    for name, interval, rules in _groups():
        cost = []
        for rule, expr in rules:
            before = _cpu_seconds(running)
            _query(running, "query", query=expr, time=at)
            cost.append((_cpu_seconds(running) - before, rule))
            show_progress(f"{name}: {rule} {cost[-1][0]:.2f} s")
        every = tuple(sorted(cost, reverse=True))
        groups.append(Group(name, interval, tuple(evaluations.get(name, ())), every))
    return groups


def _groups() -> Iterator[tuple[str, float, list[tuple[str, str]]]]:
    """Name, interval and rules of each group except the thresholds, which are constants."""
    alerts = Path(__file__).parents[1] / "alerts"
    for path in sorted(alerts.glob("*.yml")):
        for group in yaml.safe_load(path.read_text()).get("groups", ()):
            if not group["name"].startswith("ssd-thresholds"):
                rules = [
                    (rule.get("alert") or rule["record"], rule["expr"]) for rule in group["rules"]
                ]
                yield group["name"], _INTERVALS[group["interval"]], rules


def _cpu_seconds(running: Running) -> float:
    with urllib.request.urlopen(f"http://{running.program.address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    (line,) = (line for line in text.splitlines() if line.startswith("process_cpu_seconds_total "))
    return float(line.split()[1])


if __name__ == "__main__":
    # Like Ctrl-C: stops child processes and removes temporary files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
