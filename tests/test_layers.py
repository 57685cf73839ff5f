"""The layers of exporter/: which packages may import which, and where libraries may be used."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from exporter.commands.registry import COMMANDS

ROOT = Path(__file__).parents[1] / "exporter"

#: For each module or package of exporter, the modules and packages that it may import. A package
#: includes all its modules, which may also import each other. An unlisted module fails the test.
MAY_IMPORT: dict[str, set[str]] = {
    # The base: every layer may use these.
    "printable": set(),
    "errors": {"printable"},
    "clock": set(),
    "logs": set(),
    "threads": {"clock", "logs"},
    "service": {"threads"},
    "untrusted_file": set(),
    "lock_file": {"untrusted_file"},
    "output_file": {"untrusted_file"},
    "privileges": {"errors"},
    "json_values": set(),
    "state": {"errors", "json_values", "linux.locks", "lock_file", "privileges", "untrusted_file"},
    # Kernel files, the meaning of SMART reports, and external programs.
    "linux": {"errors", "printable", "untrusted_file"},
    "drives": {"errors"},
    "programs": {"clock", "errors"},
    "collector_status": {"clock", "errors", "linux.files"},
    # Metric names and histogram buckets, which the samplers need too.
    "metrics.desc": set(),
    "metrics.disk_families": {"metrics.desc"},
    "metrics.probe_families": {"metrics.desc"},
    "wear": {"drives", "privileges", "untrusted_file"},
    # Subjects with their own schedule: polling drives, sampling, probing.
    "smart": {
        *("clock", "collector_status", "config", "drives", "errors", "json_values", "linux"),
        *("programs", "threads", "untrusted_file", "wear"),
    },
    "io": {
        *("clock", "collector_status", "config", "drives", "errors", "linux", "untrusted_file"),
        *("metrics.desc", "metrics.disk_families"),
    },
    "probe": {
        *("clock", "collector_status", "drives", "errors", "io", "linux", "programs", "threads"),
        *("lock_file", "metrics.desc", "metrics.probe_families", "untrusted_file"),
    },
    # The settings contain the rules of each subject.
    "config": {"errors", "io.disk_rules", "io.drive_class", "probe.gate", "probe.profiles"},
    "config_validation": {
        *("config", "errors", "smart.addressing", "smart.smartctl", "web.listen"),
        *("probe.budget_ledger", "probe.gate", "probe.profiles"),
    },
    "metrics": {
        *("collector_status", "drives", "errors", "io", "linux", "printable", "probe", "smart"),
    },
    "web": {"", "errors", "linux", "logs", "metrics", "printable"},
    # The pages for people: values in, HTML and JSON out.
    "pages": {
        *("", "clock", "collector_status", "config", "drives", "io", "linux", "printable"),
        *("probe", "smart", "wear", "web.http_message"),
    },
    # The privileged process: no network code, and the standard library only.
    "agent": {
        *("clock", "errors", "logs", "programs", "service", "threads"),
        *("smart.document_directory", "smart.polling.poll_document", "smart.polling.poller"),
    },
    # Commands, and what only they use.
    "report": {"errors", "output_file", "printable"},
    "capture": {"config", "errors", "linux", "untrusted_file"},
    "measurement": {
        *("clock", "config", "drives", "errors", "io", "linux", "printable", "probe", "report"),
        *("privileges", "smart", "state", "untrusted_file"),
    },
    "top": {
        *("clock", "collector_status", "config", "errors", "io", "linux", "printable"),
        *("report.formatting", "threads"),
    },
    "reading": {"drives", "errors", "metrics", "printable", "report", "smart"},
    "commands": {
        *("", "agent", "capture", "clock", "config", "drives", "errors", "io", "linux"),
        *("measurement", "printable", "privileges", "probe", "programs", "reading", "report"),
        *("smart", "state", "untrusted_file", "top", "wear"),
    },
    # The lines of the log about drives.
    "drive_journal": {"drives", "io"},
    # The monitor and the daemon connect everything.
    "probe_monitor": {
        *("clock", "collector_status", "config", "drives", "linux", "metrics", "probe"),
        *("programs", "smart", "untrusted_file"),
    },
    "monitor": {
        *("", "clock", "collector_status", "config", "drives"),
        *("io", "linux", "metrics", "probe", "probe_monitor", "programs", "smart", "wear", "web"),
    },
    "live_pages": {"clock", "monitor", "pages", "web.http_message"},
    "daemon": {
        *(
            "",
            "clock",
            "config",
            "drive_journal",
            "errors",
            "io",
            "logs",
            "metrics",
            "live_pages",
            "monitor",
            "privileges",
            "programs",
        ),
        *("service", "state", "threads", "wear", "web"),
    },
    "command_help": set(),
    "cli": {
        *("", "command_help", "commands", "config", "config_validation", "daemon", "errors"),
        *("logs", "output_file", "printable", "threads"),
    },
    "__main__": {"cli"},
    "": set(),
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


def test_the_layers_have_no_cycle() -> None:
    """Except: config contains the rules of io and probe, and io and smart read the settings."""
    known_cycles = {("io", "config"), ("smart", "config"), ("config", "io"), ("config", "probe")}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"{' > '.join((*above, name))}"
        if name in done:
            return
        for other in MAY_IMPORT[name]:
            below = layer(other)
            if below and below != name and (name, below) not in known_cycles:
                visit(below, (*above, name))
        done.add(name)

    for name in MAY_IMPORT:
        visit(name, ())


#: Libraries, and the only modules and packages that may import them. Each has one place, and the
#: agent must not load most of them.
ONLY_IN = {
    "_socket": {"service"},
    "socket": {"top.daemon_page", "web"},
    "ssl": {"web"},
    "subprocess": set(),
    "psutil": {"linux.mysql.mysqld_processes"},
    "prometheus_client": {"metrics.client_library", "metrics.own_collector"},
    "argparse": {
        "cli",
        "command_help",
        *(f"commands.{name}" for name in ("common", "registry")),
        *(f"commands.{listed.module}" for listed in COMMANDS.values()),
    },
    "pySMART": {"smart"},
    "sqlite3": {"wear.wear_database", "wear.wear_tables"},
    "threading": {
        "collector_status",
        "daemon",
        "live_pages",
        "io",
        "metrics.page",
        "probe",
        "smart",
        "state",
        "threads",
        "wear",
        "web",
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
        *("collector_status", "metrics.exposition", "threads"),
        *("web.dispatcher", "web.event_loop", "web.server"),
    }


def test_no_module_has_more_than_400_lines() -> None:
    long = {m: path.read_text().count("\n") for m, path in MODULES.items()}
    assert {} == {module: lines for module, lines in long.items() if lines > 400}
