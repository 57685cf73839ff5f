"""The daemon and fio on a real disk that is slow or hangs."""

import statistics
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

WRITE_IOPS = 400

#: libaio fills the queue. The threads of psync wait for I/O, which the kernel counts as pressure.
DEMAND = (Job(depth=16), Job(engine="psync", depth=16))
IN_FLIGHT = 32

#: The samples of the daemon are a second apart. After a late one, the next one is earlier. On a
#: busy machine, it may be still earlier.
SHORTEST_SAMPLE_SECONDS = 0.5

#: Interval between two readings of the kernel's counters, in seconds.
_READ_SECONDS = 0.05

#: A pause of the disk of at least this number of seconds may count as a stall, which may be counted
#: as longer by this number of seconds: how much of the sample in which it began counts is an
#: estimate.
_PAUSE_SECONDS = 0.5


class Growth:
    """Returns the increase of a device's counters between two pages."""

    def __init__(self, device: str, before: Page, after: Page) -> None:
        self._device, self._before, self._after = device, before, after
        self.seconds = self.of("ssd_disk_busy_ratio_count")

    def of(self, name: str, **labels: str) -> float:
        labels = {"device": self._device, **labels}
        return self._after.value(name, **labels) - self._before.value(name, **labels)

    @property
    def elapsed_seconds(self) -> float:
        """Returns the time between the two samples."""
        return sample_unix(self._after) - sample_unix(self._before)

    @property
    def lost_seconds(self) -> float:
        """Returns the seconds that do not count, because a sample was more than two samples late.

        The seconds that count are printed as a whole number.
        """
        gaps = "ssd_sampler_gaps_total"
        if self._after.value(gaps) == self._before.value(gaps):
            return 0.0
        return max(0.0, self.elapsed_seconds - self.seconds + 1)

    def seconds_above(self, busy_ratio: str) -> float:
        return self.seconds - self.of("ssd_disk_busy_ratio_bucket", le=busy_ratio)

    def mean(self, histogram: str) -> float:
        return self.of(f"{histogram}_sum") / self.of(f"{histogram}_count")


def sample_unix(page: Page) -> float:
    return page.value("ssd_sampler_last_sample_timestamp_seconds")


def sampled_at(page: Page) -> float:
    """Returns the monotonic time of the sample that a page shows."""
    return sample_unix(page) - (time.time() - time.monotonic())


def only(disk: SlowDisk) -> str:
    return f"--collector.disk.device-include=^{disk.device}$"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Counters of the kernel: iowait, and of a device writes, their seconds, and busy seconds."""

    writes: float
    write_seconds: float
    busy_seconds: float
    iowait_seconds: float

    @classmethod
    def of(cls, device: str) -> "Kernel":
        words = [int(word) for word in Path("/sys/block", device, "stat").read_text().split()]
        return cls(words[4], words[7] / 1e3, words[9] / 1e3, iowait_seconds())

    def since(self, before: "Kernel") -> "Kernel":
        return Kernel(
            self.writes - before.writes,
            self.write_seconds - before.write_seconds,
            self.busy_seconds - before.busy_seconds,
            self.iowait_seconds - before.iowait_seconds,
        )


@contextmanager
def readings(device: str) -> Iterator[list[tuple[float, Kernel]]]:
    """Reads the kernel's counters several times a second, with the monotonic time."""
    read, ending = list[tuple[float, Kernel]](), threading.Event()

    def work() -> None:
        while not ending.wait(_READ_SECONDS):
            read.append((time.monotonic(), Kernel.of(device)))

    thread = threading.Thread(target=work, name="readings", daemon=True)
    thread.start()
    try:
        yield read
    finally:
        ending.set()
        thread.join()


def kernel_at(read: list[tuple[float, Kernel]], page: Page) -> Kernel:
    """Returns the kernel's counters at the sample that a page shows, between two readings."""
    at = sampled_at(page)
    after = bisect_left(read, at, key=lambda reading: reading[0])
    (begun, first), (ended, last) = read[after - 1], read[after]
    share = (at - begun) / (ended - begun)
    pairs = zip(astuple(first), astuple(last), strict=True)
    return Kernel(*(one + share * (other - one) for one, other in pairs))


