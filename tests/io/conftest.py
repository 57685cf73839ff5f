"""A fixture: a machine with one idle disk and one idle CPU."""

from pathlib import Path

import pytest

from tests.io.machine import ALL_IDLE, Machine
from tests.io.records import NEW


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.disks(NEW)
    machine.cpus(ALL_IDLE)
    machine.waiting(0)
    return machine
