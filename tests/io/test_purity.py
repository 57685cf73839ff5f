"""Tests that the judging modules of `io` are pure: values in, values out."""

import ast
from pathlib import Path

import pytest

from exporter import io

#: See `exporter/io/__init__.py`.
PURE = (
    "interval",
    *("hangs/partial_hang", "hangs/single_hang", "hangs/stall_counter"),
    "verdict",
    "write_falloff",
    "falloff_load",
    "falloff_tracker",
    "slowdown",
    "drive",
    "block_completions",
    "volume_models",
    "throttling",
    "services",
)

#: Modules that a pure module may import from the standard library and from the exporter. Those of
#: `linux` and `drives` are used for their records and constants only.
ALLOWED = {
    *("collections", "collections.abc", "dataclasses", "enum", "itertools", "math", "operator"),
    "typing",
    "array",
    *(f"exporter.io.{name.replace('/', '.')}" for name in PURE),
    *("exporter.config.disk_rules", "exporter.config.drive_class"),
    *("exporter.drives.health", "exporter.linux.diskstats", "exporter.linux.links"),
    "exporter.linux.proc_stat",
    "exporter.linux.device_identity",
    "exporter.runtime.errors",
    "exporter.linux.files",
    "exporter.linux.pressure",
    "exporter.linux.softirqs",
    "exporter.linux.cgroup",
}

#: Names from these modules that read files.
READERS = {"read", "parse", "decode"}


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_uses_no_files_no_clock_and_no_logs(name: str) -> None:
    tree = ast.parse((Path(io.__path__[0]) / f"{name}.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    plain = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert set() == ({node.module for node in imports} | plain) - ALLOWED
    assert set() == {alias.name for node in imports for alias in node.names} & READERS
    assert set() == {
        call.func.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    } & {"open", "print"}
