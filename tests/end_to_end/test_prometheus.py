"""Debian's Prometheus scrapes the daemon while fio writes to a slow disk, and over restarts."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.families.disk_families import BUSY_RATIO
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.programs import need
from tests.end_to_end.prometheus import Prometheus
from tests.ports import free_ports

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

WRITE_IOPS = 400
BUSY_SECONDS, IDLE_SECONDS = 9, 6

#: Window of rate(), in seconds. A restart costs at most two scrapes, so half of the window remains.
WINDOW_SECONDS = 6

#: Factor by which rate() may overestimate: it extrapolates by up to one scrape at both ends.
EXTRAPOLATED = 1 + 2 / WINDOW_SECONDS

#: A page shows a sample that is up to one second old. The other second is margin for its scrape.
#: If the daemon waits for a CPU, the sample is older.
PAGE_SECONDS = 2

#: They count writes and their seconds, at most as many as the kernel, whose count has the second
#: name. How many writes lie in a bucket, and how long they take, depends on other work.
OF_WRITES = {
    "ssd_disk_write_await_seconds_bucket": "writes",
    "ssd_disk_write_await_seconds_count": "writes",
    "ssd_disk_write_await_seconds_sum": "write_seconds",
}

#: It counts pauses of the disk. On a busy machine, the kernel's threads cause real ones.
STALLED_SECONDS = "ssd_disk_stalled_seconds_total"

CPU_SECONDS = "ssd_cpu_seconds_total"

#: Interval between two readings of /proc/stat, in seconds.
_READ_SECONDS = 0.1

#: Prefixes of counters that the daemon itself counts, from zero at each start.
OWN = (
    "ssd_sampler_",
    "ssd_cpu_softirq_saturated_seconds_total",
    "ssd_disk_saturated_seconds_total",
    "ssd_disk_stalled_seconds_total",
    "ssd_disk_busy_ratio_",
    "ssd_disk_queue_depth_",
    "ssd_disk_read_await_seconds_",
    "ssd_disk_write_await_seconds_",
    "ssd_disk_flush_await_seconds_",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The disk's row of /proc/diskstats (iostats.rst), and the time of the reading."""

    unix_seconds: float
    monotonic_seconds: float
    io_ticks: int
    ticks: int
    writes: int
    write_ticks: int
    in_flight: int

    @classmethod
    def now(cls, device: str) -> "Reading":
        text = Path("/proc/diskstats").read_text()
        now = time.time(), time.monotonic()
        rows = [line.split() for line in text.splitlines()]
        row = [int(word) for word in next(row for row in rows if row[2] == device)[3:]]
        return cls(*now, row[9], row[3] + row[7], row[4], row[7], row[8])


def busy_ratio(before: Reading, after: Reading) -> float:
    """Returns the share of time with a request in flight, limited by Little's law.

    Some kernels count too little of this time. As in the exporter, a disk with requests in flight
    at both readings, and with a deep queue between them, was always busy.
    """
    milliseconds = (after.monotonic_seconds - before.monotonic_seconds) * 1000
    ticks = after.ticks - before.ticks
    if before.in_flight and after.in_flight and ticks >= 4 * milliseconds:
        return 1.0
    return min((after.io_ticks - before.io_ticks) / milliseconds, ticks / milliseconds, 1.0)


def weighted_quantile(quantile: float, weights: list[tuple[float, float]]) -> float:
    """Returns the value at a quantile of sorted pairs of a value and its weight."""
    left = quantile * sum(weight for _, weight in weights)
    for value, weight in weights:
        left -= weight
        if left <= 0:
            return value
    return weights[-1][0]


def bucket(busy: float) -> tuple[float, float]:
    """Returns the bounds of the bucket that counts a busy ratio."""
    edges = (0.0, *BUSY_RATIO.edges)
    above = max(1, bisect_left(edges, busy))
    return edges[above - 1], edges[above]


@dataclass(frozen=True, slots=True)
class Scene:
    """A disk, the daemon that monitors it, and the Prometheus that scrapes the daemon."""

    disk: SlowDisk
    prometheus: Prometheus
    start: Callable[[], Daemon]
    daemon: Daemon


@pytest.fixture
def scene(slow_disk: SlowDisk, tmp_path: Path) -> Iterator[Scene]:
    need("prometheus")
    flag = f"--collector.disk.device-include=^{slow_disk.device}$"
    with ExitStack() as stack:
        # Not a port of the kernel's choice, which another process may get before the restart.
        (port,) = free_ports(1)
        daemon = stack.enter_context(Daemon(tmp_path / "daemon", flag, port=port))
        target = f"127.0.0.1:{daemon.port}"
        prometheus = stack.enter_context(Prometheus(tmp_path / "prometheus", target))

        def again() -> Daemon:
            return stack.enter_context(Daemon(tmp_path / "daemon", flag, port=daemon.port))

        prometheus.wait_for("up == 1")
        slow_disk.throttle(write_iops=WRITE_IOPS)
        yield Scene(slow_disk, prometheus, again, daemon)


