"""Measures the time from the moment at which a drive hangs to the page that is delivered.

The exporter runs on hosts of tests/hosts. Several servers scrape the same hosts, each at another
interval, with the rules and the routes of alerts/. Nothing is shortened. The drives hang one after
the other, at moments that do not depend on the scrapes.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rigs.engines import servers
from tests.alerts import rules
from tests.duration import ahead_of_other_work
from tests.end_to_end.alerting_breaking import STALLED
from tests.end_to_end.alerting_counters import running
from tests.end_to_end.alerting_host import CONFIG, NVME, Host
from tests.end_to_end.alerting_manager import Alertmanager
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.prometheus import Prometheus
from tests.end_to_end.webhook import Notice, receiving

_INTERVALS = (15, 30, 60)
_DEVICE = "nvme1n1"
_PAGE = "SSDDiskStalled"
_MEMORY = "/dev/shm"
#: The rules need a scrape, an evaluation, and in the steady state a value of two minutes ago.
_WARM_UP_SECONDS = 240.0
#: Seconds between two drives that hang. It is no part of a scrape or evaluation interval.
_APART_SECONDS = 37.0
#: A page that has not arrived after this time is counted as missing.
_LONGEST_SECONDS = 240.0

_SCRAPES = """\
global: {{scrape_interval: {interval}s, scrape_timeout: 10s}}
scrape_configs:
  - job_name: ssd
    static_configs:
{targets}
"""
_RULES = """\
rule_files: [{rules}/*.yml]
alerting:
  alertmanagers: [{{static_configs: [{{targets: ["{manager}"]}}]}}]
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the modules of Prometheus and VictoriaMetrics, such as v1.150.0."""

    prometheus: str
    victoria: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its own database.

    name: engine and scrape interval; it is also the cluster of its series.
    """

    name: str
    place: Path
    versions: Versions


def measured(versions: Versions, count: int = 6) -> int:
    """Prints the times from hang to page; returns the number of pages that did not arrive.

    count: the number of hosts, each of which hangs once.
    """
    with ExitStack() as stack:
        stack.enter_context(ahead_of_other_work())
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_MEMORY)))
        receiver = stack.enter_context(receiving())
        routes = (rules.EXAMPLES / "alertmanager.yml").read_text()
        routes = routes.replace("http://127.0.0.1:9095/", f"http://{receiver.address}/")
        manager = stack.enter_context(Alertmanager(place / "alertmanager", routes))
        hosts = [
            Host(f"db{number}", NVME, place / f"db{number}", memory / f"db{number}")
            for number in range(count)
        ]
        stack.enter_context(running(host.counters for host in hosts))
        ports = [
            stack.enter_context(Daemon(host.place / "daemon", *host.flags, config=CONFIG)).port
            for host in hosts
        ]
        targets = dict(zip((host.name for host in hosts), ports, strict=True))
        for name in _names():
            _start(stack, Server(name, place / name, versions), manager.address, targets)
            sys.stdout.write(f"started {name}\n")
        sys.stdout.flush()
        time.sleep(_WARM_UP_SECONDS)
        began: dict[str, float] = {}
        for host in hosts:
            host.counters.loads(_DEVICE, **STALLED)
            began[host.name] = time.monotonic()
            time.sleep(_APART_SECONDS)
        time.sleep(_LONGEST_SECONDS - _APART_SECONDS)
        pages = [each for each in receiver.notices() if (each.alert, each.status) == _FIRING]
        return sum(_report(name, began, pages) for name in _names())


_FIRING = (_PAGE, "firing")


def _names() -> Iterator[str]:
    for engine in ("prometheus", "victoriametrics"):
        yield from (f"{engine}-{interval}" for interval in _INTERVALS)


def _start(stack: ExitStack, server: Server, manager: str, targets: Mapping[str, int]) -> None:
    """Starts a server.

    targets: the port of each exporter, by the name of its host.
    """
    engine, _, interval = server.name.partition("-")
    each = "      - {{targets: ['127.0.0.1:{}'], labels: {{instance: {}, cluster: {}}}}}"
    lines = (each.format(port, host, server.name) for host, port in targets.items())
    scrapes = _SCRAPES.format(interval=interval, targets="\n".join(lines))
    if engine == "prometheus":
        config = scrapes + _RULES.format(rules=rules.ALERTS, manager=manager)
        program = servers.prometheus(server.versions.prometheus)
        stack.enter_context(Prometheus(server.place, config=config, program=program))
        return
    version = server.versions.victoria
    database = servers.VictoriaMetrics(version, server.place, scrapes)
    stack.enter_context(database)
    files = [str(path) for path in rules.RULE_FILES]
    stack.enter_context(servers.Vmalert(version, server.place, files, database.address, manager))


def _report(name: str, began: dict[str, float], pages: Sequence[Notice]) -> int:
    """Prints the times of one server; returns the number of pages that did not arrive."""
    took: dict[str, float] = {}
    for page in pages:
        if page.labels.get("cluster") == name and page.labels.get("device") == _DEVICE:
            took.setdefault(page.labels["instance"], page.seconds - began[page.labels["instance"]])
    times = sorted(took.values())
    missing = len(began) - len(times)
    shown = ", ".join(f"{each:.0f}" for each in times)
    middle = f"median {statistics.median(times):.0f} s, " if times else ""
    sys.stdout.write(f"{name:20} {middle}each {shown} s, {missing} missing\n")
    return missing
