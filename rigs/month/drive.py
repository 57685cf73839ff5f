"""Simulates a drive: request latencies and the counters of the kernel."""

import math
import random
from dataclasses import dataclass

from exporter.linux.diskstats import SECTOR_BYTES, DiskStats
from rigs.month.demand import MB, Demand

_PAGE = 16_384
_READAHEAD, _LONG_WRITE = 131_072, 524_288

#: Throughput of an unlimited copy.
_COPY_BYTES = 60_000 * MB

#: Variation of a second from the mean of its minute.
_NOISE = tuple(random.Random("noise").lognormvariate(-0.02, 0.2) for _ in range(4099))

#: Mean interval in seconds at which a drive is busy with internal work for one second.
_HICCUP_SECONDS = 30_000.0


@dataclass(frozen=True, slots=True)
class Make:
    """Performance of a drive model.

    *_seconds: latency of a single request. parallel: requests served concurrently.
    depth: large writes in flight. Write-back throttling of the kernel limits them to 8 on SATA.
    cache_bytes: size of the write cache; None for a drive without one.
    """

    read_seconds: float
    write_seconds: float
    flush_seconds: float
    parallel: int
    read_bytes_per_second: float
    write_bytes_per_second: float
    depth: int = 8
    cache_bytes: float | None = None
    folded_bytes_per_second: float = math.inf


#: A datacenter NVMe drive with power-loss protection; the kernel sends no flushes.
NVME = Make(85e-6, 22e-6, 0, 48, 3_200 * MB, 2_000 * MB)
SATA = Make(140e-6, 60e-6, 1.5e-3, 8, 540 * MB, 480 * MB)
#: A consumer drive with an SLC cache.
CACHED = Make(
    *(90e-6, 25e-6, 0.9e-3, 32, 3_000 * MB, 2_000 * MB),
    cache_bytes=90_000 * MB,
    folded_bytes_per_second=500 * MB,
)


class ModelDrive:
    """Counters of one drive, second by second.

    slowness: factor for all latencies. cache_ratio: remaining share of the cache. Faults set both.
    """

    def __init__(self, name: str, make: Make, number: str) -> None:
        self.name = name
        self.make = make
        self.slowness = 1.0
        self.cache_ratio = 1.0
        self._number = number
        self._chance = random.Random(f"drive {name} {number}")
        self._noise = self._chance.randrange(len(_NOISE))
        self._hiccup_in = self._chance.expovariate(1 / _HICCUP_SECONDS)
        self._cached = self._copied = 0.0
        self._reads = self._writes = self._discards = self._flushes = 0
        self._read_sectors = self._written_sectors = self._discarded_sectors = 0
        self._read_ms = self._write_ms = self._discard_ms = self._flush_ms = self._io_ms = 0.0

    def work(self, wanted: Demand, number: int, seconds: int) -> DiskStats:
        """Counters of diskstats after `seconds`, starting with second `number` of the minute."""
        make = self.make
        self._noise = (self._noise + 1) % len(_NOISE)
        noise = _NOISE[self._noise]
        reads, writes = wanted.reads * noise, wanted.writes * noise
        if wanted.bursts and number < 8:
            writes += wanted.bursts * noise
        stream_in = wanted.read_stream_bytes
        stream_out, rate = self._written(wanted, number, seconds)
        slowness = self._slowed()
        load = (
            slowness * (reads * make.read_seconds + writes * make.write_seconds) / make.parallel
            + stream_in / make.read_bytes_per_second
            + stream_out / rate
        )
        if load > 1:
            # Clients that wait for a response send no further requests.
            reads, writes, load = reads / load, writes / load, 1.0
        # Queueing in the drive: negligible at half load, eightfold latency at full load.
        crowd = slowness * (1 + 0.15 * load * load / (1.02 - load))
        reads, writes = int(reads * seconds), int(writes * seconds)
        flushes = int(wanted.flushes * noise * seconds)
        discards = int(wanted.discards * noise * seconds)
        stream_in, stream_out = stream_in * seconds, stream_out * seconds
        long_reads, long_writes = int(stream_in / _READAHEAD), int(stream_out / _LONG_WRITE)
        read_seconds = reads * make.read_seconds * crowd
        read_seconds += long_reads * 2 * _READAHEAD / make.read_bytes_per_second * crowd
        write_seconds = writes * make.write_seconds * crowd
        write_seconds += long_writes * make.depth * _LONG_WRITE / rate * slowness
        discard_seconds = discards * 1e-3
        flight = (read_seconds + write_seconds + discard_seconds) / seconds
        self._reads += reads + long_reads
        self._writes += writes + long_writes
        self._discards += discards
        self._flushes += flushes
        self._read_sectors += (reads * _PAGE + long_reads * _READAHEAD) // SECTOR_BYTES
        self._written_sectors += (writes * _PAGE + long_writes * _LONG_WRITE) // SECTOR_BYTES
        self._discarded_sectors += discards * 2048
        self._read_ms += read_seconds * 1000
        self._write_ms += write_seconds * 1000
        self._discard_ms += discard_seconds * 1000
        self._flush_ms += flushes * make.flush_seconds * crowd * (1 + load) * 1000
        # Requests arrive randomly: share of time with at least one request in flight, for this mean
        # number in flight.
        self._io_ms += (1 - math.exp(-flight)) * 1000 * seconds
        return DiskStats(
            self.name,
            self._number,
            self._reads,
            0,
            self._read_sectors,
            int(self._read_ms),
            self._writes,
            0,
            self._written_sectors,
            int(self._write_ms),
            int(flight),
            int(self._io_ms),
            int(self._read_ms + self._write_ms + self._discard_ms),
            self._discards,
            0,
            self._discarded_sectors,
            int(self._discard_ms),
            self._flushes,
            int(self._flush_ms),
        )

    def _slowed(self) -> float:
        self._hiccup_in -= 0.5
        if self._hiccup_in < 0:
            self._hiccup_in = self._chance.expovariate(1 / _HICCUP_SECONDS)
            return self.slowness * 30
        return self.slowness

    def _written(self, wanted: Demand, number: int, seconds: int) -> tuple[float, float]:
        """Bytes of the stream written per second, and the throughput of the drive."""
        make = self.make
        rate, bytes_ = make.write_bytes_per_second, wanted.write_stream_bytes
        if not bytes_:
            self._cached = self._copied = 0.0
            return 0.0, rate
        if make.cache_bytes is not None and self._cached > make.cache_bytes * self.cache_ratio:
            rate = make.folded_bytes_per_second
        if math.isinf(bytes_):
            bytes_ = min(rate, (_COPY_BYTES - self._copied) / seconds)
        elif wanted.written_behind:
            # Five seconds of data within two seconds.
            bytes_ = bytes_ * 2.5 if number % 5 < 2 else 0.0
        self._cached += bytes_ * seconds
        self._copied += bytes_ * seconds
        return bytes_, rate
