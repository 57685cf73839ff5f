"""The counters in /proc/diskstats match the limits, and the rig cleans up."""

import math
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

from exporter.linux.files import read_attribute
from rigs.devices.cgroup import RigUnavailable
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.required import lacking

pytest_plugins = ("rigs.devices.fixtures",)
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
    """Counters of a device over an interval. await_seconds is NaN if no request completed."""

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
        await_seconds=ticks / 1e3 / completed if completed else math.nan,
        queue=ticks / 1e3 / (end - start),
        busy_ratio=(after.io_ticks - before.io_ticks) / 1e3 / (end - start),
    )


def wait_for(device: str, seconds: float, *conditions: Callable[[Span], bool]) -> None:
    """Waits for an interval in which all conditions are true.

    Other work can keep fio, or the kernel's thread of the loop device, from the CPU for longer than
    a request takes. An interval in which this happens says nothing about the rig.
    """
    spans: list[Span] = []

    def found() -> bool:
        spans.append(watch(device, seconds))
        return all(condition(spans[-1]) for condition in conditions)

    try:
        wait_until(found)
    except AssertionError:
        pytest.fail(f"in no interval of {device} is the load as expected; the last is {spans[-1]}")


def rate(iops: float) -> Callable[[Span], bool]:
    return lambda span: bool(span.completed == pytest.approx(iops * span.seconds, rel=0.15))


def queue(requests: float) -> Callable[[Span], bool]:
    return lambda span: bool(span.queue == pytest.approx(requests, rel=0.1))


def awaits(seconds: float) -> Callable[[Span], bool]:
    return lambda span: bool(span.await_seconds == pytest.approx(seconds, rel=0.15))


def is_busy(span: Span) -> bool:
    return bool(span.busy_ratio == pytest.approx(1, abs=0.03))


def is_fast(span: Span) -> bool:
    return span.await_seconds < 0.01


def is_slow(span: Span) -> bool:
    return span.await_seconds > 0.05


def is_attached(device: str, session_pid: int) -> bool:
    """Returns True while the device has the file of this session: other tests reuse its name."""
    backing_file = read_attribute(Path("/sys/block", device, "loop/backing_file"))
    return f"ssd-rig-{session_pid}-" in (backing_file or "")


def traces_of_rigs() -> set[str]:
    """Files, mounts, loop devices and control groups of rigs of this process."""
    name = f"ssd-rig-{os.getpid()}-"
    found = {str(path) for parent in (SHM, *GROUPS) for path in parent.glob(f"{name}*")}
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    loops = Path("/sys/block").glob("loop*/loop/backing_file")
    backing = [read_attribute(path) or "" for path in loops]  # other tests detach theirs
    return found | {text for text in (*mounts, *backing) if name in text}


def test_a_throttled_disk_is_busy_with_a_deep_queue_and_a_long_await(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(write_iops=400)
    with load(slow_disk, Job(depth=32)):
        wait_for(slow_disk.device, 3, rate(400), awaits(32 / 400), queue(32), is_busy)


def test_an_unlimited_disk_is_fast(slow_disk: SlowDisk) -> None:
    with load(slow_disk, Job(depth=4, rate_iops=400)):
        wait_for(slow_disk.device, 2, rate(400), is_fast, lambda span: span.queue < 1)


def test_a_disk_is_fast_after_its_limit_is_removed(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(write_iops=200)
    with load(slow_disk, Job(depth=16, rate_iops=1000)):
        wait_for(slow_disk.device, 1, is_slow)
        slow_disk.free()
        wait_for(slow_disk.device, 1, is_fast)


def test_reads_are_throttled_by_bytes_as_well(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(read_bps=4_000_000)
    with load(slow_disk, Job(pattern="randread", depth=8)):
        wait_for(slow_disk.device, 2, rate(4_000_000 / 16384), queue(8))


def test_a_frozen_disk_completes_nothing_with_all_requests_in_flight(
    slow_disk: SlowDisk,
) -> None:
    slow_disk.throttle(write_iops=400)
    with load(slow_disk, Job(depth=31), Job(engine="psync", depth=1)):
        wait_until(lambda: row(slow_disk.device).in_flight == 32)
        slow_disk.freeze()
        # Completions of before may still be on their way. If no request ends, the kernel adds no
        # time to the queue either.
        wait_for(
            slow_disk.device,
            2,
            lambda span: span.completed == 0,
            lambda span: span.queue == 0,
            lambda _: row(slow_disk.device).in_flight == 32,
        )
        wait_for(slow_disk.device, 1, is_busy)
        assert 32 == row(slow_disk.device).in_flight
        slow_disk.thaw()
        wait_for(slow_disk.device, 1, rate(400))


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
        assert fio.wait(PATIENCE_SECONDS) == 0

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
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
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
        held.wait(PATIENCE_SECONDS)

    assert not is_attached(device, held.pid)
    assert not Path(group).exists()
    assert not Path("/proc", fio).exists()


@pytest.mark.usefixtures("slow_disk")
def test_the_next_rig_cleans_up_after_a_killed_session() -> None:
    with session() as (held, said):
        device, group, fio = said.readline().split()
        assert is_attached(device, held.pid)
        held.kill()
        held.wait(PATIENCE_SECONDS)
    os.kill(int(fio), signal.SIGKILL)

    def swept() -> bool:
        with SlowDisk(SHM):
            return not Path(group).exists()

    wait_until(swept, "the removal of the control group")
    wait_until(lambda: not is_attached(device, held.pid), "the detachment of the loop device")


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
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "RigUnavailable: loop devices and control groups need root" in asked.stderr
