"""A composed host that simulates every request of a slow or restless device, one by one.

The flows of `composed_host` credit the time of requests at once. Here it is credited when each
request completes, as the kernel does, so that long waits, holds and bursts look as they do on a
host. A device has some servers and one queue. From time to time it is held: by a discard, a flush
or its own work.
"""

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, replace

from rigs.scenes.composed_host import Change, ComposedHost

#: From about a second on, a hold of the whole queue rightly counts as a stall.
_LONGEST_HOLD = 0.8


@dataclass(frozen=True)
class Threads:
    """A workload of single requests.

    count: the threads; each has one request in flight at most.
    think_seconds: the mean pause after a request.
    batch_every: if not 0, all threads start together, this often.
    service: the mean service time as a multiple of that of the device.
    """

    op: int
    count: int
    think_seconds: float = 0.0
    batch_every: float = 0.0
    service: float = 1.0
    begin: float = 0.0
    end: float = math.inf


@dataclass(frozen=True)
class Device:
    """The servers of a device, and its holds.

    service_seconds, spread: mean of the service time, and the sigma of its logarithm.
    hold_every, hold_seconds: mean time between two holds, and the mean time of one; 0 for none.
    refill_every: a throttled volume serves `refill_count` requests in each period of this length.
    """

    servers: int
    service_seconds: float
    spread: float = 0.3
    hold_every: float = 0.0
    hold_seconds: float = 0.0
    refill_every: float = 0.0
    refill_count: int = 0


class RequestHost(ComposedHost):
    """Simulates the requests of threads on a device; see `ComposedHost`."""

    def load(self, device: Device, threads: list[Threads]) -> "RequestHost":
        self._device = device
        self._threads = threads
        self._events: list[tuple[float, int, int, float]] = []
        self._queue: deque[tuple[int, float]] = deque()
        self._busy = 0
        self._held_until = self._woken_at = 0.0
        self._next_hold = self._hold_after(0.0)
        self._tokens, self._period = device.refill_count, 0
        self._hanging: list[tuple[int, float]] = []
        self._done: set[Change] = set()
        for index, some in enumerate(threads):
            for _ in range(some.count):
                begin = some.begin + (0.0 if some.batch_every else self.rng.random() * 0.1)
                heapq.heappush(self._events, (begin, 0, index, 0.0))
        return self

    def flying(self) -> int:
        return self.block.in_flight

    def _hold_after(self, at: float) -> float:
        every = self._device.hold_every
        return at + self.rng.expovariate(1 / every) if every else math.inf

    def _step(self, seconds: float) -> None:
        end = round(self.now + seconds, 6)
        rng, events, block = self.rng, self._events, self.block
        self._end_hangs()
        while events and events[0][0] < end:
            at, kind, index, started = heapq.heappop(events)
            if at >= self._next_hold:
                hold = rng.expovariate(1 / self._device.hold_seconds)
                self._held_until = at + min(hold, _LONGEST_HOLD)
                self._next_hold = self._hold_after(self._held_until)
            some = self._threads[index] if index >= 0 else None
            if kind == 0 and some is not None:
                if at < some.end:
                    block.start(at)
                    self._queue.append((index, at))
            elif kind == 1 and some is not None:
                self._busy -= 1
                if self._hangs_now(at):
                    self._hanging.append((some.op, started))
                else:
                    block.end(at, some.op, started, 16384.0)
                    self._again(at, index, some)
            self._start_waiting(at)
        self.waited += seconds * (0.9 if block.in_flight else 0.0)
        self._depth = float(block.in_flight)
        for cpu in self.cpus:
            cpu.advance(seconds)
        self.now = end
        self.clock.advance(max(end + 1000.0 - self.clock.monotonic(), 0.0))

    def _again(self, at: float, index: int, some: Threads) -> None:
        if some.batch_every:
            following = math.floor(at / some.batch_every + 1) * some.batch_every
        else:
            think = some.think_seconds
            following = at + (self.rng.expovariate(1 / think) if think else 0.0)
        heapq.heappush(self._events, (following, 0, index, 0.0))

    def _start_waiting(self, at: float) -> None:
        device = self._device
        if at < self._held_until:
            self._wake_at(self._held_until)
            return
        if device.refill_every and int(at / device.refill_every) != self._period:
            self._period, self._tokens = int(at / device.refill_every), device.refill_count
        while self._queue and self._busy < device.servers:
            if device.refill_every:
                if not self._tokens:
                    self._wake_at((self._period + 1) * device.refill_every + 1e-6)
                    return
                self._tokens -= 1
            index, started = self._queue.popleft()
            self._busy += 1
            mean = device.service_seconds * self._threads[index].service
            time = mean * math.exp(self.rng.gauss(-(device.spread**2) / 2, device.spread))
            heapq.heappush(self._events, (at + time, 1, index, started))

    def _wake_at(self, at: float) -> None:
        if at > self._woken_at:
            self._woken_at = at
            heapq.heappush(self._events, (at, 2, -1, 0.0))

    def _hangs_now(self, at: float) -> bool:
        for change in self.changes:
            is_due = change.kind == "stick" and change.begin <= at < change.end
            if is_due and change not in self._done:
                self._done.add(change)
                return True
        return False

    def _end_hangs(self) -> None:
        if self._hanging and all(self.now >= change.end for change in self.changes):
            for op, started in self._hanging:
                self.block.end(self.now, op, started, 16384.0)
            self._hanging = []


