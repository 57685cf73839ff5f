"""The counters in /proc/diskstats match the limits, and the rig cleans up."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.required import lacking
from tests.rig.cgroup import RigUnavailable
from tests.rig.load import Job, load
from tests.rig.slow_disk import SlowDisk

pytest_plugins = ("tests.rig.fixtures",)
pytestmark = pytest.mark.real

SHM = Path("/dev/shm")
GROUPS = (Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup"))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of /proc/diskstats: times in milliseconds, sectors of 512 bytes (iostats.rst)."""

    reads: int
    writes: int
    write_sectors: int
    ticks: int
    in_flight: int
    io_ticks: int

    @property
    def completed(self) -> int:
        return self.reads + self.writes


def row(device: str) -> Row:
    for line in Path("/proc/diskstats").read_text().splitlines():
        _, _, name, *fields = line.split()
        if name == device:
            n = [int(field) for field in fields]
            return Row(n[0], n[4], n[6], n[3] + n[7], n[8], n[9])
    raise AssertionError(f"{device} has no row")


@dataclass(frozen=True, slots=True)
class Span:
    """Counters of a device over an interval."""

    seconds: float
    completed: int
    await_seconds: float
    queue: float
    busy_ratio: float


def watch(device: str, seconds: float) -> Span:
    start, before = time.monotonic(), row(device)
    time.sleep(seconds)
    end, after = time.monotonic(), row(device)
    ticks, completed = after.ticks - before.ticks, after.completed - before.completed
    return Span(
        seconds=end - start,
        completed=completed,
        await_seconds=ticks / 1e3 / completed,
        queue=ticks / 1e3 / (end - start),
        busy_ratio=(after.io_ticks - before.io_ticks) / 1e3 / (end - start),
    )


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not (holds := true()) and time.monotonic() < until:
        time.sleep(0.05)
    return holds


def traces_of_rigs() -> set[str]:
    """Files, mounts, loop devices and control groups of rigs of this process."""
    name = f"ssd-rig-{os.getpid()}-"
    found = {str(path) for parent in (SHM, *GROUPS) for path in parent.glob(f"{name}*")}
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    return found | {text for text in (*mounts, *backing) if name in text}


