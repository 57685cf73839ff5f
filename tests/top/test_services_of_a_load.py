"""Two programs share a throttled device: `top` and the metrics name both in the right proportion.

fio takes the parts of mysqld and of a backup, each in a control group with a limit. The kernel's
counters of these groups are the content of io.stat. A machine on which the blkio controller belongs
to cgroup v1 has the same counters in other files.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from exporter.config.settings import DiskSettings, Paths, Settings
from exporter.io.service_watch import ServiceWatch
from exporter.linux.cgroup import parse_io_stat
from exporter.runtime.clock import SystemClock
from exporter.top.live_host import LiveHost
from exporter.top.table import services_text
from rigs.devices.cgroup import Limits, ThrottleGroup, v1_settings
from rigs.devices.load import Job, arguments
from rigs.devices.slow_disk import SlowDisk
from tests.duration import PATIENCE_SECONDS
from tests.top.rate_bounds import around, rate_bounds

pytestmark = pytest.mark.real
pytest_plugins = ("rigs.devices.fixtures",)

#: The limit of each service in bytes per second.
LIMITS = {"mysqld.service": 9_000_000, "xtrabackup.service": 6_000_000}

SECONDS = 4.0

#: More than the bytes of all reads that are in progress at one time.
MARGIN = 2 << 20


def io_stat(group: ThrottleGroup) -> str:
    """Returns the counters of a group in the format of io.stat."""
    if group.settings is not v1_settings:
        return (group.path / "io.stat").read_text()
    counters: dict[str, dict[str, str]] = {}
    for file, keys in (
        ("blkio.throttle.io_service_bytes", {"Read": "rbytes", "Write": "wbytes"}),
        ("blkio.throttle.io_serviced", {"Read": "rios", "Write": "wios"}),
    ):
        for line in (group.path / file).read_text().splitlines():
            fields = line.split()
            if len(fields) == 3 and fields[1] in keys:
                counters.setdefault(fields[0], {})[keys[fields[1]]] = fields[2]
    return "".join(
        f"{number} {' '.join(f'{key}={value}' for key, value in values.items())}\n"
        for number, values in counters.items()
    )


class Tree:
    """A /sys whose hierarchy of cgroup v2 has a slice with these services.

    number: that of the disk, "major:minor".
    """

    def __init__(self, sys: Path, groups: dict[str, ThrottleGroup], number: str) -> None:
        self._groups = groups
        self._number = number
        self._counted: dict[str, int] = {}
        self._slice = sys / "fs/cgroup/system.slice"
        self._slice.mkdir(parents=True)
        for name in ("block", "class", "devices"):
            os.symlink(Path("/sys", name), sys / name)
        (sys / "fs/cgroup/cgroup.controllers").write_text("io\n")
        for group in (sys / "fs/cgroup", self._slice):
            (group / "cgroup.subtree_control").write_text("io\n")
        for name in groups:
            (self._slice / name).mkdir()
        (self._slice / "io.stat").write_text("")

    def update(self) -> dict[str, int]:
        """Writes the counters; returns the bytes that each service read since the last call.

        Only the reads of the throttled disk count: fio may also read its own program from another.
        """
        read = {}
        for name, group in self._groups.items():
            text = io_stat(group)
            (self._slice / name / "io.stat").write_text(text)
            of_disk = parse_io_stat(text).value.get(self._number)
            counted = of_disk.read_bytes if of_disk is not None else 0
            read[name] = counted - self._counted.get(name, 0)
            self._counted[name] = counted
        return read


def number_of(device: str) -> str:
    return Path("/sys/block", device, "dev").read_text().strip()


@contextmanager
def loads(disk: SlowDisk, groups: dict[str, ThrottleGroup]) -> Iterator[None]:
    """Runs fio in each group."""
    number = number_of(disk.device)
    argv = arguments(
        disk.path,
        [Job(pattern="read", depth=4, block_bytes=64 << 10)],
        seconds=120,
        largest_bytes=4 << 30,
    )
    running = []
    try:
        for name, group in groups.items():
            group.limit(number, Limits(read_bps=LIMITS[name]))
            running.append(
                subprocess.Popen(
                    [*group.prefix, *argv],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        yield
    finally:
        for process in running:
            process.terminate()
        for group in groups.values():
            group.limit(number, Limits())
        for process in running:
            process.wait(PATIENCE_SECONDS)


def test_both_services_are_named_in_the_right_proportion(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    clock, device = SystemClock(), slow_disk.device
    with ExitStack() as stack:
        groups = {name: ThrottleGroup.create() for name in LIMITS}
        for group in groups.values():
            stack.callback(group.remove)
        tree = Tree(tmp_path, groups, number_of(device))
        settings = Settings(
            path=Paths(sysfs=tmp_path), disk=DiskSettings(device_include=f"^{device}$")
        )
        host = LiveHost(settings, clock, SECONDS)
        watch = _watch(settings, host)
        stack.enter_context(loads(slow_disk, groups))
        clock.sleep(1.0)
        counted: list[dict[str, int]] = []

        def tick() -> None:
            counted.append(tree.update())
            host.tick()

        ticks = []
        for is_last in (False, False, True):
            ticks.append(around(slow_disk.read_bytes, tick))
            watch.refresh()
            if not is_last:
                clock.sleep(SECONDS)
        (drive,) = host.frame({}).drives
    rates = {rate.service: rate for rate in drive.services}
    assert ["mysqld.service", "xtrabackup.service"] == [rate.service for rate in drive.services]
    ratio = rates["mysqld.service"].bytes / rates["xtrabackup.service"].bytes
    last = counted[-1]
    assert last["mysqld.service"] / last["xtrabackup.service"] == pytest.approx(ratio)
    assert 1.5 == pytest.approx(ratio, rel=0.25), "the ratio of the limits"
    start, end = ticks[1:]
    lowest, highest = rate_bounds(start, end)
    assert lowest <= drive.now.read_bytes <= highest
    shortest, longest = end.seconds[0] - start.seconds[1], end.seconds[1] - start.seconds[0]
    of_services = sum(rate.bytes for rate in drive.services)
    assert sum(last.values()) / longest <= of_services <= sum(last.values()) / shortest
    # A service's read counts when it starts, and the disk's when it ends. udev reads disks, too.
    assert lowest * longest - MARGIN <= sum(last.values()) <= highest * shortest + MARGIN
    assert services_text(drive.services, 2).startswith("mysqld.service ")
    totals = dict(watch.totals[device])
    assert totals["mysqld.service"].read_bytes > totals["xtrabackup.service"].read_bytes > 0
    assert totals["mysqld.service"].reads > 0


def _watch(settings: Settings, host: LiveHost) -> ServiceWatch:
    """Returns the watch of a daemon on the same host."""
    return ServiceWatch(SystemClock(), lambda: settings, host.topology, lambda _: True)
