"""How collectors are found: a collector is a module, and needs no line in the monitor."""

import subprocess
import sys
from pathlib import Path

from exporter import metrics
from exporter.config.settings import COLLECTORS

#: The samples about the exporter itself, which cannot be disabled.
_ALWAYS = "own"


def test_each_module_is_a_collector_with_a_setting() -> None:
    modules = {path.stem for path in Path(metrics.__path__[0]).glob("*_collector.py")}
    assert {f"{name}_collector" for name in (*COLLECTORS, _ALWAYS)} == modules


def test_the_module_of_a_disabled_collector_is_not_imported() -> None:
    program = """
import sys
from types import SimpleNamespace
from exporter.metrics import collectors
loaded = collectors.load(SimpleNamespace(health=None), ["softnet", "smart"])
print(*loaded, *sorted(name for name in sys.modules if name.endswith("_collector")))
"""
    argv = [sys.executable, "-c", program]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert "softnet exporter.metrics.smart_collector exporter.metrics.softnet_collector" == (
        printed.strip()
    ), "without SMART data, smart collects nothing"
