"""The drives and workloads of the scenes, with properties drawn at random."""

import random
from dataclasses import replace

from rigs.scenes.drive import MIB, Job, Model
from rigs.scenes.kernel import READ, WRITE, IoTicks

PAGE = 16384.0
GB = 1e9


def nvme(rng: random.Random) -> Model:
    """A data-centre drive behind PCIe 3 or 4."""
    reads = rng.uniform(350e3, 600e3)
    return Model(
        kind="nvme",
        name="nvme",
        read_seconds=rng.uniform(70e-6, 110e-6),
        write_seconds=rng.uniform(12e-6, 30e-6),
        reads_per_second=reads,
        iops=rng.uniform(700e3, 900e3),
        read_rate=rng.uniform(3e9, 6.5e9),
        write_rate=rng.uniform(1.5e9, 3.5e9),
        slow_rate=rng.uniform(1.5e9, 3.5e9),
        flush_seconds=rng.uniform(20e-6, 60e-6),
        tags=1023,
    )


def consumer_nvme(rng: random.Random) -> Model:
    """A drive with a flash cache and without power-loss protection."""
    fast = rng.uniform(1.5e9, 4e9)
    return replace(
        nvme(rng),
        name="consumer",
        write_rate=fast,
        slow_rate=fast * rng.uniform(0.08, 0.5),
        cache_bytes=rng.uniform(25, 150) * GB,
        flush_seconds=rng.uniform(0.5e-3, 3e-3),
        fold_rate=rng.uniform(0.05, 0.3) * fast,
    )


def sata(rng: random.Random) -> Model:
    return Model(
        kind="ssd",
        name="sata",
        read_seconds=rng.uniform(100e-6, 170e-6),
        write_seconds=rng.uniform(40e-6, 80e-6),
        reads_per_second=rng.uniform(26e3, 45e3),
        iops=rng.uniform(75e3, 95e3),
        read_rate=rng.uniform(500e6, 550e6),
        write_rate=rng.uniform(400e6, 500e6),
        slow_rate=rng.uniform(400e6, 500e6),
        flush_seconds=rng.uniform(0.2e-3, 2e-3),
        discard_seconds=rng.uniform(0.3e-3, 2e-3),
        blocks_on_discard=True,
        tags=64,
    )


def consumer_sata(rng: random.Random) -> Model:
    drive = sata(rng)
    return replace(
        drive,
        slow_rate=drive.write_rate * rng.uniform(0.1, 0.55),
        cache_bytes=rng.uniform(8, 40) * GB,
        fold_rate=rng.uniform(20e6, 80e6),
    )


def disk(rng: random.Random) -> Model:
    """A rotating disk."""
    seek = rng.uniform(6e-3, 11e-3)
    return Model(
        kind="rotational",
        name="disk",
        read_seconds=seek,
        write_seconds=seek,
        reads_per_second=1 / seek * 1.4,
        iops=1 / seek * 1.6,
        read_rate=180e6,
        write_rate=170e6,
        slow_rate=170e6,
        flush_seconds=seek,
        tags=64,
    )


def cloud(rng: random.Random) -> Model:
    """A volume of a cloud provider, limited to its rate. It appears as an NVMe drive."""
    limit = rng.choice([3000, 3000, 6000, 10000, 16000])
    return Model(
        kind="nvme",
        name="cloud",
        read_seconds=rng.uniform(0.4e-3, 0.9e-3),
        write_seconds=rng.uniform(0.5e-3, 1.2e-3),
        reads_per_second=250e3,
        iops=260e3,
        read_rate=2e9,
        write_rate=2e9,
        slow_rate=2e9,
        random_write_ratio=1.0,
        flush_seconds=0.1e-3,
        tags=1023,
        limit_iops=limit,
        limit_rate=rng.choice([125e6, 250e6, 500e6]),
    )


def commits(clients: int, *, think_seconds: float = 0.0) -> Job:
    """Transactions that write the redo log and wait for it."""
    return Job(WRITE, 4096, clients, think_seconds=think_seconds, flushes=True)


def reads(
    depth: float, *, size: float = PAGE, think_seconds: float = 0.0, blocks: bool = True
) -> Job:
    return Job(READ, size, depth, think_seconds=think_seconds, blocks=blocks)


def read_rate(per_second: float, *, size: float = PAGE, limit: int = 256) -> Job:
    return Job(READ, size, limit, rate=per_second)


def write_rate(per_second: float, *, size: float = PAGE, limit: int = 256) -> Job:
    return Job(WRITE, size, limit, rate=per_second, is_random=True, blocks=False)


def bulk(depth: float, *, size: float = MIB, think_seconds: float = 0.0) -> Job:
    """Sequential writes, for example of a restore."""
    return Job(WRITE, size, depth, think_seconds=think_seconds)


def light(rng: random.Random, drive: Model) -> list[Job]:
    """A load at which the drive is nearly always idle or has one request in flight."""
    per_second = 0.03 / max(drive.read_seconds, drive.write_seconds)
    per_second = max(12.0 if drive.kind != "rotational" else 5.0, min(per_second, 600.0))
    return [
        read_rate(per_second * rng.uniform(0.5, 1)),
        write_rate(per_second * rng.uniform(0.3, 0.7)),
    ]


def any_kernel(rng: random.Random) -> tuple[IoTicks, int]:
    """Returns a way of counting time, and the jiffies per second."""
    return rng.choice([IoTicks.START, IoTicks.START, IoTicks.PRECISE]), rng.choice([250, 1000])
