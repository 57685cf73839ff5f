"""The daemon and fio on a real disk that is slow or hangs."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page
from tests.rig.load import Job, load
from tests.rig.slow_disk import SlowDisk

pytest_plugins = ("tests.rig.fixtures",)
pytestmark = [pytest.mark.real, pytest.mark.xdist_group("disk")]

WRITE_IOPS = 400

#: libaio fills the queue. The threads of psync wait for I/O, which the kernel counts as pressure.
DEMAND = (Job(depth=16), Job(engine="psync", depth=16))
IN_FLIGHT = 32


class Growth:
    """Returns the increase of a device's counters between two pages."""

    def __init__(self, device: str, before: Page, after: Page) -> None:
        self._device, self._before, self._after = device, before, after
        self.seconds = self.of("ssd_disk_busy_ratio_count")

    def of(self, name: str, **labels: str) -> float:
        labels = {"device": self._device, **labels}
        return self._after.value(name, **labels) - self._before.value(name, **labels)

    def seconds_above(self, busy_ratio: str) -> float:
        return self.seconds - self.of("ssd_disk_busy_ratio_bucket", le=busy_ratio)

    def mean(self, histogram: str) -> float:
        return self.of(f"{histogram}_sum") / self.of(f"{histogram}_count")


def only(disk: SlowDisk) -> str:
    return f"--collector.disk.device-include=^{disk.device}$"


def iowait_seconds() -> float:
    """Returns the kernel's counter in /proc/stat."""
    first = Path("/proc/stat").read_text().splitlines()[0]
    return int(first.split()[5]) / 100


def test_all_metrics_show_a_slow_disk_and_return_to_normal_afterwards(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    device = slow_disk.device
    with Daemon(tmp_path, only(slow_disk)) as daemon:
        calm = daemon.next_page()
        assert ["none"] == calm.verdict(device)
        slow_disk.throttle(write_iops=WRITE_IOPS)
        with load(slow_disk, *DEMAND):
            begun, iowait_begun = daemon.next_page(2), iowait_seconds()
            slow, iowait_slow = daemon.next_page(7), iowait_seconds()
        slow_disk.free()
        freed = daemon.next_page(2)
        rested = daemon.next_page(3)
        while rested.verdict(device) != ["none"]:
            rested = daemon.next_page()

    grown = Growth(device, begun, slow)
    assert pytest.approx(7, abs=0.5) == grown.seconds
    assert pytest.approx(WRITE_IOPS * 7, rel=0.15) == grown.of("ssd_disk_writes_completed_total")
    assert pytest.approx(7, abs=1) == grown.seconds_above("0.95")
    assert pytest.approx(IN_FLIGHT, rel=0.1) == grown.mean("ssd_disk_queue_depth")
    await_seconds = IN_FLIGHT / WRITE_IOPS
    assert pytest.approx(await_seconds, rel=0.15) == grown.mean("ssd_disk_write_await_seconds")
    assert pytest.approx(7, abs=1) == grown.of("ssd_disk_saturated_seconds_total")
    assert 0 == grown.of("ssd_disk_stalled_seconds_total")
    assert IN_FLIGHT == slow.value("ssd_disk_io_now", device=device)
    assert ["device"] == slow.verdict(device)
    waited = "ssd_pressure_io_waiting_seconds_total"
    assert slow.value(waited) - begun.value(waited) > 0.1 * 7
    # Compared with the kernel's value, because iowait depends on other work: the kernel counts it
    # only on an idle CPU.
    iowait = [page.value("ssd_cpu_seconds_total", mode="iowait") for page in (begun, slow)]
    assert pytest.approx(iowait_slow - iowait_begun, abs=0.5) == iowait[1] - iowait[0]

    after = Growth(device, freed, rested)
    assert pytest.approx(0, abs=1e-6) == after.seconds_above("0.05")
    assert 0 == after.of("ssd_disk_queue_depth_sum")
    assert 0 == after.of("ssd_disk_write_await_seconds_count")
    assert 0 == after.of("ssd_disk_saturated_seconds_total")
    assert 0 == rested.value("ssd_disk_io_now", device=device)
    assert rested.value("ssd_disk_busy_ratio_max", device=device) > 0.99
    worst = rested.value("ssd_disk_queue_depth_max", device=device)
    assert pytest.approx(IN_FLIGHT, rel=0.1) == worst


def test_a_hang_of_four_seconds_counts_four_stalled_and_busy_seconds(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    """The hang starts before one sample and ends after another, four seconds later.

    A second daemon with ten samples per second measures the length of the hang itself.
    """
    device, margin = slow_disk.device, 0.25
    with ExitStack() as stack:
        daemon = stack.enter_context(Daemon(tmp_path / "1", only(slow_disk)))
        often = stack.enter_context(
            Daemon(tmp_path / "2", only(slow_disk), config="sampler.interval_seconds = 0.1")
        )
        stack.enter_context(load(slow_disk, Job(engine="psync", depth=8, rate_iops=50)))
        calm = daemon.next_page(3), often.page()
        time.sleep(1 - margin)
        slow_disk.freeze()
        frozen_at = time.monotonic()
        hanging = daemon.next_page(5)
        time.sleep(margin)
        slow_disk.thaw()
        hung_seconds = time.monotonic() - frozen_at
        over = daemon.next_page(2), often.page()

    assert 8 == hanging.value("ssd_disk_io_now", device=device)
    by_second, by_tenth = (
        Growth(device, before, after) for before, after in zip(calm, over, strict=True)
    )
    assert pytest.approx(4, abs=0.1) == by_second.of("ssd_disk_stalled_seconds_total")
    assert 4 <= by_second.seconds_above("0.95") + 0.1
    assert by_second.of("ssd_disk_queue_depth_sum") > 4 * 8
    stalled = by_tenth.of("ssd_disk_stalled_seconds_total")
    assert pytest.approx(hung_seconds, abs=0.4) == stalled
    assert by_tenth.of("ssd_disk_busy_ratio_sum") >= stalled - 0.1
    # Buckets are printed in whole seconds.
    assert by_tenth.seconds_above("0.95") > stalled - 1
