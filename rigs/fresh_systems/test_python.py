"""The Python of each system installs the exporter by pip, starts it, and passes `make quick`."""

import json
from collections.abc import Iterator

import pytest

from exporter.smart.drive_problems import Status
from rigs.fresh_systems.systems import DEVELOPERS
from rigs.lab.reader import HOME, host, typed
from tests.systemd.machine import Machine

_COMMAND = f"{HOME}/env/bin/ssd-exporter"
_STATE = f"--state.directory={HOME}/state"
#: For `make quick` on a busy machine.
_SECONDS = 1800.0


@pytest.fixture(scope="module", params=DEVELOPERS, ids=lambda system: system.name)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    with host(10177, request.param.root()) as made:
        yield made


def test_pip_installs_an_exporter_that_starts(machine: Machine) -> None:
    found = "import platform; print(platform.python_version())"
    expected = typed(machine, f'python3 -c "{found}"')[0].strip()
    print(f"\nPython {expected}")
    typed(machine, "mkdir ~/state && python3 -m venv ~/env && ~/env/bin/pip install --quiet .")
    machine.run("systemd-run", "--unit=installed", "--uid=person", _COMMAND, _STATE)
    build = 'ssd_exporter_build_info{version="'
    machine.await_("a page", lambda: build in machine.page())
    # The drives of this machine are virtual, or a container cannot reach them.
    said, _ = typed(machine, f"cd / && {_COMMAND} check --json {_STATE}", Status.UNKNOWN)
    assert "drives" in json.loads(said)
    machine.systemctl("stop", "installed")
    assert "Traceback" not in machine.journal("installed")


def test_the_quick_tests_pass(machine: Machine) -> None:
    # Some tests ask git for the files of the project.
    name = "git -c user.name=test -c user.email=test@example.org"
    typed(machine, f"git init --quiet && git add --all && {name} commit --quiet --message=test")
    said, seconds = typed(machine, "make quick", timeout=_SECONDS)
    print(f"\n{said.splitlines()[-1]}, {seconds:.0f} s with make")
