"""Runs exporter, Prometheus and Alertmanager on loopback until Ctrl-C (`make stack`)."""

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
#: Time in which all programs must become ready.
_START_SECONDS = 60.0
#: Interval between two checks whether the programs respond and run.
_POLL_SECONDS = 0.2

_STARTED_MESSAGE = """
ssd-exporter  http://{exporter}/metrics
Prometheus    http://{prometheus}/   (pages Alerts, Graph, Status: Rules, Targets)
Alertmanager  http://{alertmanager}/   (Debian's has no web interface; list alerts with
              amtool --alertmanager.url=http://{alertmanager} alert)

Alertmanager sends no notifications: its receivers are examples (alerts/examples/alertmanager.yml).
Data and logs are in {directory}. Ctrl-C stops all three programs.
{rights}
Dashboards, in a Grafana 10.4 or later that reaches this machine:
  data source   Connections, Data sources, Prometheus, http://{prometheus}
  by hand       Dashboards, New, Import, each of dashboards/*.json
  from files    dashboards/*.json to /var/lib/grafana/dashboards/ssd/,
                dashboards/provisioning/ssd.yml to /etc/grafana/provisioning/dashboards/,
                and restart it
"""
_NOT_ROOT_MESSAGE = """
You are not root: I/O, CPU and pressure metrics are available, SMART data is not.
For SMART data run: sudo make stack
"""


def main() -> int:
    """Runs the stack until a signal.

    Returns 0 after a signal, 1 if a program fails after the start of the first one, and 2 if no
    program can be started.
    """
    arguments = _arguments()
    # An absolute path: Prometheus resolves relative paths from the directory of its configuration.
    directory = arguments.directory.resolve()
    config = directory / "prometheus.yml"
    programs = [
        exporter(arguments.exporter, directory),
        alertmanager(
            arguments.alertmanager, directory, ROOT / "alerts" / "examples" / "alertmanager.yml"
        ),
        prometheus(arguments.prometheus, directory, config),
    ]
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    running: list[Running] = []
    try:
        for program in programs:
            program.argv()
            program.require_free_port()
        directory.mkdir(parents=True, exist_ok=True)
        config.write_text(
            configuration(
                (ROOT / "alerts" / "examples" / "prometheus.yml").read_text(),
                ROOT / "alerts",
                programs[0].address,
                programs[1].address,
            )
        )
        # Appended one by one: if a program cannot start, `finally` stops those before it.
        running.extend(Running(program, directory) for program in programs)
        _wait_until_ready(running, ended)
        if not ended.is_set():
            sys.stdout.write(_started_message(programs, directory))
            sys.stdout.flush()
        while not ended.wait(_POLL_SECONDS):
            _require_running(running)
    except StackError as e:
        sys.stderr.write(f"stack: {e}\n")
        return 1 if running else 2
    except OSError as e:
        sys.stderr.write(f"stack: cannot write to {directory}: {e}\n")
        return 1 if running else 2
    finally:
        for started in running:
            started.end()
        for started in running:
            started.wait()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stack", description=__doc__)
    parser.add_argument("--exporter", type=int, default=10177, metavar="PORT")
    parser.add_argument("--prometheus", type=int, default=9090, metavar="PORT")
    parser.add_argument("--alertmanager", type=int, default=9093, metavar="PORT")
    parser.add_argument("--directory", type=Path, default=ROOT / "var" / "stack")
    return parser.parse_args()


def _wait_until_ready(running: Sequence[Running], ended: threading.Event) -> None:
    until = time.monotonic() + _START_SECONDS
    waiting = list(running)
    while waiting and not ended.is_set():
        _require_running(running)
        waiting = [started for started in waiting if not started.program.answers()]
        if waiting and time.monotonic() >= until:
            late = waiting[0]
            raise StackError(
                f"{late.program.name} does not respond on {late.program.address}"
                f" after {_START_SECONDS:.0f} s; see {late.log}"
            )
        ended.wait(_POLL_SECONDS if waiting else 0)


def _require_running(running: Sequence[Running]) -> None:
    for started in running:
        if started.status is not None:
            raise StackError(
                f"{started.program.name} ended with status {started.status}:"
                f" {started.failure_reason()} ({started.log})"
            )


def _started_message(programs: Sequence[Program], directory: Path) -> str:
    addresses = [program.address for program in programs]
    return _STARTED_MESSAGE.format(
        exporter=addresses[0],
        alertmanager=addresses[1],
        prometheus=addresses[2],
        directory=directory,
        rights="" if os.geteuid() == 0 else _NOT_ROOT_MESSAGE,
    )


if __name__ == "__main__":
    sys.exit(main())
