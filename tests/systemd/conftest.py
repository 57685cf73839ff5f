"""One machine for all tests: it boots in a second, and what it starts takes as long."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.required import lacking
from tests.systemd.machine import Machine, Unavailable, booted
from tests.systemd.units import BOTH, await_drive

#: What restarts waits a tenth of a second for it, lest the tests wait five.
SOON = "[Service]\nRestartSec=100ms\n"


@pytest.fixture(scope="package")
def shared() -> Iterator[Machine]:
    # Of all directories the one that most likely lies on a disk, in a container too.
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
    """With both units running, whatever the test before has done to them."""
    shared.systemctl("reset-failed")
    shared.systemctl("start", *BOTH)
    return shared
