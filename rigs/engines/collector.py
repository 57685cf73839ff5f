"""Hands the page on through an OpenTelemetry Collector and by remote write, and compares it.

A Collector that is built from its Go modules scrapes the exporter. It writes a file, and sends OTLP
to one Prometheus for each translation strategy. Another Prometheus scrapes the exporter, and sends
remote write 1 and 2 to one Prometheus each.
"""

import hashlib
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import programs
from bench.kernel import Kernel
from rigs.engines import servers
from rigs.engines.stories import Labels
from rigs.go_programs import build, cache_directory, go
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.prometheus import Prometheus
from tests.end_to_end.server_process import ServerProcess

_MODULE = Path(__file__).parent / "collector_module"
_DISKS = 4
_SETTLE_SECONDS = 20.0

#: https://prometheus.io/docs/prometheus/latest/configuration/configuration/ (otlp)
_STRATEGIES = (
    "UnderscoreEscapingWithSuffixes",
    "UnderscoreEscapingWithoutSuffixes",
    "NoUTF8EscapingWithSuffixes",
    "NoTranslation",
)
_MESSAGES = {
    "remote write 1": "prometheus.WriteRequest",
    "remote write 2": "io.prometheus.write.v2.Request",
}

_COLLECTOR = """\
receivers:
  prometheus:
    config:
      scrape_configs:
        - job_name: ssd
          scrape_interval: 2s
          scrape_timeout: 2s
          static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
exporters:
  file: {{path: {file}}}
{exporters}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    metrics: {{receivers: [prometheus], exporters: [file{names}]}}
"""
_SENDER = """\
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: ssd
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
remote_write:
"""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of the page, or one that arrived: its type and its unit, "" if it has none."""

    kind: str
    unit: str


class Collector(ServerProcess):
    """A context manager that runs the Collector with this configuration."""

    def __init__(self, directory: Path, config: str) -> None:
        directory.mkdir()
        file = directory / "collector.yml"
        file.write_text(config)
        super().__init__([str(_built()), f"--config=file:{file}"], directory / "log")

    def is_ready(self) -> bool:
        return "Everything is ready" in self.log


def compared(version: str) -> int:
    """Prints what arrived; returns the number of families that did not arrive unchanged.

    version: the version of the module of Prometheus, such as v0.316.0.
    """
    program = servers.prometheus(version)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(place / "host", _DISKS, _DISKS))
        port = stack.enter_context(programs.ours(kernel, place / "state")).port

        def run(name: str, config: str, *flags: str) -> Prometheus:
            server = Prometheus(place / name, "", *flags, config=config, program=program)
            return stack.enter_context(server)

        otlp = {
            name: run(
                name, f"otlp: {{translation_strategy: {name}}}\n", "--web.enable-otlp-receiver"
            )
            for name in _STRATEGIES
        }
        file = place / "metrics.json"
        stack.enter_context(Collector(place / "collector", _configured(port, file, otlp)))
        written = {
            name: run(name.replace(" ", "-"), "global: {}\n", "--web.enable-remote-write-receiver")
            for name in _MESSAGES
        }
        sender = run("sender", _sending(port, written))
        wait_until(file.exists, "the Collector to write", PATIENCE_SECONDS)
        time.sleep(_SETTLE_SECONDS)
        count = _report(families(_page(port)), dict(_in_file(file)))
        now = time.time()
        expected = _series(sender, now)
        for name, server in {**otlp, **written}.items():
            count += _differs(name, expected, _series(server, now))
        return count


def _series(server: Prometheus, at: float) -> set[Labels]:
    """Returns the labels of each series of the page, and of `up`."""
    found = server.query('{__name__=~"ssd.+|up"}', at)
    return {frozenset(each.labels.items()) for each in found}


def families(page: str) -> dict[str, Family]:
    """Returns the families of a page in the OpenMetrics format, by the name of their samples."""
    found: dict[str, Family] = {}
    units: dict[str, str] = {}
    for line in page.splitlines():
        words = line.split(" ")
        if words[:2] == ["#", "UNIT"]:
            units[words[2]] = words[3]
        if words[:2] == ["#", "TYPE"]:
            _, _, name, kind = words
            found[name] = Family(kind, units.get(name, ""))
    return {
        f"{name}_total" if family.kind == "counter" else name: Family(
            family.kind, units.get(name, "")
        )
        for name, family in found.items()
    }


def _in_file(file: Path) -> Iterator[tuple[str, Family]]:
    """Yields the metrics that the file exporter wrote."""
    for line in file.read_text().splitlines():
        for resource in json.loads(line)["resourceMetrics"]:
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    yield metric["name"], Family(_kind(metric), metric.get("unit", ""))


def _kind(metric: dict[str, Any]) -> str:
    """Returns the type of a metric as the page names it."""
    if "sum" in metric:
        return "counter" if metric["sum"].get("isMonotonic") else "gauge"
    return "histogram" if "histogram" in metric else "gauge"


def _report(expected: dict[str, Family], found: dict[str, Family]) -> int:
    """Prints how many families the file has; returns the number of missing and changed ones."""
    ours = {each: family for each, family in expected.items() if each.startswith("ssd_")}
    missing = sorted(ours.keys() - found.keys())
    kinds = [each for each in ours.keys() & found.keys() if ours[each].kind != found[each].kind]
    with_unit = [each for each in ours if ours[each].unit]
    arrived = [each for each in with_unit if each in found and found[each].unit]
    units = sorted({(ours[each].unit, found[each].unit) for each in arrived})
    sys.stdout.write(
        f"{'file exporter':36} {len(ours) - len(missing)} of {len(ours)} families, "
        f"{len(kinds)} of another type, {len(arrived)} of {len(with_unit)} units {units}\n"
    )
    sys.stdout.writelines(f"    missing or changed: {each}\n" for each in [*missing, *kinds])
    return len(missing) + len(kinds) + len(with_unit) - len(arrived)


def _differs(name: str, expected: set[Labels], found: set[Labels]) -> int:
    """Prints which series have other names or labels; returns the number of missing ones.

    A bound of another notation, 1 for 1.0, is counted as changed and not as missing.
    """
    bounds = {_with_number(each) for each in found}
    missing = {each for each in expected if _with_number(each) not in bounds}
    same = len(expected & found)
    changed = len(expected) - same - len(missing)
    sys.stdout.write(
        f"{name:36} {same} of {len(expected)} series unchanged, {changed} with another le\n"
    )
    sys.stdout.writelines(f"    missing: {sorted(each)}\n" for each in missing)
    return len(missing)


def _with_number(labels: Labels) -> Labels:
    return frozenset(
        (name, repr(float(value)) if name == "le" else value) for name, value in labels
    )


def _page(port: int) -> str:
    accepted = {"Accept": "application/openmetrics-text;version=1.0.0"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=accepted)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        text: str = answer.read().decode()
        return text


def _configured(port: int, file: Path, receivers: dict[str, Prometheus]) -> str:
    exporters = "\n".join(
        f"  otlp_http/{name}: {{metrics_endpoint: 'http://{each.address}/api/v1/otlp/v1/metrics'}}"
        for name, each in receivers.items()
    )
    names = "".join(f", otlp_http/{name}" for name in receivers)
    return _COLLECTOR.format(port=port, file=file, exporters=exporters, names=names)


def _sending(port: int, receivers: dict[str, Prometheus]) -> str:
    lines = (
        f"  - {{url: 'http://{each.address}/api/v1/write', protobuf_message: {_MESSAGES[name]}}}\n"
        for name, each in receivers.items()
    )
    return _SENDER.format(port=port) + "".join(lines)


def _built() -> Path:
    """Returns the path of the Collector; builds it if the cache does not have it."""
    names = ("main.go", "go.mod", "go.sum")
    content = b"".join((_MODULE / name).read_bytes() for name in names)
    program = cache_directory() / f"collector-{hashlib.sha256(content).hexdigest()[:12]}"
    if not program.exists():
        argv = [go("the Collector"), "build", "-mod=readonly", "-trimpath", "-o", str(program), "."]
        build("the Collector", argv, directory=_MODULE)
    return program
