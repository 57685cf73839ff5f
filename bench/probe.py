"""Measures the CPU time and endurance that probes consume, and the run time of their analysis.

The probes of 15 minutes run on a loop device in memory (as root). They take as long as on any
drive, because their rates are limited.
"""

import random
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.machine import slowness
from bench.rows import Row, show_progress
from exporter.config.profiles import MIB, ON_BY_DEFAULT, PROFILES
from exporter.probe.cache_cliff import GIB, CliffRules, TraceSample, cache_cliff
from rigs.devices.cgroup import RigUnavailable
from rigs.devices.probed_disk import ProbedDisk, probed_disk
from tests.probe.traces import Noise, active, steps

#: Seconds between two runs of a profile, of the schedule of all profiles, and of a year.
_SLOT, _CYCLE, _YEAR = 300.0, 900.0, 365 * 86_400.0
#: Limits: CPU as percent of a core, bytes written per year, and I/O requests per second.
_MAX_CPU_PERCENT = 0.2
_MAX_TERABYTES = 0.3
_MAX_IOS = 200

#: Size of the loop device: the probe file of 64 MiB, and the metadata of ext4.
_DISK_BYTES = 128 * MIB

#: Number of runs of the analysis; the fastest one counts.
_ANALYSIS_RUNS = 21


def rows(scale: float) -> Iterator[Row]:
    """Returns all results; `scale` reduces the number of runs of the analysis."""
    yield from _request_rate()
    yield from _cost()
    yield from _analysis(max(3, int(_ANALYSIS_RUNS * scale)))


def _request_rate() -> Iterator[Row]:
    """The highest request rate of a profile, because probes run one after the other.

    The fsync profile sends a sync after each write, which counts as a second request.
    """
    most = 0
    for name in ON_BY_DEFAULT:
        profile = PROFILES[name]
        requests = 2 if name == "fsync" else 1
        most = max(most, requests * profile.jobs * (profile.rate_iops or 0))
    yield "I/O requests per second of a probe", most, 0.0, "", "<= 200", most <= _MAX_IOS


def _cost() -> Iterator[Row]:
    try:
        with tempfile.TemporaryDirectory() as place, probed_disk(Path(place), _DISK_BYTES) as disk:
            yield from _quarter(disk)
    except RigUnavailable as e:
        show_progress(f"the cost of probes is not measured: {e}")


def _quarter(disk: ProbedDisk) -> Iterator[Row]:
    """Measures one schedule of 15 minutes, after a run that fills the probe file."""
    show_progress("a probe that fills its file")
    disk.run()
    before = disk.written_bytes(), disk.charged_bytes()
    cpu, took, busiest = _cpu_seconds(), 0.0, 0.0
    for number in range(int(_CYCLE / _SLOT)):
        show_progress(f"probes of a quarter of an hour: {number} of {int(_CYCLE / _SLOT)}")
        start = time.monotonic()
        with _peak(disk) as peak:
            disk.run(_SLOT)
        took, busiest = took + time.monotonic() - start, max(busiest, peak.most)
    cpu = _cpu_seconds() - cpu
    runs = disk.values("ssd_probe_runs_total")
    succeeded = tuple(runs[disk.device, name, "success"] for name in ON_BY_DEFAULT)
    if succeeded != (4, 4, 2):
        raise RuntimeError(f"successful probes: {succeeded}; the results are not comparable")
    a_year = _YEAR / _CYCLE / 1e12
    written = (disk.written_bytes() - before[0]) * a_year
    charged = (disk.charged_bytes() - before[1]) * a_year
    share, most_percent = cpu / _CYCLE * 100, _MAX_CPU_PERCENT * slowness()
    yield (
        "CPU of the default schedule, fio and exporter",
        share,
        0.0,
        "% of core",
        f"<= {most_percent:.2f}",
        share <= most_percent,
    )
    yield "  in 15 minutes", cpu * 1000, 0.0, "ms", "", None
    yield "  during probes, share of a core", cpu / took * 100, 0.0, "%", "", None
    yield (
        "bytes per year, written by the device and charged",
        written,
        charged,
        "TB",
        "both <= 0.3",
        max(written, charged) <= _MAX_TERABYTES,
    )
    yield "reads and writes in the busiest second", busiest, 0.0, "", "", None


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class _Peak:
    """Highest number of reads and writes in one second."""

    most: float = 0.0
    stopping: threading.Event = field(default_factory=threading.Event)


@contextmanager
def _peak(disk: ProbedDisk) -> Iterator[_Peak]:
    stat = Path("/sys/block", disk.device, "stat")
    peak = _Peak()

    def watch() -> None:
        then, before = time.monotonic(), _operations(stat)
        while not peak.stopping.wait(1.0):
            now, after = time.monotonic(), _operations(stat)
            peak.most = max(peak.most, (after - before) / (now - then))
            then, before = now, after

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        peak.stopping.set()
        thread.join()


def _operations(stat: Path) -> int:
    columns = stat.read_text().split()
    return int(columns[0]) + int(columns[4])


def _analysis(count: int) -> Iterator[Row]:
    """Compares the analysis of a trace of 16 GiB of writes with the time to parse its log."""
    show_progress("analysis of 16 GiB of writes")
    speed = steps(1200, (8, 400))
    trace = list(active(speed, random.Random(10177), Noise(), 16 * GIB))
    rules = CliffRules()
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "slc_bw.log")
        log.write_text(_logged(trace))
        analysing = _best(lambda: cache_cliff(trace, rules), count)
        reading = _best(lambda: _read_log(log), count)
    name = f"analysis of 16 GiB of writes, and parsing its log of {len(trace)} rows"
    yield name, analysing * 1000, reading * 1000, "ms", "<= 1", analysing <= reading


def _logged(trace: list[TraceSample]) -> str:
    at, lines = 0.0, []
    for sample in trace:
        at += sample.seconds
        rate = round(sample.written_bytes / sample.seconds / 1024)
        lines.append(f"{round(at * 1000)}, {rate}, 1, 0, 0\n")
    return "".join(lines)


def _read_log(log: Path) -> list[TraceSample]:
    """Parses a bandwidth log of fio: milliseconds since the start, KiB/s, direction."""
    samples, before = [], 0.0
    for line in log.read_text(encoding="utf-8").splitlines():
        milliseconds, rate, *_ = (column.strip() for column in line.split(","))
        if not (milliseconds.isdecimal() and rate.isdecimal()):
            raise ValueError(f"not a number: {line}")
        seconds = int(milliseconds) / 1000 - before
        samples.append(TraceSample(seconds, seconds * int(rate) * 1024.0))
        before += seconds
    return samples


def _best(do: Callable[[], object], count: int) -> float:
    """Seconds of the fastest of `count` runs, because other processes use the machine too."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        do()
        times.append(time.perf_counter() - start)
    return min(times)