def drawn(rng: random.Random, kind: str) -> tuple[Device, list[Threads]]:
    """Draws a device of this kind, and its load of at most some thousand requests per second."""
    count = rng.choice([2, 4, 8, 16, 32, 64])
    reads = Threads(0, count, rng.choice([0.0, 0.01, 0.03, 0.1]))
    writes = Threads(1, rng.choice([1, 4, 16]), rng.choice([0.01, 0.05]))
    commits = Threads(1, rng.choice([1, 4]), 0.01, service=2.0)
    service = 10 ** rng.uniform(-2.5, -1.7)
    if kind == "holds":
        # Discards, flushes or garbage collection hold the whole queue.
        device = Device(
            rng.choice([2, 4, 8]),
            service,
            hold_every=rng.uniform(0.3, 30),
            hold_seconds=10 ** rng.uniform(-1.5, 0.4),
        )
        return device, [reads, writes, commits]
    if kind == "write-back":
        waves = Threads(1, rng.choice([64, 256, 800]), 0.0, batch_every=rng.choice([1.0, 5.0, 7.3]))
        return Device(rng.choice([4, 8]), service, spread=0.5), [reads, commits, waves]
    if kind == "deep queue":
        # Each request waits for 0.1 to 4 seconds.
        servers = rng.choice([1, 4])
        depth = int(min(max(10 ** rng.uniform(-1, 0.6) * servers / service, 8), 1000))
        return Device(servers, service, spread=0.7), [Threads(1, depth), replace(reads, count=2)]
    if kind == "throttled volume":
        device = Device(
            64,
            rng.uniform(0.5e-3, 2e-3),
            refill_every=rng.choice([0.1, 0.5, 1.0]),
            refill_count=rng.randint(30, 600),
        )
        return device, [reads, writes]
    if kind == "few requests":
        think = rng.choice([0.05, 0.3, 1.0])
        return Device(8, 10 ** rng.uniform(-3, -1), spread=1.0), [Threads(0, count, think)]
    # dm or md: a request takes as long as the slowest of its parts, and some are large.
    large = Threads(1, rng.choice([4, 16]), rng.choice([0.0, 0.1]), service=10.0)
    return Device(rng.choice([4, 8]), service, spread=1.0), [reads, writes, large]


KINDS = ("holds", "write-back", "deep queue", "throttled volume", "few requests", "dm and md")
