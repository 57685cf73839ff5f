"""Fixtures: one booted machine for all tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.required import lacking
from tests.systemd.machine import Machine, Unavailable, booted
from tests.systemd.units import BOTH, await_drive

#: Restart delay of 0.1 s instead of 5 s, to shorten the tests.
SOON = "[Service]\nRestartSec=100ms\n"


@pytest.fixture(scope="package")
def shared() -> Iterator[Machine]:
    # The directory that is most likely on a disk, also in a container.
    with tempfile.TemporaryDirectory(prefix="ssd-machine-", dir="/var/tmp") as disk:
        yield from _shared(Path(disk))


def _shared(disk: Path) -> Iterator[Machine]:
    try:
        with booted(disk=disk) as machine:
            for unit in BOTH:
                machine.write(f"/run/systemd/system/{unit}.service.d/soon.conf", SOON)
            machine.systemctl("daemon-reload")
            await_drive(machine)
            yield machine
    except Unavailable as e:
        lacking(str(e))


@pytest.fixture
def machine(shared: Machine) -> Machine:
    """The machine with both units running."""
    shared.systemctl("reset-failed")
    shared.systemctl("start", *BOTH)
    return shared
