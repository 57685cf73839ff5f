"""Simulates /proc and /sys with active disks, as files."""

import os
import random
import threading
from pathlib import Path

_CPUS = 8
#: Number of counters of a disk in /proc/diskstats, and index of the requests in flight.
_FIELDS = 17
_IN_FLIGHT = 8


class Kernel:
    """/proc and /sys with `disks` drives, of which the first `active` have I/O every second.

    Files keep their inode, because the exporter keeps files of /proc open. Each is written with one
    call and never shrinks, so that a reader never reads a partial file.
    """

    def __init__(self, root: Path, disks: int, active: int) -> None:
        self.proc = root / "proc"
        self.sys = root / "sys"
        self._active = active
        self._random = random.Random(10177)
        self._counters = [
            [self._random.randrange(10**8) for _ in range(_FIELDS)] for _ in range(disks)
        ]
        self._seconds = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        for directory in (self.proc / "pressure", self.proc / "net", self.sys / "class" / "net"):
            directory.mkdir(parents=True)
        self._write("proc/net/softnet_stat", "0000ffff 00000000 00000001 00000000\n" * _CPUS)
        self._write("proc/1/mountinfo", "")
        self._write("proc/self/mountinfo", "")
        for number in range(disks):
            self._drive(number)
        self.advance()

    def __enter__(self) -> "Kernel":  # noqa: PYI034  Self needs Python 3.11
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            self.advance()

    def advance(self) -> None:
        """Advances the counters by one second."""
        self._seconds += 1
        for counters in self._counters[: self._active]:
            for field in range(_FIELDS):
                counters[field] += self._random.randrange(1, 900)
        lines = []
        for number, counters in enumerate(self._counters):
            counters[_IN_FLIGHT] = self._random.randrange(9) if number < self._active else 0
            text = " ".join(map(str, counters))
            lines.append(f" 259 {number:7d} nvme{number}n1 {text}\n")
        self._write("proc/diskstats", "".join(lines))
        ticks = [100 * self._seconds + 7 * field for field in range(10)]
        cpu = " ".join(map(str, ticks))
        softirq = " ".join(str(1000 * self._seconds + field) for field in range(11))
        self._write(
            "proc/stat",
            f"cpu  {cpu}\n"
            + "".join(f"cpu{number} {cpu}\n" for number in range(_CPUS))
            + f"intr {self._seconds}\nctxt 1\nbtime 1700000000\nprocesses 1\nprocs_running 1\n"
            + f"procs_blocked 0\nsoftirq {softirq}\n",
        )
        vectors = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "TASKLET", "SCHED", "HRTIMER", "RCU")
        header = "".join(f"{f'CPU{number}':>11}" for number in range(_CPUS))
        rows = "".join(
            f"{vector:>12}:" + f" {self._seconds * 100:>10}" * _CPUS + "\n" for vector in vectors
        )
        self._write("proc/softirqs", f"           {header}\n{rows}")
        for resource in ("io", "cpu", "memory"):
            line = f"avg10=1.00 avg60=1.00 avg300=1.00 total={self._seconds * 10_000}\n"
            self._write(f"proc/pressure/{resource}", f"some {line}full {line}")

    def _drive(self, number: int) -> None:
        name = f"nvme{number}n1"
        controller = f"devices/pci0000:00/0000:00:{number:04x}.0/nvme/nvme{number}"
        for path, value in (
            ("model", "Bench SSD 3.84TB"),
            ("serial", f"BENCH{number:06d}"),
            ("firmware_rev", "1.0"),
            ("state", "live"),
            ("transport", "pcie"),
            (f"{name}/dev", f"259:{number}"),
            (f"{name}/size", "7501476528"),
            (f"{name}/wwid", f"eui.{number:016x}"),
            (f"{name}/diskseq", str(number + 1)),
            (f"{name}/queue/rotational", "0"),
            (f"{name}/queue/scheduler", "[none] mq-deadline"),
            (f"{name}/queue/write_cache", "write through"),
            (f"{name}/queue/fua", "1"),
            (f"{name}/queue/discard_max_bytes", "2199023255040"),
            (f"{name}/queue/physical_block_size", "4096"),
        ):
            self._write(f"sys/{controller}/{path}", f"{value}\n")
        self._link(f"sys/{controller}/{name}/device", f"../../nvme{number}")
        self._link(f"sys/block/{name}", f"../{controller}/{name}")
        self._link(f"sys/class/block/{name}", f"../../{controller}/{name}")
        self._link(f"sys/class/nvme/nvme{number}", f"../../{controller}")

    def _write(self, path: str, text: str) -> None:
        target = self.proc.parent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def _link(self, path: str, to: str) -> None:
        link = self.proc.parent / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to)
