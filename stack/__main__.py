"""Runs exporter, Prometheus and Alertmanager on loopback until Ctrl-C (`make stack`)."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from stack import session
from stack.configuration import configuration, notifying
from stack.notifications import NotificationReceiver
from stack.programs import Program, alertmanager, exporter, page, prometheus

ROOT = Path(__file__).resolve().parents[1]

_STARTED_MESSAGE = """
Status page   http://{exporter}/   (metrics: http://{exporter}/metrics)
Prometheus    {alerts}   (all rules of alerts/; pages Graph, Targets)
Alertmanager  http://{alertmanager}/   (Debian's has no web interface; list alerts with
              amtool --alertmanager.url=http://{alertmanager} alert)

Notifications of Alertmanager are printed here. A healthy host has none; `make demo` shows failing
drives. Data and logs are in {directory}. Ctrl-C stops all three programs.
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
    """Runs the stack until a signal. Returns the exit status of `session.run`."""
    arguments = _arguments()
    # An absolute path: Prometheus resolves relative paths from the directory of its configuration.
    directory = arguments.directory.resolve()
    config, routes = directory / "prometheus.yml", directory / "alertmanager.yml"
    programs = [
        exporter(arguments.exporter, directory),
        alertmanager(arguments.alertmanager, directory, routes),
        prometheus(arguments.prometheus, directory, config),
    ]

    @contextlib.contextmanager
    def prepare() -> Iterator[None]:
        with NotificationReceiver(arguments.notifications, show):
            directory.mkdir(parents=True, exist_ok=True)
            rules = ROOT / "alerts"
            config.write_text(
                configuration(
                    (rules / "examples" / "prometheus.yml").read_text(),
                    rules,
                    programs[0].address,
                    programs[1].address,
                )
            )
            example = (rules / "examples" / "alertmanager.yml").read_text()
            routes.write_text(notifying(example, arguments.notifications))
            yield

    return session.run(programs, directory, prepare, lambda: _started_message(programs, directory))


def show(line: str) -> None:
    """Prints a notification."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stack", description=__doc__)
    parser.add_argument("--exporter", type=int, default=10177, metavar="PORT")
    parser.add_argument("--prometheus", type=int, default=9090, metavar="PORT")
    parser.add_argument("--alertmanager", type=int, default=9093, metavar="PORT")
    parser.add_argument("--notifications", type=int, default=9095, metavar="PORT")
    parser.add_argument("--directory", type=Path, default=ROOT / "var" / "stack")
    return parser.parse_args()


def _started_message(programs: Sequence[Program], directory: Path) -> str:
    addresses = [program.address for program in programs]
    return _STARTED_MESSAGE.format(
        exporter=addresses[0],
        alertmanager=addresses[1],
        prometheus=addresses[2],
        alerts=page(programs[2], "/alerts", "/classic/alerts"),
        directory=directory,
        rights="" if os.geteuid() == 0 else _NOT_ROOT_MESSAGE,
    )


if __name__ == "__main__":
    sys.exit(main())
