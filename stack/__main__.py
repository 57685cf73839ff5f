"""make stack: exporter, Prometheus and Alertmanager on loopback, until ctrl-C."""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from stack.configuration import configuration
from stack.programs import Program, Running, StackError, alertmanager, exporter, prometheus

ROOT = Path(__file__).resolve().parents[1]
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.2

_SAYS = """
ssd-exporter  http://{exporter}/metrics
Prometheus    http://{prometheus}/   (pages Alerts, Graph, Status: Rules, Targets)
Alertmanager  http://{alertmanager}/   (Debian's has no pages; what it holds:
              amtool --alertmanager.url=http://{alertmanager} alert)

Its receivers are examples (alerts/alertmanager.example.yml): nobody is told.
Data and logs are in {directory}. Ctrl-C ends all three.
{rights}
Dashboards, in a Grafana 10.4 or later that reaches this machine:
  data source   Connections, Data sources, Prometheus, http://{prometheus}
  by hand       Dashboards, New, Import, each of dashboards/*.json
  from files    dashboards/*.json to /var/lib/grafana/dashboards/ssd/,
                dashboards/provisioning/ssd.yml to /etc/grafana/provisioning/dashboards/,
                and restart it
"""
_NO_ROOT = """
You are not root: I/O, CPU and pressure are there, SMART is not. With it: sudo make stack
"""


def main() -> int:
    """Start, wait for a signal, end; 0 when ended by one, 1 when a program fails, 2 before that."""
    asked = _asked()
    # As real paths, for Prometheus takes what is relative from where its configuration is.
    directory = asked.directory.resolve()
    config = directory / "prometheus.yml"
    programs = [
        exporter(asked.exporter, directory),
        alertmanager(asked.alertmanager, directory, ROOT / "alerts" / "alertmanager.example.yml"),
        prometheus(asked.prometheus, directory, config),
    ]
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    running: list[Running] = []
    try:
        for each in programs:
            each.argv()
            each.require_free_port()
        directory.mkdir(parents=True, exist_ok=True)
        config.write_text(
            configuration(
                (ROOT / "alerts" / "prometheus.example.yml").read_text(),
                ROOT / "alerts",
                programs[0].address,
                programs[1].address,
            )
        )
        # One by one: those that run are ended where the next cannot be started.
        running.extend(Running(each, directory) for each in programs)
        _await_all(running, ended)
        if not ended.is_set():
            sys.stdout.write(_said(programs, directory))
            sys.stdout.flush()
        while not ended.wait(_LOOK_SECONDS):
            _require_all(running)
    except StackError as e:
        sys.stderr.write(f"stack: {e}\n")
        return 1 if running else 2
    except OSError as e:
        sys.stderr.write(f"stack: {directory} cannot be written: {e}\n")
        return 1 if running else 2
    finally:
        for started in running:
            started.end()
        for started in running:
            started.wait()
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stack", description=__doc__)
    parser.add_argument("--exporter", type=int, default=10177, metavar="PORT")
    parser.add_argument("--prometheus", type=int, default=9090, metavar="PORT")
    parser.add_argument("--alertmanager", type=int, default=9093, metavar="PORT")
    parser.add_argument("--directory", type=Path, default=ROOT / "var" / "stack")
    return parser.parse_args()


def _await_all(running: Sequence[Running], ended: threading.Event) -> None:
    until = time.monotonic() + _START_SECONDS
    waiting = list(running)
    while waiting and not ended.is_set():
        _require_all(running)
        waiting = [each for each in waiting if not each.program.answers()]
        if waiting and time.monotonic() >= until:
            late = waiting[0]
            raise StackError(
                f"{late.program.name} does not answer on {late.program.address}"
                f" after {_START_SECONDS:.0f} s; see {late.log}"
            )
        ended.wait(_LOOK_SECONDS if waiting else 0)


def _require_all(running: Sequence[Running]) -> None:
    for each in running:
        if each.status is not None:
            raise StackError(
                f"{each.program.name} ended with {each.status}: {each.last_words()} ({each.log})"
            )


def _said(programs: Sequence[Program], directory: Path) -> str:
    addresses = [each.address for each in programs]
    return _SAYS.format(
        exporter=addresses[0],
        alertmanager=addresses[1],
        prometheus=addresses[2],
        directory=directory,
        rights="" if os.geteuid() == 0 else _NO_ROOT,
    )


if __name__ == "__main__":
    sys.exit(main())
