"""A simulated machine: its /proc is in a temporary directory, and a sampler reads it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from exporter.config.disk_rules import DiskRules
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.sampler import Sampler
from exporter.io.slowdown import SlowdownEvidence
from exporter.linux.diskstats import DiskStats
from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuTimes
from exporter.runtime.collector_status import CollectorStatus
from tests.fakes import FakeClock

#: One second of a device at its limit, and one of a device with little load.
FULL = {
    "writes_completed": 400,
    "written_bytes": 400 * 16384,
    "write_time_seconds": 32.0,
    "io_time_seconds": 1.0,
}
CALM = {
    "writes_completed": 100,
    "written_bytes": 100 * 16384,
    "write_time_seconds": 0.05,
    "io_time_seconds": 0.05,
}

#: A CPU that has always been idle.
ALL_IDLE = CpuTimes(0, 0, 0, 100, 0, 0, 0, 0)


def disk_line(disk: DiskStats) -> str:
    """Return the line of /proc/diskstats for a record."""
    major, minor = disk.number.split(":")
    columns = " ".join(str(number) for number in disk[2:] if number is not None)
    return f"{major:>4} {minor:>7} {disk.device} {columns}\n"


def cpu_line(name: str, times: CpuTimes) -> str:
    """Return the line of /proc/stat for a CPU."""
    return " ".join([name, *(str(round(time * TICKS_PER_SECOND)) for time in times), "0", "0\n"])


class Machine:
    """Writes the kernel's files; `tick` advances the clock and takes a sample."""

    def __init__(self, place: Path, *, interval: float = 1.0, per_cpu: bool = False) -> None:
        self.proc = place / "proc"
        (self.proc / "pressure").mkdir(parents=True)
        self.clock = FakeClock()
        self.collector_status = CollectorStatus(self.clock)
        self.sampler = self.watch(interval=interval, per_cpu=per_cpu)

    def watch(
        self,
        *,
        interval: float = 1.0,
        per_cpu: bool = False,
        wanted: Callable[[str], bool] = lambda _device: True,
        evidence: Callable[[str], SlowdownEvidence] = lambda _device: SlowdownEvidence(),
    ) -> Sampler:
        """Return a new sampler."""
        rules = DiskRules()
        return Sampler(
            CounterFiles(self.proc, self.clock),
            clock=self.clock,
            collector_status=self.collector_status,
            rules=rules,
            baselines=Baselines(rules.baseline),
            wanted=wanted,
            interval=interval,
            per_cpu=per_cpu,
            evidence=evidence,
        )

    def disks(self, *disks: DiskStats) -> "Machine":
        self.write("diskstats", "".join(map(disk_line, disks)))
        return self

    def cpus(self, *cpus: CpuTimes) -> "Machine":
        total = CpuTimes(*map(sum, zip(*cpus, strict=True)))
        lines = [cpu_line("cpu", total)]
        lines += [cpu_line(f"cpu{number}", times) for number, times in enumerate(cpus)]
        self.write("stat", "".join(lines) + "intr 1\n")
        return self

    def waiting(self, seconds: float) -> None:
        total = round(seconds * 1e6)
        lines = (f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n" for kind in SOME_FULL)
        self.write("pressure/io", "".join(lines))

    def write(self, name: str, text: str) -> None:
        (self.proc / name).write_text(text)

    def remove(self, name: str) -> None:
        path = self.proc / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    def tick(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.sampler.tick()
        with self.sampler.flushed():
            pass

    def success(self, collector: str) -> bool:
        return dict(self.collector_status.results())[collector].success


SOME_FULL = ("some", "full")


def seconds_seen(sampler: Sampler, device: str = "sdx") -> float:
    return sum(sampler.activities[device].busy_ratio.buckets().weights)
