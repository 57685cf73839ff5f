"""What the kernel counts: /proc/diskstats of one device, the CPUs, and I/O pressure.

The sources are Documentation/admin-guide/iostats.rst, block/blk-core.c (`update_io_ticks`),
block/blk-mq.c (`blk_account_io_done`), block/blk-flush.c and accounting/psi.rst.
"""

import math
import random
from dataclasses import dataclass, field
from enum import Enum

READ, WRITE, DISCARD, FLUSH = range(4)
USER_HZ = 100


class IoTicks(Enum):
    """How the kernel counts the time with a request in flight.

    ONE: Linux 5.0 to 5.6. Each jiffy in which a request starts or ends counts.
    START: Linux 5.7 to 6.9. A request that ends adds the time since the last start or end; one that
        starts adds one jiffy and discards that time.
    PRECISE: since Linux 6.10. Both add the time since the last event, if requests were in flight.
    """

    ONE = "5.0-5.6"
    START = "5.7-6.9"
    PRECISE = "6.10"


@dataclass
class BlockDevice:
    """The counters of one block device."""

    name: str = "sdx"
    ticks: IoTicks = IoTicks.START
    hz: int = 250
    counts_flushes: bool = True
    ios: list[float] = field(default_factory=lambda: [0.0] * 4)
    byte_counts: list[float] = field(default_factory=lambda: [0.0] * 3)
    seconds: list[float] = field(default_factory=lambda: [0.0] * 4)
    in_flight: int = 0
    #: The mean number of requests in flight of traffic that is not simulated one by one.
    flowing: float = 0.0
    io_jiffies: float = 0.0
    _stamp: int = 0

    def start(self, now: float) -> None:
        self._update(now, is_end=False)
        self.in_flight += 1

    def end(self, now: float, op: int, started: float, size: float) -> None:
        self._update(now, is_end=True)
        self.in_flight -= 1
        self.ios[op] += 1
        self.byte_counts[op] += size
        self.seconds[op] += now - started

    def flush(self, count: float, seconds: float) -> None:
        self.ios[FLUSH] += count
        self.seconds[FLUSH] += seconds

    def _update(self, now: float, *, is_end: bool) -> None:
        jiffy = int(now * self.hz)
        if jiffy <= self._stamp:
            return
        elapsed, self._stamp = jiffy - self._stamp, jiffy
        if self.ticks is IoTicks.ONE or (self.ticks is IoTicks.START and not is_end):
            self.io_jiffies += 1
        elif is_end or self.in_flight:
            self.io_jiffies += elapsed

    def flow(
        self,
        seconds: float,
        classes: list[tuple[int, float, float, float]],
        closed: float,
        busy: float | None = None,
    ) -> None:
        """Adds traffic that is too fast to be simulated one by one.

        classes: operation, requests per second, await and size of each class.
        closed: the share of the requests that a completion starts, 0 to 1.
        busy: the share of the time with a request in flight; None for requests at random times.
        """
        rate = flowing = 0.0
        for op, per_second, wait, size in classes:
            self.ios[op] += per_second * seconds
            self.byte_counts[op] += per_second * size * seconds
            self.seconds[op] += per_second * wait * seconds
            rate += per_second
            flowing += per_second * wait
        self.flowing = flowing
        is_busy = 1 - math.exp(-flowing) if busy is None else busy
        is_busy = 1.0 if self.in_flight else is_busy
        if self.ticks is IoTicks.PRECISE:
            counted = is_busy
        else:
            # The first event of a jiffy decides how much is added.
            events = rate * (2 - closed) / self.hz
            hit = 1 - math.exp(-events)
            starts = (1 - closed) / (2 - closed)
            mixed = hit * starts + (1 - starts) * is_busy
            if self.ticks is IoTicks.ONE or (flowing < 1 and busy is None):
                counted = hit
            elif flowing < 1:
                counted = max(hit, mixed)
            else:
                counted = mixed
        self.io_jiffies += counted * seconds * self.hz
        self._stamp += round(seconds * self.hz)

    def line(self, rng: random.Random, flying: int | None = None) -> str:
        """Returns the line of /proc/diskstats.

        flying: the number of requests in flight; None for a number near its mean.
        """
        waiting = self.in_flight + int(self.flowing + rng.random()) if flying is None else flying
        ms = [int(seconds * 1000) for seconds in self.seconds]
        sectors = [int(count / 512) for count in self.byte_counts]
        ios = [int(count) for count in self.ios]
        values = [
            *(ios[READ], 0, sectors[READ], ms[READ], ios[WRITE], 0, sectors[WRITE], ms[WRITE]),
            *(waiting, int(self.io_jiffies * 1000 / self.hz), sum(ms[:3])),
            *(ios[DISCARD], 0, sectors[DISCARD], ms[DISCARD]),
        ]
        if self.counts_flushes:
            values += [ios[FLUSH], ms[FLUSH]]
        return f"   8       0 {self.name} {' '.join(map(str, values))}\n"


@dataclass
class Cpu:
    """What one CPU did: the shares of the time in each mode, and its softirqs per second."""

    user: float = 0.02
    system: float = 0.02
    iowait: float = 0.0
    softirq: float = 0.0
    block_per_second: float = 0.0
    network_per_second: float = 0.0
    spent: list[float] = field(default_factory=lambda: [0.0] * 5)
    block: float = 0.0
    network: float = 0.0

    def advance(self, seconds: float) -> None:
        used = [self.user, self.system, self.iowait, self.softirq]
        idle = max(0.0, 1 - sum(used))
        for index, share in enumerate([*used, idle]):
            self.spent[index] += share * seconds
        self.block += self.block_per_second * seconds
        self.network += self.network_per_second * seconds

    def line(self, name: str) -> str:
        user, system, iowait, softirq, idle = (int(spent * USER_HZ) for spent in self.spent)
        return f"{name} {user} 0 {system} {idle} {iowait} 0 {softirq} 0 0 0\n"


def stat_text(cpus: list[Cpu]) -> str:
    total = Cpu(spent=[sum(column) for column in zip(*(cpu.spent for cpu in cpus), strict=True)])
    lines = [total.line("cpu"), *(cpu.line(f"cpu{n}") for n, cpu in enumerate(cpus))]
    return "".join(lines) + "intr 1\n"


def softirqs_text(cpus: list[Cpu]) -> str:
    head = "      " + "".join(f"{f'CPU{n}':>11}" for n in range(len(cpus)))
    rows = [
        ("HI", [0] * len(cpus)),
        ("TIMER", [int(sum(cpu.spent) * 100) for cpu in cpus]),
        ("NET_TX", [int(cpu.network / 50) for cpu in cpus]),
        ("NET_RX", [int(cpu.network) for cpu in cpus]),
        ("BLOCK", [int(cpu.block) for cpu in cpus]),
        ("IRQ_POLL", [0] * len(cpus)),
        ("TASKLET", [0] * len(cpus)),
        ("SCHED", [int(sum(cpu.spent) * 80) for cpu in cpus]),
        ("HRTIMER", [0] * len(cpus)),
        ("RCU", [int(sum(cpu.spent) * 60) for cpu in cpus]),
    ]
    body = "".join(f"{name:>9}:" + "".join(f" {n:>10}" for n in row) + "\n" for name, row in rows)
    return head + "\n" + body


def pressure_text(seconds: float) -> str:
    line = f"avg10=0.00 avg60=0.00 avg300=0.00 total={int(seconds * 1e6)}\n"
    return f"some {line}full {line}"