def demand(disk: SlowDisk) -> ExitStack:
    """Requests more than the disk can do, so it is always busy."""
    stack = ExitStack()
    # Not 16 requests in flight: this is the bound of a bucket of the queue depth.
    stack.enter_context(load(disk, Job(depth=12), Job(engine="psync", depth=12)))
    return stack


def counters(prometheus: Prometheus) -> Iterator[str]:
    """Returns the names of all counters."""
    for family, kind in prometheus.kinds().items():
        if kind == "counter":
            # OpenMetrics names the family, and its samples with _total.
            yield family if family.endswith("_total") else f"{family}_total"
        elif kind == "histogram":
            yield from (f"{family}_{part}" for part in ("bucket", "sum", "count"))


def test_prometheus_sees_increasing_counters_and_correct_quantiles(
    scene: Scene,
) -> None:
    device, prometheus = scene.disk.device, scene.prometheus
    scene.daemon.next_page()
    readings = [Reading.now(device)]

    def watch(seconds: int) -> None:
        for _ in range(seconds):
            scene.daemon.next_page()
            readings.append(Reading.now(device))

    # A reading at each change, because fio may need seconds to start and to end.
    with demand(scene.disk):
        readings.append(Reading.now(device))
        watch(BUSY_SECONDS)
    readings.append(Reading.now(device))
    watch(IDLE_SECONDS)
    begin, end = readings[0], readings[-1]
    prometheus.wait_for(f"timestamp(up) > {end.unix_seconds}")

    up = prometheus.over("up", begin.unix_seconds, end.unix_seconds)
    assert 1 == len(up)
    # On a busy machine, a scrape may take longer than its timeout of a second.
    scrapes = prometheus.over("scrape_duration_seconds", begin.unix_seconds, end.unix_seconds)
    slow = {at for each in scrapes for at, took in each.points if took >= 1}
    assert {at for at, value in up[0].points if value != 1} <= slow
    assert [] == prometheus.complaints

    seconds = round(end.unix_seconds - begin.unix_seconds) + 1
    window = f'{{device="{device}"}}[{seconds}s]'
    at = begin.unix_seconds + seconds + 0.9
    writes = prometheus.value(f"increase(ssd_disk_writes_completed_total{window})", at)
    assert pytest.approx(end.writes - begin.writes, rel=0.15) == writes

    busy = sorted(
        (busy_ratio(before, after), after.monotonic_seconds - before.monotonic_seconds)
        for before, after in pairwise(readings)
    )
    total = sum(weight for _, weight in busy)
    mean = prometheus.value(
        f"increase(ssd_disk_busy_ratio_sum{window}) / increase(ssd_disk_busy_ratio_count{window})",
        at,
    )
    assert pytest.approx(sum(ratio * w for ratio, w in busy) / total, abs=1.5 / seconds) == mean
    # These quantiles are far from the boundary of the two levels, so that one second more or less
    # does not matter.
    idle_share = sum(weight for ratio, weight in busy if ratio < 0.5) / total
    assert 0.1 < idle_share < 0.9, busy
    for quantile in (idle_share / 2, *(idle_share + (1 - idle_share) * x for x in (0.4, 0.8))):
        least, most = bucket(weighted_quantile(quantile, busy))
        shown = prometheus.value(
            f"histogram_quantile({quantile}, rate(ssd_disk_busy_ratio_bucket{window}))", at
        )
        assert least <= shown <= most, (quantile, busy)


