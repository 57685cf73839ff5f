"""From the README to alerts in Prometheus on a minimal Debian host, by copying commands only."""

import json
from collections.abc import Iterator

import pytest

from exporter.smart.drive_problems import Status
from rigs.lab.reader import commands, host, typed
from tests.systemd.machine import Machine

_PROMETHEUS = "http://127.0.0.1:9090"


@pytest.fixture
def machine() -> Iterator[Machine]:
    with host(9090) as made:
        yield made


def asked(machine: Machine, path: str) -> dict[str, list[dict[str, object]]]:
    """The data of an answer of Prometheus."""
    found: dict[str, list[dict[str, object]]] = json.loads(
        typed(machine, f"curl --silent --fail {_PROMETHEUS}/api/v1/{path}")[0]
    )["data"]
    return found


def test_the_commands_of_the_readme_lead_to_alerts_in_prometheus(machine: Machine) -> None:
    install, check = commands("Install")
    typed(machine, install)
    # The drives of this machine are virtual, or a container cannot reach them.
    typed(machine, check, Status.UNKNOWN)
    *configure, query = commands("Alerts in Prometheus")
    for line in configure:
        typed(machine, line)

    def answers() -> bool:
        # While Prometheus starts, it answers that it is not available yet.
        return "=> 1" in typed(machine, f"{query} || true")[0]

    machine.await_("Prometheus has scraped the exporter", answers)
    groups = asked(machine, "rules?type=alert")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]  # type: ignore[attr-defined]
    assert {"SSDWearoutSoon", "SSDDiskStalled"} <= {rule["name"] for rule in rules}
    assert {"ok"} >= {rule["health"] for rule in rules} - {"unknown"}, "not evaluated yet"