def longest_stalled(read: list[tuple[float, Kernel]], begin: float, end: float) -> float:
    """Returns the largest number of stalled seconds that the readings permit in an interval.

    The threads of the kernel, which complete the requests, wait for a CPU on a busy machine.
    """
    completed = [read[0][0]]
    completed += [at for (_, before), (at, now) in pairwise(read) if now.writes != before.writes]
    pauses = [
        now - before
        for before, now in pairwise(completed)
        if now > begin and before < end and now - before >= _PAUSE_SECONDS
    ]
    return sum(pauses) + _PAUSE_SECONDS * len(pauses)


def shortest_sample(pages: list[Page]) -> float:
    """Returns the shortest interval of samples that these pages show, at most half a second."""
    times = sorted({sample_unix(page) for page in pages})
    return min(SHORTEST_SAMPLE_SECONDS, *(after - before for before, after in pairwise(times)))


def deepest_queue(read: list[tuple[float, Kernel]], shortest: float) -> float:
    """Returns the largest mean queue depth that the kernel counted in this many seconds or more.

    The kernel counts the time of a request when it completes. So a second in which the requests of
    a pause complete has a larger mean than the number of requests in flight.
    """
    return max(
        (now.write_seconds - before.write_seconds) / (at - begun)
        for begun, before in read
        for at, now in read
        if at - begun >= shortest
    )


def iowait_seconds() -> float:
    """Returns the kernel's counter in /proc/stat."""
    first = Path("/proc/stat").read_text().splitlines()[0]
    return int(first.split()[5]) / 100