def test_a_throttled_disk_is_busy_with_a_deep_queue_and_a_long_await(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(write_iops=400)
    with load(slow_disk, Job(depth=32)):
        time.sleep(0.5)
        span = watch(slow_disk.device, 3)

    assert pytest.approx(400 * span.seconds, rel=0.15) == span.completed
    assert pytest.approx(32 / 400, rel=0.15) == span.await_seconds
    assert pytest.approx(32, rel=0.1) == span.queue
    assert pytest.approx(1, abs=0.03) == span.busy_ratio


def test_an_unlimited_disk_is_fast(slow_disk: SlowDisk) -> None:
    with load(slow_disk, Job(depth=4, rate_iops=400)):
        time.sleep(0.5)
        span = watch(slow_disk.device, 2)

    assert pytest.approx(400 * span.seconds, rel=0.15) == span.completed
    assert span.await_seconds < 0.01
    assert span.queue < 1


def test_a_disk_is_fast_within_a_second_after_its_limit_is_removed(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(write_iops=200)
    with load(slow_disk, Job(depth=16, rate_iops=1000)):
        time.sleep(1)
        slow = watch(slow_disk.device, 1)
        slow_disk.free()
        time.sleep(1)
        fast = watch(slow_disk.device, 1)

    assert slow.await_seconds > 0.05
    assert fast.await_seconds < 0.01


def test_reads_are_throttled_by_bytes_as_well(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(read_bps=4_000_000)
    with load(slow_disk, Job(pattern="randread", depth=8)):
        time.sleep(0.5)
        span = watch(slow_disk.device, 2)

    assert pytest.approx(4_000_000 / 16384 * span.seconds, rel=0.15) == span.completed
    assert pytest.approx(8, rel=0.1) == span.queue


def test_a_frozen_disk_completes_nothing_with_all_requests_in_flight(
    slow_disk: SlowDisk,
) -> None:
    slow_disk.throttle(write_iops=400)
    with load(slow_disk, Job(depth=31), Job(engine="psync", depth=1)):
        time.sleep(0.5)
        slow_disk.freeze()
        time.sleep(0.3)
        before = row(slow_disk.device)
        time.sleep(2)
        after = row(slow_disk.device)
        slow_disk.thaw()
        time.sleep(0.5)
        thawed = watch(slow_disk.device, 1)

    assert before.completed == after.completed
    assert before.ticks == after.ticks
    assert after.in_flight == 32
    assert pytest.approx(2000, rel=0.05) == after.io_ticks - before.io_ticks
    assert pytest.approx(400, rel=0.15) == thawed.completed


def test_waiting_threads_raise_io_pressure(slow_disk: SlowDisk) -> None:
    """Uses psync, because waiting for libaio completions does not count as pressure."""
    pressure = Path("/proc/pressure/io")
    try:
        pressure.read_text()
    except OSError as e:
        lacking(f"this kernel has no pressure figures: {e}")
    slow_disk.throttle(write_iops=100)
    with load(slow_disk, Job(engine="psync", depth=8)):
        time.sleep(0.5)
        before = pressure.read_text()
        time.sleep(2)
        after = pressure.read_text()

    some = [int(text.split()[4].removeprefix("total=")) for text in (before, after)]
    assert (some[1] - some[0]) / 2e6 > 0.2


def test_a_load_ends_at_its_byte_limit(slow_disk: SlowDisk) -> None:
    before = row(slow_disk.device)
    jobs = (Job(depth=4), Job(engine="psync", depth=3))
    with load(slow_disk, *jobs, largest_bytes=8 << 20) as fio:
        assert fio.wait(20) == 0

    written = (row(slow_disk.device).write_sectors - before.write_sectors) * 512
    assert (8 << 20) * 0.9 < written <= 8 << 20


def test_a_failed_load_reports_the_output_of_fio(slow_disk: SlowDisk) -> None:
    with pytest.raises(RuntimeError, match="fio on /dev/loop"), load(slow_disk, Job(block_bytes=1)):
        pass


def fail_while_frozen() -> None:
    with SlowDisk(SHM) as disk, load(disk, Job(depth=4)):
        disk.freeze()
        raise ZeroDivisionError


@pytest.mark.usefixtures("slow_disk")
def test_the_rig_cleans_up_after_a_failing_test_with_frozen_load() -> None:
    before = traces_of_rigs()
    with pytest.raises(ZeroDivisionError):
        fail_while_frozen()

    assert before == traces_of_rigs()


HOLD = """
import sys, time
from pathlib import Path
from tests.rig.load import Job, load
from tests.rig.slow_disk import SlowDisk
with SlowDisk(Path("/dev/shm")) as disk, load(disk, Job(depth=4), seconds=20) as fio:
    disk.freeze()
    print(disk.device, disk.cgroup.path, fio.pid, flush=True)
    time.sleep(60)
"""


@contextmanager
def session() -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Another process that holds a rig under load."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout is not None
        try:
            yield held, held.stdout
        finally:
            held.kill()


@pytest.mark.usefixtures("slow_disk")
def test_a_terminated_session_cleans_up() -> None:
    with session() as (held, said):
        device, group, fio = said.readline().split()
        held.send_signal(signal.SIGTERM)
        held.wait(20)

    assert not Path("/sys/block", device, "loop").exists()
    assert not Path(group).exists()
    assert not Path("/proc", fio).exists()


@pytest.mark.usefixtures("slow_disk")
def test_the_next_rig_cleans_up_after_a_killed_session() -> None:
    with session() as (held, said):
        device, group, fio = said.readline().split()
        held.kill()
        held.wait(20)
    os.kill(int(fio), signal.SIGKILL)

    def swept() -> bool:
        with SlowDisk(SHM):
            return not Path(group).exists()

    assert eventually(swept)
    assert eventually(lambda: not Path("/sys/block", device, "loop").exists())


@pytest.mark.usefixtures("slow_disk")
def test_a_device_larger_than_memory_is_rejected_with_the_reason() -> None:
    before = traces_of_rigs()
    with pytest.raises(RigUnavailable, match="bytes free"), SlowDisk(SHM, 1 << 60):
        pass
    assert before == traces_of_rigs()


@pytest.mark.usefixtures("slow_disk")
def test_a_rig_without_root_reports_the_reason() -> None:
    asked = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", HOLD],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "RigUnavailable: loop devices and control groups need root" in asked.stderr
