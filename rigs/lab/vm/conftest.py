"""Fixtures: one virtual machine for all tests, with ssd-exporter from `make deb`."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, newest_package
from rigs.lab.vm.machine import Machine
from tests.end_to_end.programs import need

_PACKAGE = "ssd-exporter.deb"

#: Timeout of the first test, which includes the build: 70 s on an idle runner.
_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="package")
def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    """A machine with all kinds of drives and both units running.

    It ends with the tests of this folder: an idle one takes two thirds of a core.
    """
    began = time.monotonic()
    need("qemu-system-x86_64", "mmdebstrap", "busybox", "depmod", "mke2fs", "promtool")
    share = tmp_path_factory.mktemp("share")
    shutil.copyfile(newest_package(), share / _PACKAGE)
    with Machine(tmp_path_factory.mktemp("vm"), share) as machine:
        found = Host(machine)
        for serial in drives.SOFT:
            found.set(serial)
        machine.output("systemctl", "start", "lab-nvme.service")
        booted = time.monotonic()
        found.install(_PACKAGE)
        ready = f"{booted - began:.1f} s, installed: {time.monotonic() - booted:.1f} s"
        capture = request.config.pluginmanager.getplugin("capturemanager")
        assert capture is not None
        with capture.global_and_fixture_disabled():
            print(f"\nthe virtual machine made and booted: {ready}")
        yield found


@pytest.fixture(autouse=True)
def _timed(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Prints the duration of each test without its setup."""
    request.getfixturevalue("host")
    began = time.monotonic()
    yield
    with capsys.disabled():
        print(f"\n{request.node.name}: {time.monotonic() - began:.1f} s")
