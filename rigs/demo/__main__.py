"""Runs the demo until Ctrl-C (`make demo`)."""

import argparse
import contextlib
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from rigs.demo.machines import LiveMachine, keep_running, machines
from rigs.demo.tour import Stop, tour
from stack import session
from stack.__main__ import ROOT, show
from stack.configuration import configuration, notifying
from stack.notifications import NotificationReceiver
from stack.programs import HOST, Program, alertmanager, page, prometheus

#: Interval of scrapes and of the evaluation of rules, and the longest `for` of an alert.
_INTERVAL = "5s"

_STARTED_MESSAGE = """
Six simulated hosts; every state is visible within a minute. Begin with the tour:
  http://{tour}/

Status pages:
{pages}

Alerts        {alerts}
Notifications are printed here, and listed on the page of the tour.

The commands work on the hosts too:
{commands}

Faster than in production: alerts wait 5 s instead of up to 6 hours, although their texts name the
real times, and SMART data is read every 10 s. Data and logs are in {directory}.
Ctrl-C stops everything.
"""


def main() -> int:
    """Runs the demo until a signal. Returns the exit status of `session.run`."""
    arguments = _arguments()
    directory = arguments.directory.resolve()
    config, routes = directory / "prometheus.yml", directory / "alertmanager.yml"
    hosts = machines()
    exporters = [
        _exporter(machine.name, arguments.exporter + number, directory / machine.name)
        for number, machine in enumerate(hosts)
    ]
    programs = [
        *exporters,
        alertmanager(arguments.alertmanager, directory, routes),
        prometheus(arguments.prometheus, directory, config),
    ]

    commands = _commands(directory / "db5" / "config.toml", exporters[4])
    stops = [
        Stop(machine.name, program.address)
        for machine, program in zip(hosts, exporters, strict=True)
    ]

    def alerts() -> str:
        return page(programs[-1], "/alerts", "/classic/alerts")

    def front(notifications: Sequence[str]) -> str:
        return tour(stops, alerts(), commands, notifications)

    @contextlib.contextmanager
    def prepare() -> Iterator[None]:
        ended = threading.Event()
        with NotificationReceiver(arguments.notifications, show, front):
            for machine in hosts:
                shutil.rmtree(directory / machine.name, ignore_errors=True)
            live = [
                LiveMachine(machine, directory / machine.name, program.port)
                for machine, program in zip(hosts, exporters, strict=True)
            ]
            rules = _rules(directory / "rules")
            config.write_text(_configuration(rules, exporters, programs[-2]))
            example = (ROOT / "alerts" / "examples" / "alertmanager.yml").read_text()
            routes.write_text(notifying(example, arguments.notifications))
            thread = threading.Thread(target=keep_running, args=(live, ended))
            thread.start()
            try:
                yield
            finally:
                ended.set()
                thread.join()

    def message() -> str:
        pages = "\n".join(
            f"  {machine.name}  http://{program.address}/  {machine.shows}"
            for machine, program in zip(hosts, exporters, strict=True)
        )
        return _STARTED_MESSAGE.format(
            pages=pages,
            tour=f"{HOST}:{arguments.notifications}",
            alerts=alerts(),
            commands="\n".join(f"  {each}" for each in commands),
            directory=directory,
        )

    return session.run(programs, directory, prepare, message)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--exporter", type=int, default=10181, metavar="PORT")
    parser.add_argument("--prometheus", type=int, default=9090, metavar="PORT")
    parser.add_argument("--alertmanager", type=int, default=9093, metavar="PORT")
    parser.add_argument("--notifications", type=int, default=9095, metavar="PORT")
    parser.add_argument("--directory", type=Path, default=ROOT / "var" / "demo")
    return parser.parse_args()


def _commands(config: Path, exporter: Program) -> list[str]:
    """Returns the command lines that work on a host."""
    command = Path(sys.executable).parent / "ssd-exporter"
    return [
        f"{command} check --config.file={config}",
        f"{command} top --config.file={config} --url=http://{exporter.address}",
    ]


def _exporter(name: str, port: int, directory: Path) -> Program:
    """The exporter of this checkout on a simulated host."""
    flags = (sys.executable, "-m", "exporter", f"--config.file={directory / 'config.toml'}")
    return Program(f"exporter-{name}", (), "", port, "--exporter", "/metrics", flags)


def _rules(directory: Path) -> Path:
    """Writes the rules with short waits, so that alerts fire within a minute."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in (ROOT / "alerts").glob("*.yml"):
        document = yaml.safe_load(path.read_text())
        for group in document["groups"]:
            group.pop("interval", None)
            for rule in group["rules"]:
                # The alerts about the monitoring itself need their time: a start looks like a gap.
                if "for" in rule and path.name != "self.yml":
                    rule["for"] = _INTERVAL
        (directory / path.name).write_text(yaml.safe_dump(document, sort_keys=False))
    return directory


def _configuration(rules: Path, exporters: Sequence[Program], manager: Program) -> str:
    example = (ROOT / "alerts" / "examples" / "prometheus.yml").read_text()
    document = yaml.safe_load(configuration(example, rules, "", manager.address))
    settings = {"scrape_interval": _INTERVAL, "evaluation_interval": _INTERVAL}
    document["global"] = {**document.get("global", {}), **settings}
    (job,) = document["scrape_configs"]
    job.pop("scrape_interval", None)
    job["static_configs"] = [
        {
            "targets": [program.address],
            "labels": {"instance": program.name.removeprefix("exporter-")},
        }
        for program in exporters
    ]
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text


if __name__ == "__main__":
    sys.exit(main())
