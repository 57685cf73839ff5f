"""Records a disk that slows down, hangs and recovers, as test vectors.

``python -m rigs.devices.record FILE``, as root, takes about 45 seconds. The file is JSON::

    kernel, user_hz  kernel version and the unit of the cpu lines
    device           the slow disk
    slow_write_iops  the limit while it was slow
    seconds          one object per reading: monotonic_seconds, phase (of the second that ends with
                     this reading), diskstats (the row of the disk), cpu (the cpu lines of
                     /proc/stat), pressure_io (its lines)

The first reading has the phase "start", because there is no second before it.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk

#: Light mixed load: reads, writes, and a flush after every fourth write.
CALM = Job(pattern="randrw", engine="psync", depth=1, rate_iops=50, writes_per_fsync=4)

#: 1,960 writes per second while the disk is fast enough, 32 in flight while it is not.
DEMAND = (
    Job(depth=16, rate_iops=1000),
    Job(engine="psync", depth=16, rate_iops=60),
)

SLOW_WRITE_IOPS = 400

#: A hang that starts and ends between two readings covers one second less than its duration. It
#: therefore starts this long before a reading and ends as long after another one.
_MARGIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Reading:
    monotonic_seconds: float
    phase: str
    diskstats: str
    cpu: list[str]
    pressure_io: list[str]


def reading(device: str, phase: str) -> Reading:
    rows = Path("/proc/diskstats").read_text().splitlines()
    stat = Path("/proc/stat").read_text().splitlines()
    return Reading(
        monotonic_seconds=round(time.monotonic(), 6),
        phase=phase,
        diskstats=next(row for row in rows if row.split()[2] == device),
        cpu=[line for line in stat if line.startswith("cpu")],
        pressure_io=Path("/proc/pressure/io").read_text().splitlines(),
    )


class Seconds:
    """Takes readings at whole seconds since the first one; `phase` names them."""

    def __init__(self, device: str) -> None:
        self.readings = [reading(device, "start")]
        self._device = device
        self._start = time.monotonic()

    def phase(self, name: str, seconds: int) -> None:
        for _ in range(seconds):
            self.wait(0)
            self.readings.append(reading(self._device, name))

    def wait(self, before_seconds: float) -> None:
        """Sleeps until `before_seconds` before the next reading; below 0: after the last one."""
        due = self._start + len(self.readings) - before_seconds
        time.sleep(max(0.0, due - time.monotonic()))


def record() -> Iterator[Reading]:
    with SlowDisk(Path("/dev/shm")) as disk, load(disk, CALM, seconds=90):
        seconds = Seconds(disk.device)
        seconds.phase("calm", 8)
        with ExitStack() as demand:
            disk.throttle(write_iops=SLOW_WRITE_IOPS)
            demand.enter_context(load(disk, *DEMAND, seconds=60))
            seconds.phase("slow", 10)
            disk.free()
            seconds.phase("free", 5)
            seconds.wait(_MARGIN_SECONDS)
            disk.freeze()
            seconds.phase("free", 1)
            seconds.phase("hang", 4)
            seconds.wait(1 - _MARGIN_SECONDS)
            disk.thaw()
            seconds.phase("after", 6)
        seconds.phase("calm again", 6)
        yield from seconds.readings


if __name__ == "__main__":
    readings = [asdict(one) for one in record()]
    facts = {
        "kernel": os.uname().release.split("-")[0],
        "user_hz": os.sysconf("SC_CLK_TCK"),
        "device": readings[0]["diskstats"].split()[2],
        "slow_write_iops": SLOW_WRITE_IOPS,
        "seconds": readings,
    }
    Path(sys.argv[1]).write_text(json.dumps(facts, indent=1) + "\n")
