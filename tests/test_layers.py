"""The layers of exporter/: which packages may import which, and where libraries may be used."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from exporter.commands.registry import COMMANDS

ROOT = Path(__file__).parents[1] / "exporter"

#: The packages and the modules of the top level, in order: each may import only what stands above
#: it, and of that only what its set names. A package includes all its modules, which may also
#: import each other. "" is the package exporter itself. An unlisted module fails the test.
MAY_IMPORT: dict[str, set[str]] = {
    "": set(),
    # What every long-running program needs, names of metrics, and settings.
    "runtime": set(),
    "families": set(),
    "config": {"runtime"},
    # Kernel files, the meaning of SMART reports, and external programs.
    "linux": {"runtime"},
    "drives": {"runtime.errors"},
    "programs": {"runtime"},
    # Subjects with their own schedule: the wear history, polling drives, sampling, probing.
    "wear": {"drives", "runtime"},
    "smart": {"config", "drives", "linux", "programs", "runtime", "wear"},
    "io": {"config", "drives", "families", "linux", "runtime"},
    "tails": {"runtime", "smart.document_directory", "smart.polling.moment"},
    "history": {"config", "io", "runtime"},
    "probe": {"config", "drives", "families", "io", "linux", "programs", "runtime"},
    # What people and Prometheus read.
    "metrics": {
        "config",
        "drives",
        "families",
        "history",
        "io",
        "linux",
        "probe",
        "runtime",
        "smart",
        "tails",
    },
    "web": {"metrics", "runtime"},
    "pages": {
        *("", "config", "drives", "history", "io", "linux", "metrics.collectors"),
        *("metrics.negotiation", "probe", "runtime", "smart", "tails", "web.http_message"),
    },
    # Commands, and what only they use.
    "report": {"runtime"},
    "capture": {"config", "linux", "runtime"},
    "measurement": {
        *("config", "io", "linux", "probe", "report", "runtime", "smart"),
    },
    "top": {"config", "io", "linux", "report.formatting", "runtime"},
    "latency": {"linux", "programs", "report", "runtime", "tails"},
    "reading": {"drives", "families", "metrics", "report", "runtime", "smart"},
    # The privileged process: no network code, and the standard library only.
    "agent": {
        *("programs", "runtime", "smart.document_directory", "smart.polling.poll_document"),
        *("smart.polling.moment", "smart.polling.poller", "latency.window_schedule"),
        "tails.latency_document",
    },
    "commands": {
        *("", "agent", "capture", "config", "drives", "io.volume_models", "latency", "linux"),
        *("measurement", "probe", "programs", "reading", "report", "runtime", "smart", "top"),
        *("tails", "wear"),
    },
    # The monitor and the daemon connect everything; the command line starts it.
    "monitor": {
        *("", "config", "drives", "families", "history", "io", "linux", "metrics", "probe"),
        *("programs", "runtime", "smart", "tails", "wear"),
    },
    "daemon": {
        *("", "config", "io", "metrics", "monitor", "pages.live_pages", "programs", "runtime"),
        *("wear", "web"),
    },
    "single_page": {"config", "metrics.exposition", "monitor", "programs", "runtime"},
    "config_validation": {
        *("config", "probe.budget_ledger", "runtime", "smart.addressing", "smart.smartctl"),
        "web.listen",
    },
    "command_help": set(),
    "cli": {
        *("", "command_help", "commands", "config", "config_validation", "daemon", "runtime"),
        "single_page",
    },
    "__main__": {"cli"},
}


def name_of(path: Path) -> str:
    """Returns the dotted name of a module below exporter; "" is the package exporter itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Returns all nodes of a module's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def imported(path: Path) -> Iterator[str]:
    """Yields the dotted names of all exporter modules that a module imports, at any depth."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "exporter" for alias in node.names), (
                f"{path.name}: use `from exporter... import ...`"
            )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: use absolute imports"
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
def test_a_module_imports_only_permitted_layers(module: str) -> None:
    module = "" if module == "exporter" else module
    own = layer(module)
    assert own in MAY_IMPORT, f"{module} has no layer: add it to {Path(__file__).name}"
    allowed = MAY_IMPORT[own] | ({own} if own else set())
    forbidden = {
        other
        for other in imported(MODULES[module])
        if not any(covers(name, other) for name in allowed)
    }
    assert set() == forbidden, f"{module or 'exporter'} must not import {sorted(forbidden)}"


def test_only_the_command_line_imports_the_daemon() -> None:
    importing = {
        module for module, path in MODULES.items() if {"cli", "daemon"} & set(imported(path))
    }
    assert {"__main__", "cli"} == importing


def test_imports_only_point_upwards_in_the_list() -> None:
    order = list(MAY_IMPORT)
    downwards = {
        (name, other)
        for name, allowed in MAY_IMPORT.items()
        for other in allowed
        if order.index(layer(other)) >= order.index(name)
    }
    assert set() == downwards


def test_every_listed_import_is_used() -> None:
    used = {(layer(module), other) for module, path in MODULES.items() for other in imported(path)}
    unused = {
        (name, allowed)
        for name, several in MAY_IMPORT.items()
        for allowed in several
        if not any(name == own and covers(allowed, other) for own, other in used)
    }
    assert set() == unused


#: Libraries, and the only modules and packages that may import them. Each has one place, and the
#: agent must not load most of them.
ONLY_IN = {
    "_socket": {"runtime.service"},
    "socket": {"top.daemon_page", "web"},
    "ssl": {"web"},
    "subprocess": set(),
    "psutil": {"linux.mysql.mysqld_processes"},
    "prometheus_client": {"metrics.client_library", "metrics.process_collector"},
    "argparse": {
        "cli",
        "command_help",
        *(f"commands.{name}" for name in ("common", "registry")),
        *(f"commands.{listed.module}" for listed in COMMANDS.values()),
    },
    "pySMART": {"smart"},
    "sqlite3": {"wear.wear_database", "wear.wear_tables"},
    "threading": {
        "history.io_history",
        *(
            "daemon",
            "io",
            "metrics.page",
            "pages.live_pages",
            "pages.past.past_reader",
            "probe",
            "runtime.collector_status",
        ),
        *("runtime.state", "runtime.threads", "smart", "wear", "web"),
    },
}


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_only_where_permitted(library: str) -> None:
    importing = set()
    for module, path in MODULES.items():
        for node in nodes(path):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.split(".")[0] == library for name in names):
                importing.add(module)
    places = ONLY_IN[library]
    assert set() == {m for m in importing if not any(covers(place, m) for place in places)}


def test_only_collectors_the_page_and_the_loops_of_threads_catch_all_exceptions() -> None:
    catching = {
        module
        for module, path in MODULES.items()
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    assert catching <= {
        *("metrics.exposition", "runtime.collector_status", "runtime.threads"),
        *("web.dispatcher", "web.event_loop", "web.server"),
    }


def test_no_module_has_more_than_400_lines() -> None:
    long = {m: path.read_text().count("\n") for m, path in MODULES.items()}
    assert {} == {module: lines for module, lines in long.items() if lines > 400}
