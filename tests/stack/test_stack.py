"""`make stack`: three programs work together and leave nothing behind."""

import glob
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from stack.configuration import configuration
from tests.alerts.rules import ALERTS, RULE_FILES, alerts
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.programs import need
from tests.ports import free_ports
from tests.processes import run_program

ROOT = Path(__file__).parents[2]
EXAMPLE = (ALERTS / "examples" / "prometheus.yml").read_text()


def command(directory: Path, ports: list[int]) -> list[str]:
    names = ("exporter", "prometheus", "alertmanager", "notifications")
    (more,) = free_ports(1)
    flags = [f"--{name}={port}" for name, port in zip(names, [*ports, more], strict=True)]
    return [sys.executable, "-m", "stack", f"--directory={directory}", *flags]


@contextmanager
def stack(directory: Path, ports: list[int]) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Runs the stack; yields the process and its output."""
    argv = command(directory, ports)
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = ""
        try:
            for line in process.stdout:
                output += line
                if "provisioning/ssd.yml" in line:
                    break
            yield process, output
        finally:
            process.send_signal(signal.SIGTERM)


def asked(port: int, path: str) -> Any:
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_SECONDS
    ) as answer:
        return json.load(answer)


def post_alert(port: int) -> None:
    """Sends a critical alert to Alertmanager."""
    labels = {"alertname": "SSDTest", "severity": "critical", "instance": "db1", "device": "sda"}
    alert = {"labels": labels, "annotations": {"summary": "A test."}}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v2/alerts",
        json.dumps([alert]).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()


def eventually(what: Any, seconds: float = PATIENCE_SECONDS) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.2)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) != 0


def test_the_configuration_loads_the_rules_and_scrapes_the_exporter() -> None:
    text = configuration(EXAMPLE, ALERTS, "127.0.0.1:1", "127.0.0.1:2")
    (pattern,) = yaml.safe_load(text)["rule_files"]
    assert {str(path) for path in RULE_FILES} == set(glob.glob(pattern))
    assert "job_name: ssd" in text
    assert "127.0.0.1:1" in text
    assert "127.0.0.1:2" in text


@pytest.mark.real
def test_the_programs_work_together_and_stop_together(
    tmp_path: Path,
) -> None:
    need("prometheus", "prometheus-alertmanager")
    ports = free_ports(3)
    exporter, prometheus, alertmanager = ports
    with stack(tmp_path / "data", ports) as (process, output):
        assert all(f"127.0.0.1:{port}" in output for port in ports)

        def targets() -> list[str]:
            found = asked(prometheus, "/api/v1/targets")["data"]["activeTargets"]
            return [each["health"] for each in found if str(exporter) in each["scrapeUrl"]]

        assert eventually(lambda: targets() == ["up"])
        groups = asked(prometheus, "/api/v1/rules?type=alert")["data"]["groups"]
        loaded = {rule["name"] for group in groups for rule in group["rules"]}
        assert {alert.name for alert in alerts()} == loaded

        def managers() -> list[str]:
            found = asked(prometheus, "/api/v1/alertmanagers")["data"]["activeAlertmanagers"]
            return [each["url"] for each in found]

        assert eventually(managers)
        assert [f"http://127.0.0.1:{alertmanager}/api/v2/alerts"] == managers()
        route = asked(alertmanager, "/api/v2/status")["config"]["original"]
        assert 'severity="critical"' in route
        status = urllib.request.urlopen(f"http://127.0.0.1:{exporter}/", timeout=PATIENCE_SECONDS)
        assert 200 == status.status
        post_alert(alertmanager)
        assert process.stdout is not None
        # The exporter monitors this host, whose own alerts may fire, too.
        notification = next(
            line for line in process.stdout if line.startswith("[") and "SSDTest" in line
        )
        assert "[pager] FIRING SSDTest db1 sda: A test.\n" == notification
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(PATIENCE_SECONDS)
    assert all(map(is_free, ports))


@pytest.mark.real
def test_programs_stop_if_the_stack_is_killed(tmp_path: Path) -> None:
    need("prometheus", "prometheus-alertmanager", "setpriv")
    ports = free_ports(3)
    with stack(tmp_path / "data", ports) as (process, _):
        process.kill()
        process.wait(PATIENCE_SECONDS)
        assert eventually(lambda: all(map(is_free, ports)))


@pytest.mark.real
def test_a_used_port_is_reported_in_one_line(tmp_path: Path) -> None:
    need("prometheus", "prometheus-alertmanager")
    ports = free_ports(3)
    with socket.create_server(("127.0.0.1", ports[1])):
        argv = command(tmp_path / "data", ports)
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 2 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert f"prometheus cannot listen on 127.0.0.1:{ports[1]}" in done.stderr
    assert "--prometheus=PORT" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_missing_program_is_reported_with_its_package(tmp_path: Path) -> None:
    argv = command(tmp_path / "data", free_ports(3))
    done = run_program(argv, cwd=ROOT, env={**os.environ, "PATH": str(tmp_path)})
    assert 2 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert "apt-get install prometheus-alertmanager" in done.stderr


@pytest.mark.real
def test_a_failing_program_stops_the_stack_and_its_error_is_reported(tmp_path: Path) -> None:
    """The failure is a data directory that Prometheus cannot use."""
    need("prometheus", "prometheus-alertmanager")
    ports = free_ports(3)
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "prometheus").write_text("in its way")
    argv = command(directory, ports)
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 1 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert done.stderr.startswith("stack: prometheus ended with ")
    assert "Unable to create mmap-ed active query log" in done.stderr
    assert all(map(is_free, ports))
