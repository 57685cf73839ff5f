"""Imports point one way, and only the daemon knows all."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "exporter"

#: A module or package of exporter, and what of exporter it may import; a package covers its
#: modules, and each may import its own. What is not listed here fails the test below.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "clock": set(),
    "logs": set(),
    "notify": set(),
    "linux": {"errors"},
    "tools": {"clock", "drives", "errors"},
    "drives": {"errors"},
    "diagnosis": {"errors", "linux.diskstats", "linux.stat"},
    "metrics": {"prometheus"},
    "toml_records": {"errors"},
    "attempts": {"clock", "errors", "linux.files"},
    "config": {
        *("background.disk_activity", "diagnosis.drive", "diagnosis.probe_gate"),
        "tools.fio_settings",
    },
    "background": {
        *("attempts", "clock", "config", "diagnosis", "drives", "errors", "linux", "metrics"),
        "tools",
    },
    "collectors": {
        *("attempts", "background", "diagnosis", "drives", "errors", "linux", "metrics"),
        *("tools.fio_report", "tools.outcome"),
    },
    "prometheus": set(),
    "exposition": {"metrics.desc", "prometheus"},
    "scrape": {"exposition", "metrics.desc"},
    "web": {"", "errors", "scrape"},
    "check": {
        *("background.addressing", "background.probe_ledger", "config", "errors", "web.address"),
        "diagnosis.probe_gate",
        *("tools.fio_profiles", "tools.fio_settings", "tools.smartctl"),
    },
    "polling_plan": {"background", "config"},
    # The half with rights: nothing that knows a network, and nothing that is not Python's own.
    "handover": {"background.discovery", "background.polling"},
    "agent": {
        *("background.documents", "background.polling", "clock", "handover"),
        *("logs", "notify", "tools"),
    },
    "report": {"errors"},
    "commands": {
        *("", "background", "clock", "config", "diagnosis", "drives", "errors", "linux"),
        *("polling_plan", "report", "tools"),
    },
    "measurements": {
        *("background", "clock", "commands", "config", "errors", "linux.files", "tools"),
    },
    "subcommands": {
        "agent",
        "background",
        "clock",
        "commands",
        "config",
        "errors",
        "measurements",
        "polling_plan",
        "tools",
        "linux.files",
    },
    "health_monitor": {
        *("attempts", "background", "clock", "collectors", "config", "diagnosis.wearout", "linux"),
        "metrics.desc",
        *("polling_plan", "tools"),
    },
    "probe_monitor": {
        *("attempts", "background", "clock", "collectors", "config", "drives", "linux"),
        *("metrics.desc", "polling_plan", "tools"),
    },
    "overview": {"background", "collectors", "drives", "linux"},
    "monitor": {
        *(
            "",
            "attempts",
            "health_monitor",
            "probe_monitor",
            "overview",
            "prometheus",
            "background",
            "check",
            "clock",
            "collectors",
            "config",
            "linux",
        ),
        *("metrics.desc", "polling_plan", "tools"),
    },
    "daemon": {
        *("", "background", "clock", "config", "errors", "exposition", "logs", "monitor"),
        *("notify", "scrape", "signals", "tools", "web"),
    },
    "signals": {"background.wake"},
    "allocator": set(),
    "cli": {
        "",
        "allocator",
        "check",
        "config",
        "daemon",
        "errors",
        "logs",
        "subcommands",
        "toml_records",
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
    """config and background lean on each other's records, and on nothing of each other's work."""
    known_circle = {("background", "config"), ("config", "background")}
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
    "socket": {"notify", "web"},
    "ssl": {"web"},
    "subprocess": {"tools.command"},
    "psutil": {"linux.mysqld"},
    "prometheus_client": {"collectors.own", "prometheus"},
    "argparse": {"cli", "measurements", "subcommands"},
    "pySMART": {"tools"},
    "sqlite3": {"background.history_file", "background.history_tables"},
    "threading": {"attempts", "background", "daemon", "scrape", "web"},
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
    assert catching <= {"background.pace", "web.answering", "web.loop"}


def test_no_module_is_longer_than_a_reader_holds() -> None:
    long = {m: path.read_text().count("\n") for m, path in MODULES.items()}
    assert {} == {module: lines for module, lines in long.items() if lines > 400}
