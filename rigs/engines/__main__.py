"""Runs the stories of the alerts on several engines and scrape intervals (`make engines`).

Prometheus and VictoriaMetrics are built from their Go modules, once.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rigs.engines import collector, delivered, histograms, mistakes, stories, unit_tests
from rigs.engines.samples import Scrapes
from rigs.engines.stories import StoryFile
from rigs.engines.unit_tests import Difference, Engine
from rigs.go_programs import installed
from stack.programs import StackError
from tests.alerts import rules

_PROMETHEUS, _PROMETHEUS_NAME = "v0.316.0", "Prometheus 3.16.0"
#: The newest version whose module Go 1.26 builds. The name of the module is also its prefix.
_VICTORIA = "v1.150.0"
_VICTORIA_TOOL = "github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert-tool"

#: No evaluation hits these samples: evaluations are at multiples of 30 seconds.
SCRAPES: tuple[Scrapes | None, ...] = (
    None,
    Scrapes(15, 5),
    Scrapes(30, 10),
    Scrapes(30, 20),
    Scrapes(60, 20),
    Scrapes(60, 40),
    Scrapes(30, 10, lost=20),
)
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Run:
    """One file of stories on one engine."""

    engine: Engine
    file: StoryFile
    scrapes: Scrapes | None

    def __call__(self) -> list[Difference]:
        """Prints what failed, and returns it."""
        began = time.monotonic()
        failed = unit_tests.differences(self.engine, self.file, self.scrapes)
        checks = sum(len(story.checks) for story in self.file.stories)
        held = f"{checks - len(failed)} of {checks}"
        took = f"{time.monotonic() - began:.0f} s"
        lines = [
            f"{self.engine.name:24} {self.file.name:16} {_name(self.scrapes):40} {held:10} {took}",
            *(f"    {each}" for each in failed),
        ]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        return failed


def main() -> int:
    """Prints the result of each file of stories, and of each panel.

    Returns 0 if all checks hold, 1 if not, and 2 if a program does not run.
    """
    arguments = _arguments()
    count = 0
    try:
        if "stories" in arguments.step:
            count += _stories(arguments)
        if "mistakes" in arguments.step:
            for name in arguments.engine:
                count += mistakes.compared(_ENGINES[name](), arguments.story)
        if "delivered" in arguments.step:
            count += delivered.measured(delivered.Versions(_PROMETHEUS, _VICTORIA))
        if "collector" in arguments.step:
            count += collector.compared(_PROMETHEUS)
        if "histograms" in arguments.step:
            count += histograms.compared(_PROMETHEUS)
    except StackError as e:
        sys.stderr.write(f"make engines: {e}\n")
        return 2
    sys.stdout.write(f"{count} differences\n")
    return int(count > 0)


def _stories(arguments: argparse.Namespace) -> int:
    """Returns the number of checks that fail."""
    files = [stories.read(path) for path in rules.STORIES if path.stem in arguments.story]
    scrapes = [each for each in SCRAPES if _name(each) in arguments.scrapes]
    engines = [_ENGINES[name]() for name in arguments.engine]
    runs = [
        Run(engine, file, each)
        for engine in engines
        for each in scrapes
        for file in files
        if each is None or file.name not in stories.ABOUT_SCRAPES
    ]
    with ThreadPoolExecutor(_WORKERS) as pool:
        return sum(map(len, pool.map(Run.__call__, runs)))


def _name(scrapes: Scrapes | None) -> str:
    return "on the evaluations" if scrapes is None else str(scrapes)


def _packaged() -> Engine:
    return unit_tests.prometheus("Prometheus of Debian", "promtool")


def _newest() -> Engine:
    promtool = installed("github.com/prometheus/prometheus/cmd/promtool", _PROMETHEUS)
    return unit_tests.prometheus(_PROMETHEUS_NAME, str(promtool))


def _victoria() -> Engine:
    tool = installed(_VICTORIA_TOOL, _VICTORIA)
    return unit_tests.victoriametrics(f"VictoriaMetrics {_VICTORIA[1:]}", str(tool))


_ENGINES = {"packaged": _packaged, "prometheus": _newest, "victoriametrics": _victoria}


def _arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make engines", description=__doc__)
    for name, choices in (
        ("step", ["stories", "mistakes", "delivered", "collector", "histograms"]),
        ("engine", list(_ENGINES)),
        ("story", [path.stem for path in rules.STORIES]),
        ("scrapes", [_name(each) for each in SCRAPES]),
    ):
        parser.add_argument(
            f"--{name}", nargs="*", choices=choices, default=choices, help="all by default"
        )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