class KernelCounts:
    """The kernel's counts of idle time and iowait in /proc/stat, and of writes of the disk.

    They are read several times a second.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._readings: list[tuple[float, dict[str, float]]] = []

    def read(self) -> None:
        unix_seconds = time.time()
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        seconds = {"idle": int(words[4]) / 100, "iowait": int(words[5]) / 100}
        disk = Reading.now(self._device)
        writes = {"writes": float(disk.writes), "write_seconds": disk.write_ticks / 1000}
        self._readings.append((unix_seconds, seconds | writes))

    def rate(self, name: str, at: float, page_seconds: float) -> float:
        """Returns the largest rate that Prometheus may show for its window that ends at `at`.

        page_seconds: the largest age of the sample that a page of the window shows.
        """
        begin = at - WINDOW_SECONDS - page_seconds
        before = [counts[name] for then, counts in self._readings if then <= begin]
        after = [counts[name] for then, counts in self._readings if then >= at]
        return (after[0] - before[-1]) / WINDOW_SECONDS * EXTRAPOLATED + 0.2


@contextmanager
def kernel_counts(device: str) -> Iterator[KernelCounts]:
    """Reads the counts until the end of the block."""
    counts, ending = KernelCounts(device), threading.Event()

    def work() -> None:
        while not ending.wait(_READ_SECONDS):
            counts.read()

    counts.read()
    thread = threading.Thread(target=work, name="kernel-counts", daemon=True)
    thread.start()
    try:
        yield counts
    finally:
        ending.set()
        thread.join()
        counts.read()


def spikes_above(
    counts: KernelCounts, prometheus: Prometheus, start: float, end: float
) -> list[object]:
    """Returns the rates of idle time, iowait and writes that exceed what the kernel counted."""
    age = "timestamp(up) - on() ssd_sampler_last_sample_timestamp_seconds"
    (ages,) = prometheus.over(age, start - WINDOW_SECONDS, end)
    spikes: list[object] = []
    for name in (CPU_SECONDS, *OF_WRITES):
        for each in prometheus.over(f"rate({name}[{WINDOW_SECONDS}s])", start, end):
            counted = OF_WRITES.get(name) or each.labels["mode"]
            if counted not in {"idle", "iowait", *OF_WRITES.values()}:
                continue
            for at, shown in each.points:
                window = (x for then, x in ages.points if -1 <= at - then <= WINDOW_SECONDS + 1)
                page_seconds = max([PAGE_SECONDS, *(seconds + 1 for seconds in window)])
                if shown > (most := counts.rate(counted, at, page_seconds)):
                    spikes.append((name, each.labels, at, shown, most))
    return spikes


def test_restarts_cause_no_spike_in_any_rate(scene: Scene) -> None:
    """Restarts by SIGKILL and by SIGTERM, while fio increases all counters of the disk.

    A rate over a restart must not exceed the rate before it, both for counters that restart at zero
    and for those that continue. A counter of the kernel must not decrease, because Prometheus would
    treat its whole value as an increase. Idle time, iowait and the duration of writes depend on the
    other work of the machine. Their rates must not exceed what the kernel counted in the same
    seconds. The disk stalls for at most a second per second.
    """
    prometheus, life = scene.prometheus, WINDOW_SECONDS
    with kernel_counts(scene.disk.device) as counts, demand(scene.disk):
        begin = prometheus.wait_for("ssd_sampler_samples_total")
        scene.daemon.next_page(life + PAGE_SECONDS + 2)
        before = time.time()
        scene.daemon.kill()
        second = scene.start()
        second.next_page(life)
        assert 0 == second.stop()
        scene.start().next_page(life)
        end = prometheus.wait_for(f"timestamp(up) > {time.time()}")

    assert [] == spikes_above(counts, prometheus, before, end)
    names = sorted(counters(prometheus))
    assert len(names) > 40
    rates: dict[str, tuple[float, float]] = {}
    for name in names:
        rate = f"rate({name}[{WINDOW_SECONDS}s])"
        resets = prometheus.query(f"resets({name}[{end - begin + 2:.0f}s])", end)
        again = {frozenset(each.labels.items()) for each in resets if each.largest}
        calm = {
            frozenset(each.labels.items()): each.largest
            for each in prometheus.over(rate, begin, before)
        }
        for each in prometheus.over(rate, before, end):
            series = frozenset(each.labels.items())
            if series in again:
                rates[f"{name}{sorted(each.labels.items())}"] = calm.get(series, 0.0), each.largest

    # A starting process needs CPU time of its own, at most one second per second.
    start = next(name for name in rates if name.startswith("process_cpu_seconds_total"))
    assert rates.pop(start)[1] <= 1
    stalled = next((name for name in rates if name.startswith(STALLED_SECONDS)), None)
    if stalled is not None:
        assert rates.pop(stalled)[1] <= EXTRAPOLATED + 0.2
    spikes = {
        name: (calm, later)
        for name, (calm, later) in rates.items()
        if later > calm * EXTRAPOLATED + 0.2 and not name.startswith((CPU_SECONDS, *OF_WRITES))
    }
    assert {} == spikes
    own = {name.partition("[")[0] for name in rates}
    # The kernel's idle and iowait may decrease, so the daemon counts them from 0 after SIGKILL.
    of_kernel = {name for name in own if not name.startswith(OWN)} - {CPU_SECONDS}
    assert set() == of_kernel
