"""Tests of `metrics.client_library`: only the required parts of prometheus_client are loaded."""

import subprocess
import sys

_HEAVY = ("ssl", "_hashlib", "http.server", "urllib.request", "html.entities", "prometheus_client")


def _printed(program: str) -> str:
    argv = [sys.executable, "-c", program]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_the_daemon_does_not_import_optional_libraries() -> None:
    program = (
        "import sys, exporter.daemon, exporter.smart.health_monitor;"
        f"print([name for name in {_HEAVY!r} if name in sys.modules])"
    )
    assert _printed(program) == "[]"


def test_a_later_import_of_prometheus_client_is_complete() -> None:
    program = (
        "import exporter.metrics.client_library, prometheus_client;"
        "print(prometheus_client.generate_latest(prometheus_client.CollectorRegistry()))"
    )
    assert _printed(program) == "b''"


def test_an_imported_prometheus_client_is_used() -> None:
    program = (
        "import prometheus_client, exporter.metrics.client_library;"
        "from exporter.metrics.client_library import ProcessCollector;"
        "print(prometheus_client.ProcessCollector is ProcessCollector)"
    )
    assert _printed(program) == "True"