def test_all_metrics_show_a_slow_disk_and_return_to_normal_afterwards(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    device = slow_disk.device
    with Daemon(tmp_path, only(slow_disk)) as daemon, readings(device) as read:
        calm = daemon.next_page()
        assert ["none"] == calm.verdict(device)
        slow_disk.throttle(write_iops=WRITE_IOPS)
        with load(slow_disk, *DEMAND):
            starting = [daemon.next_page() for _ in range(2)]
            begun = starting[-1]
            pages = [daemon.next_page() for _ in range(7)]
            slow = pages[-1]
        slow_disk.free()
        resting = [daemon.next_page() for _ in range(2)]
        freed = resting[-1]
        resting += [daemon.next_page() for _ in range(3)]
        while (rested := resting[-1]).verdict(device) != ["none"]:
            resting.append(daemon.next_page())

    grown = Growth(device, begun, slow)
    elapsed, lost = grown.elapsed_seconds, grown.lost_seconds
    kernel = kernel_at(read, slow).since(kernel_at(read, begun))
    # Buckets and counts are printed in whole seconds.
    assert elapsed - lost - 1 <= grown.seconds <= elapsed + 1
    # The disk completes at most 400 writes per second, and fewer if the kernel's threads wait for a
    # CPU. The exporter must show what the kernel counted in the same seconds.
    assert kernel.writes <= 1.15 * WRITE_IOPS * max(kernel.busy_seconds, elapsed)
    assert pytest.approx(kernel.writes, rel=0.15) == grown.of("ssd_disk_writes_completed_total")
    least, most = kernel.busy_seconds - lost - 1, kernel.busy_seconds + 1
    assert least <= grown.of("ssd_disk_busy_ratio_sum") <= most
    assert least - 0.5 <= grown.seconds_above("0.95") <= most + 0.5
    queue = grown.of("ssd_disk_queue_depth_sum")
    assert 0.9 * IN_FLIGHT * (elapsed - lost) <= queue <= 1.1 * IN_FLIGHT * elapsed
    await_seconds = kernel.write_seconds / kernel.writes
    assert await_seconds >= 0.85 * IN_FLIGHT / WRITE_IOPS
    assert pytest.approx(await_seconds, rel=0.15) == grown.mean("ssd_disk_write_await_seconds")
    assert least <= grown.of("ssd_disk_saturated_seconds_total") <= most
    permitted = longest_stalled(read, sampled_at(begun), sampled_at(slow))
    assert grown.of("ssd_disk_stalled_seconds_total") <= permitted
    # Between the end of a request and the next one, one less is in flight.
    in_flight = [page.value("ssd_disk_io_now", device=device) for page in pages]
    assert IN_FLIGHT == max(in_flight)
    assert 0.9 * IN_FLIGHT <= statistics.median(in_flight)
    assert ["device"] == slow.verdict(device)
    waited = "ssd_pressure_io_waiting_seconds_total"
    assert slow.value(waited) - begun.value(waited) > 0.1 * 7
    # Compared with the kernel's value, because iowait depends on other work: the kernel counts it
    # only on an idle CPU.
    iowait = [page.value("ssd_cpu_seconds_total", mode="iowait") for page in (begun, slow)]
    assert pytest.approx(kernel.iowait_seconds, abs=0.5) == iowait[1] - iowait[0]

    after = Growth(device, freed, rested)
    assert after.seconds > 0
    grown_at_rest = {
        name: after.of(name)
        for name in (
            "ssd_disk_busy_ratio_sum",
            "ssd_disk_queue_depth_sum",
            "ssd_disk_write_await_seconds_count",
            "ssd_disk_saturated_seconds_total",
        )
    }
    assert dict.fromkeys(grown_at_rest, 0) == grown_at_rest
    assert 0 == rested.value("ssd_disk_io_now", device=device)
    assert rested.value("ssd_disk_busy_ratio_max", device=device) > 0.99
    worst = rested.value("ssd_disk_queue_depth_max", device=device)
    shortest = shortest_sample([calm, *starting, *pages, *resting])
    assert 0.9 * IN_FLIGHT <= worst <= deepest_queue(read, shortest)


def sample_times(pages: list[Page]) -> list[float]:
    """Returns the monotonic times of the samples that the pages show, and of those in between."""
    now = time.time() - time.monotonic()
    times: list[float] = []
    for before, after in pairwise(pages):
        begin, end = sample_unix(before), sample_unix(after)
        number = round(
            after.value("ssd_sampler_samples_total") - before.value("ssd_sampler_samples_total")
        )
        times += [begin - now + (end - begin) * n / number for n in range(number + 1)]
    return sorted(times)


def counted_end(samples: list[float], ended_at: float) -> float:
    """Returns the end that counts for a hang: the middle of the interval in which it ended."""
    before = max(sample for sample in samples if sample < ended_at)
    after = min(sample for sample in samples if sample >= ended_at)
    return (before + after) / 2


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
        # Requests hang from some moment of the first call until some moment of the second one: on a
        # busy machine the kernel needs tenths of a second for a new limit.
        freezing_at = time.monotonic()
        slow_disk.freeze()
        frozen_at = time.monotonic()
        hanging = [daemon.next_page() for _ in range(5)]
        time.sleep(margin)
        thawing_at = time.monotonic()
        slow_disk.thaw()
        thawed_at = time.monotonic()
        over = [daemon.next_page() for _ in range(2)]
        tenths = calm[1], often.page()

    assert 8 == hanging[-1].value("ssd_disk_io_now", device=device)
    by_second, by_tenth = Growth(device, calm[0], over[-1]), Growth(device, *tenths)
    samples = sample_times([*hanging, *over])
    shortest = counted_end(samples, thawing_at) - frozen_at
    longest = counted_end(samples, thawed_at) - freezing_at
    # How much of the second in which the hang began counts is an estimate.
    counted = by_second.of("ssd_disk_stalled_seconds_total")
    assert shortest - 0.5 <= counted <= longest + 0.5
    # The intervals that lie entirely in the hang: four if no sample was late.
    whole = max(at for at in samples if at <= thawing_at) - min(
        at for at in samples if at >= frozen_at
    )
    whole -= by_second.lost_seconds
    # The count and the bucket are printed in whole seconds, each up to one too small. The sums are
    # exact.
    assert by_second.seconds_above("0.95") > whole - 2
    assert by_second.of("ssd_disk_busy_ratio_sum") > whole - 0.1
    assert by_second.of("ssd_disk_queue_depth_sum") > 8 * (whole - 0.1)
    stalled = by_tenth.of("ssd_disk_stalled_seconds_total")
    assert thawing_at - frozen_at - 0.4 <= stalled <= thawed_at - freezing_at + 0.4
    stalled -= by_tenth.lost_seconds
    assert by_tenth.of("ssd_disk_busy_ratio_sum") >= stalled - 0.1
    assert by_tenth.seconds_above("0.95") > stalled - 1
