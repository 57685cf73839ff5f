"""Runs the install commands of the README on a minimal Debian host."""

import re
from collections.abc import Iterator

import pytest

from exporter.smart.drive_problems import Status
from rigs.lab.reader import commands, host, typed
from tests.systemd.machine import Machine

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

UNITS = ("ssd-exporter", "ssd-smart-agent")


@pytest.fixture
def machine() -> Iterator[Machine]:
    with host(10177) as made:
        yield made


def test_the_commands_of_the_readme_start_the_exporter(machine: Machine) -> None:
    install, check = commands("Install")
    installed, install_seconds = typed(machine, install)
    # The drives of this machine are virtual, or a container cannot reach them.
    checked, _ = typed(machine, check, Status.UNKNOWN)
    page, page_seconds = typed(machine, "curl --silent http://127.0.0.1:10177/metrics")

    print(f"\n$ {install}\n{installed}\n$ {check}\n{checked}")
    print(f"from make to page {install_seconds + page_seconds:.1f} s")
    assert checked.startswith("SSD UNKNOWN - "), checked
    assert re.search(r'^ssd_io_bottleneck\{.*cause="none".*\} [01]', page, re.MULTILINE), page
    assert {"active"} == {machine.show(f"{unit}.service", "ActiveState") for unit in UNITS}
    assert {"enabled"} == {machine.show(f"{unit}.service", "UnitFileState") for unit in UNITS}
