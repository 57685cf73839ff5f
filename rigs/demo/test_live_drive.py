"""The drives of the demo advance without a sampler."""

from collections.abc import Callable

import pytest

from rigs.demo import live_drive
from rigs.demo.live_drive import CALM_SECONDS, STEP_SECONDS, LiveDrive, Workload


@pytest.mark.parametrize("workload", [live_drive.light, live_drive.full, live_drive.restores])
def test_the_counters_of_a_drive_increase_with_each_second(
    workload: Callable[[LiveDrive], Workload],
) -> None:
    drive = LiveDrive("nvme0n1", live_drive.nvme("nvme0n1"), workload)
    before = 0
    for _ in range(3 + round(CALM_SECONDS)):
        for _ in range(round(1 / STEP_SECONDS)):
            drive.step()
        completed = sum(int(drive.line().split()[column]) for column in (3, 7))
        assert completed > before
        before = completed
