"""Compares the panels on classic histograms, on native ones, and on both during a migration.

Three servers scrape the same exporter: one stores classic histograms, one converts them to native
histograms with custom buckets, and one stores both.
"""

import math
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from bench import programs
from bench.kernel import Kernel
from rigs.go_programs import installed
from tests.alerts import rules
from tests.dashboards.documents import Target, every_target
from tests.end_to_end.prometheus import Prometheus, Series

_DISKS = 4
#: Two evaluations of the rules, and a rate over the window below.
_SECONDS = 100.0
_WINDOW = "30s"
#: Largest relative difference of two values: the servers scrape at different moments.
_TOLERANCE = 0.1

_CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 5s}}
rule_files: {rules}
scrape_configs:
  - job_name: ssd
    {options}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
_OPTIONS = {
    "classic": "",
    "native": "convert_classic_histograms_to_nhcb: true",
    "both": "convert_classic_histograms_to_nhcb: true\n    always_scrape_classic_histograms: true",
}
_RULES = [
    rules.ALERTS / "thresholds.yml",
    rules.ALERTS / "recording.yml",
    rules.EXAMPLES / "native-histograms.yml",
]


def compared(version: str) -> int:
    """Prints a table of the panels that read histograms; returns the number of differences.

    version: the version of the module of Prometheus, such as v0.316.0.
    """
    program = str(installed("github.com/prometheus/prometheus/cmd/prometheus", version))
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(place / "host", _DISKS, _DISKS))
        exporter = stack.enter_context(programs.ours(kernel, place / "state"))
        servers = {
            name: stack.enter_context(
                Prometheus(
                    place / name,
                    config=_CONFIG.format(
                        rules=[str(path) for path in _RULES], options=options, port=exporter.port
                    ),
                    program=program,
                )
            )
            for name, options in _OPTIONS.items()
        }
        time.sleep(_SECONDS)
        now = time.time()
        stored = {
            name: len(server.query('{__name__=~"ssd_.+"}', now)) for name, server in servers.items()
        }
        sys.stdout.write(f"series of the page: {stored}\n")
        targets = [
            each
            for each in every_target()
            if "_bucket" in each.expression or "mean5m" in each.expression
        ]
        return sum(_differs(servers, target, now) for target in targets)


def _differs(servers: Mapping[str, Prometheus], target: Target, now: float) -> bool:
    # A recorded mean is compared over its own window.
    window = "5m" if "mean5m" in target.expression else _WINDOW
    expression = target.filled.replace("[4m]", f"[{window}]")
    found = {name: _values(server.query(expression, now)) for name, server in servers.items()}
    classic = found["classic"]
    worst = max(
        (
            _difference(classic.get(labels), value)
            for each in found.values()
            for labels, value in each.items()
        ),
        default=0.0,
    )
    differs = worst > _TOLERANCE or len({len(each) for each in found.values()}) > 1
    counts = {name: len(each) for name, each in found.items()}
    sys.stdout.write(
        f"{'DIFFERS' if differs else 'equal':8} {target.where:70} {counts} {worst:.1%}\n"
    )
    return differs


def _values(series: list[Series]) -> dict[frozenset[tuple[str, str]], float]:
    """Returns the values, keyed by labels. Of the buckets of a panel, the whole count is kept."""
    return {
        frozenset(pair for pair in each.labels.items() if pair[0] not in ("__name__", "le")): (
            each.largest
        )
        for each in series
        if math.isfinite(each.largest) and each.labels.get("le", "+Inf") == "+Inf"
    }


def _difference(one: float | None, other: float) -> float:
    if one is None:
        return math.inf
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
