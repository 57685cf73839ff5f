"""Imports point one way, and only the daemon knows all."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.commands.registry import COMMANDS

ROOT = Path(__file__).parents[1] / "exporter"

#: A module or package of exporter, and what of exporter it may import; a package covers its
#: modules, and each may import its own. What is not listed here fails the test below.
MAY_IMPORT: dict[str, set[str]] = {
    # What everything may stand on.
    "errors": set(),
    "clock": set(),
    "logs": set(),
    "threads": {"clock"},
    "service": {"threads"},
    "state": {"errors"},
    # What the kernel reports, what a drive's report means, running other programs.
    "linux": {"errors"},
    "drives": {"errors"},
    "programs": {"clock", "errors"},
    "collector_status": {"clock", "errors", "linux.files"},
    # Names of metrics and edges of histograms, which those that count need too.
    "metrics.desc": set(),
    "metrics.disk_families": {"metrics.desc"},
    "metrics.probe_families": {"metrics.desc"},
    # What has a clock of its own.
    "smart": {
        *("clock", "collector_status", "config", "drives", "errors", "linux", "programs"),
        "threads",
    },
    "io": {
        *("clock", "collector_status", "config", "drives", "linux"),
        *("metrics.desc", "metrics.disk_families"),
    },
    "probe": {
        *("clock", "collector_status", "drives", "errors", "io", "linux", "programs", "threads"),
        *("metrics.desc", "metrics.probe_families"),
    },
    # Each subject's settings are its own record of rules.
    "config": {"errors", "io.activity", "io.drive_class", "probe.gate", "probe.profiles"},
    "config_validation": {
        *("config", "errors", "smart.addressing", "smart.smartctl", "web.listen"),
        *("probe.budget_ledger", "probe.gate", "probe.profiles"),
    },
    "metrics": {"collector_status", "drives", "errors", "io", "linux", "probe", "smart"},
    "web": {"", "drives", "errors", "io", "linux", "metrics"},
    # The half with rights: nothing that knows a network, and nothing that is not Python's own.
    "agent": {
        *("clock", "errors", "logs", "programs", "service", "threads"),
        *("smart.document_directory", "smart.poll_document", "smart.poller"),
    },
    # Commands that a person runs.
    "report": {"errors"},
    "capture": {"config", "errors", "linux"},
    "measurement": {
        *("clock", "config", "drives", "errors", "io", "linux", "probe", "report", "smart"),
        "state",
    },
    "commands": {
        *("", "agent", "capture", "clock", "config", "drives", "errors", "io", "linux"),
        *("measurement", "probe", "programs", "report", "smart", "state"),
    },
    # The monitor and the daemon put everything together.
    "probe_monitor": {
        *("clock", "collector_status", "config", "drives", "linux", "metrics", "probe"),
        *("programs", "smart"),
    },
    "monitor": {
        *("", "clock", "collector_status", "config", "drives"),
        *("io", "linux", "metrics", "probe", "probe_monitor", "programs", "smart", "web"),
    },
    "daemon": {
        *("", "clock", "config", "errors", "logs", "metrics", "monitor", "programs"),
        *("service", "smart", "state", "threads", "web"),
    },
    "cli": {
        *("", "commands", "config", "config_validation", "daemon", "errors"),
        "logs",
    },
    "__main__": {"cli"},
    "": set(),
}


def name_of(path: Path) -> str:
    """The module's dotted name below exporter; "" is exporter itself, a package its directory."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """What of exporter a module imports, dotted below exporter, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "exporter" for alias in node.names), (
                f"{path.name}: from exporter... import ..., as everywhere"
            )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            package, _, module = (node.module or "").partition(".")
            if package == "exporter":
                for alias in node.names:
                    dotted = f"{module}.{alias.name}".strip(".")
                    yield dotted if dotted in MODULES else module


def covers(allowed: str, module: str) -> bool:
    return module == allowed or (allowed != "" and module.startswith(f"{allowed}."))


def layer(module: str) -> str:
    return module if module in MAY_IMPORT else module.partition(".")[0]


@pytest.mark.parametrize("module", [m or "exporter" for m in MODULES])
def test_a_module_imports_only_what_its_layer_may(module: str) -> None:
    module = "" if module == "exporter" else module
    own = layer(module)
    assert own in MAY_IMPORT, f"{module} has no layer: say in {Path(__file__).name} what it may"
    allowed = MAY_IMPORT[own] | ({own} if own else set())
    too_much = {
        other
        for other in imported(MODULES[module])
        if not any(covers(each, other) for each in allowed)
    }
    assert set() == too_much, f"{module or 'exporter'} must not know {sorted(too_much)}"


def test_nothing_but_the_command_knows_the_daemon() -> None:
    knowing = {
        module for module, path in MODULES.items() if {"cli", "daemon"} & set(imported(path))
    }
    assert {"__main__", "cli"} == knowing


def test_the_layers_have_no_circle() -> None:
    """config holds the rules of io; io.survey and smart.polling_plan read the settings."""
    known_circle = {("io", "config"), ("smart", "config"), ("config", "io"), ("config", "probe")}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"{' > '.join((*above, name))}"
        if name in done:
            return
        for other in MAY_IMPORT[name]:
            below = layer(other)
            if below and below != name and (name, below) not in known_circle:
                visit(below, (*above, name))
        done.add(name)

    for name in MAY_IMPORT:
        visit(name, ())


#: What a half with rights must do without, and what only its place may know.
ONLY_IN = {
    "socket": {"service", "web"},
    "ssl": {"web"},
    "subprocess": set(),
    "psutil": {"linux.mysqld"},
    "prometheus_client": {"metrics.client_library", "metrics.own_collector"},
    "argparse": {
        "cli",
        *(f"commands.{name}" for name in ("common", "registry")),
        *(f"commands.{listed.module}" for listed in COMMANDS.values()),
    },
    "pySMART": {"smart"},
    "sqlite3": {"smart.wear_database"},
    "threading": {
        "collector_status",
        "daemon",
        "io",
        "metrics.page",
        "probe",
        "smart",
        "state",
        "threads",
        "web",
    },
}


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_known_in_its_place_only(library: str) -> None:
    knowing = set()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.split(".")[0] == library for name in names):
                knowing.add(module)
    places = ONLY_IN[library]
    assert set() == {m for m in knowing if not any(covers(place, m) for place in places)}


def test_nobody_catches_everything_but_the_last_line_of_a_thread() -> None:
    catching = {
        module
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    assert catching <= {"threads", "web.dispatcher"}


def test_no_module_is_longer_than_a_reader_holds() -> None:
    long = {m: path.read_text().count("\n") for m, path in MODULES.items()}
    assert {} == {module: lines for module, lines in long.items() if lines > 400}
