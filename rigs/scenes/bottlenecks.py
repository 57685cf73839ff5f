"""Scenes of one drive whose bottleneck is known.

The drive is the bottleneck if its busiest resource (flash units, bandwidth or controller) is used
for at least 93 % of the time. It is not if that share is at most 80 %. No scene is between.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from exporter.config.drive_class import VolumeType
from rigs.scenes import loads
from rigs.scenes.drive import MIB, Job, Model
from rigs.scenes.host import Host, Second
from rigs.scenes.kernel import DISCARD, IoTicks
from rigs.scenes.loads import PAGE
from rigs.scenes.table import OutsideClass, Result, SceneClass

#: What the exporter may show. `none` is never a false claim, and neither is `unknown`.
CLAIMS = {"device", "cpu_softirq", "write_cache", "thermal", "link", "throttled"}

#: Time until a verdict is expected, in seconds: the window of the verdict, and a few samples.
_LEAD = 12.0

Setup = Callable[[random.Random], Host]


def host_of(
    rng: random.Random,
    drive: Model,
    *,
    one_by_one: bool = False,
    volume: VolumeType = VolumeType.DRIVE,
    cpu_count: int = 4,
    kernel: tuple[IoTicks, int] | None = None,
) -> Host:
    ticks, hz = kernel or loads.any_kernel(rng)
    return Host(
        drive,
        rng,
        ticks=ticks,
        hz=hz,
        one_by_one=one_by_one,
        volume=volume,
        cpu_count=cpu_count,
    )


def warm(host: Host, rng: random.Random, seconds: float = 200.0) -> None:
    """Lets the exporter learn the normal await of the drive."""
    one_by_one, host.one_by_one = host.one_by_one, False
    host.run(seconds, loads.light(rng, host.model))
    host.one_by_one = one_by_one


def judged(seconds: Iterable[Second], right: set[str]) -> Result:
    """Compares what was shown after the lead with the right verdicts."""
    shown = [second.verdict for second in seconds]
    counts = Counter(shown)
    most = counts.most_common(1)[0][0]
    wrong = sum(count for name, count in counts.items() if name in CLAIMS - right)
    first = next((i for i, name in enumerate(shown) if name in right), None)
    return Result(
        is_hit=most in right,
        is_false=wrong > 0.05 * len(shown),
        latency_seconds=None if first is None or right == {"none"} else first + _LEAD,
        note=" ".join(f"{name}:{count}" for name, count in counts.items()),
    )


def measure(
    host: Host,
    jobs: list[Job],
    right: set[str],
    *,
    seconds: float = 60.0,
    is_full: bool | None = None,
) -> Result:
    """Runs the workload and compares the verdicts, without those of the first seconds."""
    begun = len(host.log)
    host.run(seconds, jobs)
    seen = host.log[begun + int(_LEAD / host.interval) :]
    used = sum(second.used for second in seen) / len(seen)
    if is_full is not None and not (used >= 0.93 if is_full else used <= 0.8):
        raise OutsideClass
    result = judged(seen, right)
    return replace(result, note=f"used {used:.2f} {result.note}")


# The drive has throughput to spare.


def _few_readers(rng: random.Random) -> Result:
    with host_of(rng, loads.nvme(rng)) as host:
        warm(host, rng)
        return measure(host, [loads.reads(rng.choice([1, 4, 8, 16]))], {"none"}, is_full=False)


def _many_short_requests(rng: random.Random) -> Result:
    ticks = (IoTicks.START, 250)
    with host_of(rng, loads.sata(rng), one_by_one=True, kernel=ticks) as host:
        warm(host, rng)
        jobs = [loads.read_rate(rng.uniform(150, 500)), loads.write_rate(rng.uniform(50, 300))]
        return measure(host, jobs, {"none"}, seconds=40, is_full=False)


def _iowait(rng: random.Random) -> Result:
    with host_of(rng, loads.nvme(rng)) as host:
        warm(host, rng)
        for cpu in host.cpus:
            cpu.iowait = rng.uniform(0.4, 0.9)
        host.waits_elsewhere = rng.uniform(0.4, 1.0)
        return measure(host, [loads.reads(rng.choice([2, 8]))], {"none"}, is_full=False)


def _computing(rng: random.Random) -> Result:
    with host_of(rng, loads.nvme(rng)) as host:
        warm(host, rng)
        for cpu in host.cpus:
            cpu.user, cpu.system, cpu.softirq = 0.85, 0.1, 0.03
        return measure(host, [loads.reads(rng.choice([2, 8]))], {"none"}, is_full=False)


def _limited_by_cgroup(rng: random.Random) -> Result:
    """io.max delays requests before the kernel starts to count them."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    with host_of(rng, drive, one_by_one=True) as host:
        warm(host, rng)
        host.waits_elsewhere = 0.95
        return measure(host, [loads.read_rate(rng.choice([200, 500, 1000]))], {"none"}, seconds=40)


def _commits(rng: random.Random) -> Result:
    drive = replace(loads.nvme(rng), flush_seconds=rng.choice([30e-6, 200e-6, 600e-6]))
    with host_of(rng, drive) as host:
        warm(host, rng)
        clients = rng.choice([1, 2, 3])
        return measure(host, [loads.commits(clients)], {"none", "unknown"})


def _light_backup(rng: random.Random) -> Result:
    drive = loads.nvme(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        jobs = [loads.read_rate(drive.read_rate * rng.uniform(0.1, 0.4) / MIB, size=MIB)]
        return measure(host, [*jobs, loads.reads(2)], {"none"}, is_full=False)


def _writeback(rng: random.Random) -> Result:
    """The kernel writes its dirty pages every 30 seconds, at the full speed of the drive."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        begun = len(host.log)
        for _ in range(3):
            host.run(rng.uniform(1, 2.5), [loads.bulk(32, size=PAGE * 8), loads.reads(1)])
            host.run(29, loads.light(rng, drive))
        return judged(host.log[begun:], {"none"})


def _network_card(rng: random.Random) -> Result:
    """A network card uses all of one CPU. The drive has some work on other CPUs."""
    with host_of(rng, loads.nvme(rng), cpu_count=rng.choice([8, 32, 64])) as host:
        warm(host, rng, 120)
        network = host.cpus[0]
        network.softirq = rng.uniform(0.92, 0.99)
        network.user = network.system = 0.0
        network.network_per_second = rng.uniform(2e3, 50e3)
        for cpu in host.cpus:
            cpu.block_per_second = rng.choice([0.0, 20.0, 200.0])
        jobs = [loads.reads(rng.choice([4, 12, 16]))]
        return measure(host, jobs, {"none"}, seconds=30, is_full=False)


def _network_and_few_completions(rng: random.Random) -> Result:
    """The CPU of the network card also completes the few requests of a drive."""
    with host_of(rng, loads.sata(rng), cpu_count=rng.choice([4, 16])) as host:
        warm(host, rng, 120)
        network = host.cpus[0]
        network.softirq = rng.uniform(0.92, 0.99)
        network.user = network.system = 0.0
        network.network_per_second = rng.uniform(2e3, 50e3)
        network.block_per_second = rng.uniform(50, 600)
        jobs = [loads.read_rate(rng.uniform(500, 1500)), loads.reads(1)]
        return measure(host, jobs, {"none"}, seconds=30, is_full=False)


def _well_used(rng: random.Random) -> Result:
    """Random reads use the drive for 50 to 75 % of the time."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    most = min(drive.reads_per_second, drive.read_rate / PAGE)
    with host_of(rng, drive) as host:
        warm(host, rng)
        jobs = [loads.read_rate(most * rng.uniform(0.5, 0.75), limit=1000)]
        return measure(host, jobs, {"none"}, is_full=False)


def _larger_reads(rng: random.Random) -> Result:
    """A scan with read-ahead uses the drive for 30 to 70 % of the time."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    size = rng.choice([65536, 131072, 262144])
    with host_of(rng, drive) as host:
        warm(host, rng)
        jobs = [loads.read_rate(drive.read_rate / size * rng.uniform(0.3, 0.65), size=size)]
        return measure(host, [*jobs, loads.reads(1)], {"none"})


def _resync(rng: random.Random) -> Result:
    """md reads and writes at its limit of 200 MB/s."""
    drive = loads.nvme(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        per_second = 200e6 / (PAGE * 8)
        jobs = [
            loads.read_rate(per_second, size=PAGE * 8),
            Job(1, PAGE * 8, 128, rate=per_second / 2, blocks=False),
        ]
        return measure(host, [*jobs, loads.reads(2)], {"none"}, is_full=False)


def _replica(rng: random.Random) -> Result:
    """A replica applies the log with one thread: a read at a time, and commits."""
    with host_of(rng, loads.nvme(rng)) as host:
        warm(host, rng)
        jobs = [loads.reads(1), loads.commits(1)]
        return measure(host, jobs, {"none", "unknown"}, is_full=False)


def _snapshot(rng: random.Random) -> Result:
    """Each first write to a chunk copies 64 KiB."""
    drive = loads.nvme(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        per_second = rng.uniform(500, 3000)
        jobs = [
            loads.write_rate(per_second),
            loads.read_rate(per_second / 3, size=65536),
            loads.write_rate(per_second / 3, size=65536),
        ]
        return measure(host, jobs, {"none"}, is_full=False)


def _trim(rng: random.Random) -> Result:
    """fstrim on a drive that queues discards."""
    drive = loads.nvme(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        jobs = [Job(DISCARD, 4096, 4, think_seconds=0.001), loads.reads(2)]
        return measure(host, jobs, {"none"}, is_full=False)


# The drive is full.


def _full(
    make: Callable[[random.Random], Model],
    jobs: Callable[[random.Random], list[Job]],
    *,
    is_warm: bool = True,
    one_by_one: bool = False,
    ticks: IoTicks | None = None,
) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        kernel = None if ticks is None else (ticks, 250)
        with host_of(rng, make(rng), one_by_one=one_by_one, kernel=kernel) as host:
            if is_warm:
                warm(host, rng)
            return measure(host, jobs(rng), {"device"}, seconds=45, is_full=True)

    return run


def _fast_nvme(rng: random.Random) -> Model:
    return replace(loads.nvme(rng), reads_per_second=rng.uniform(700e3, 870e3), iops=900e3)


def _mixed_full(rng: random.Random) -> list[Job]:
    return [loads.reads(rng.choice([256, 512])), Job(1, PAGE, 64, is_random=True)]


def _deep_reads(rng: random.Random) -> list[Job]:
    return [loads.reads(rng.choice([224, 320, 512]), size=4096, blocks=rng.random() < 0.5)]


def _sata_reads(rng: random.Random) -> list[Job]:
    return [loads.reads(rng.choice([32, 48, 64]), blocks=rng.random() < 0.5)]


def _sata_bulk(rng: random.Random) -> list[Job]:
    return [loads.bulk(rng.choice([2, 4, 16])), loads.reads(1)]


def _disk_reads(rng: random.Random) -> list[Job]:
    return [loads.reads(rng.choice([8, 16, 32]))]


def _backup(rng: random.Random) -> list[Job]:
    return [loads.reads(rng.choice([16, 32]), size=MIB), loads.reads(8)]


def _blocking_discards(rng: random.Random) -> Result:
    drive = loads.sata(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        jobs = [Job(DISCARD, 4096, rng.choice([8, 16, 32])), loads.reads(8)]
        return measure(host, jobs, {"device"}, is_full=True)


def _slow_bulk_beside_reads(rng: random.Random) -> Result:
    """A worn-out drive: 30 to 60 MB/s of writes, and 200 reads a second that wait behind them."""
    rate = rng.uniform(30e6, 60e6)
    drive = replace(loads.sata(rng), write_rate=rate, slow_rate=rate)
    with host_of(rng, drive, one_by_one=True, kernel=(IoTicks.START, 250)) as host:
        warm(host, rng)
        size = rng.choice([MIB, MIB / 2, MIB / 4])
        jobs = [Job(1, size, rng.choice([8, 16, 30]), blocks=True), loads.read_rate(200)]
        return measure(host, jobs, {"device"}, seconds=45, is_full=True)


def _taught(
    teach: Callable[[random.Random, Host], None],
) -> Callable[[random.Random], Result]:
    """The exporter saw this load in the hours before; then the drive is full."""

    def run(rng: random.Random) -> Result:
        drive = rng.choice([loads.nvme, loads.sata])(rng)
        with host_of(rng, drive) as host:
            teach(rng, host)
            jobs = _mixed_full(rng) if drive.kind == "nvme" else _sata_reads(rng)
            return measure(host, jobs, {"device"}, seconds=45, is_full=True)

    return run


def _bursts_of_the_page_cleaner(rng: random.Random, host: Host) -> None:
    for _ in range(150):
        host.run(0.2, [Job(1, PAGE, 256, is_random=True, blocks=False), loads.reads(1)])
        host.run(0.8, [loads.read_rate(20)])
        host.run(1.0, loads.light(rng, host.model))


def _commits_before(rng: random.Random, host: Host) -> None:
    drive, host.model = host.model, replace(host.model, flush_seconds=rng.uniform(1e-3, 3e-3))
    host.run(250, [Job(1, 4096, 1, rate=rng.uniform(60, 90), flushes=True), loads.read_rate(50)])
    host.model = drive


def _large_reads_before(rng: random.Random, host: Host) -> None:
    per_second = 0.15 * host.model.read_rate / MIB
    host.run(150, [loads.read_rate(per_second, size=MIB)])
    host.run(50, loads.light(rng, host.model))


# Other causes.


def _fail_slow(rng: random.Random) -> Result:
    """The drive takes 5 to 20 times as long for each request, and is not full."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        host.slow_factor = 1 / rng.uniform(30, 60) if drive.kind == "nvme" else 1 / 30
        jobs = [loads.reads(2, think_seconds=0.002)]
        return measure(host, jobs, {"unknown"}, is_full=False)


def _busy_completions(host: Host, rng: random.Random) -> None:
    cpu = host.cpus[rng.randrange(len(host.cpus))]
    cpu.softirq, cpu.user, cpu.system = rng.uniform(0.91, 0.98), 0.0, 0.01
    cpu.block_per_second = rng.uniform(20e3, 80e3)


def _cpu_before_the_drive(rng: random.Random) -> Result:
    """One CPU handles all completions. Fewer requests reach the drive than it could serve."""
    with host_of(rng, loads.nvme(rng), cpu_count=rng.choice([4, 16])) as host:
        warm(host, rng)
        _busy_completions(host, rng)
        jobs = [loads.reads(12, blocks=False)]
        return measure(host, jobs, {"cpu_softirq"}, seconds=60, is_full=False)


def _cpu_completes_late(rng: random.Random) -> Result:
    """Requests that the drive has served wait for the CPU, and count as in flight."""
    drive = loads.nvme(rng)
    slow_cpu = replace(drive, iops=rng.uniform(80e3, 150e3))
    with host_of(rng, drive, cpu_count=rng.choice([4, 16])) as host:
        warm(host, rng)
        host.model = slow_cpu
        _busy_completions(host, rng)
        jobs = [loads.reads(rng.choice([128, 256]), blocks=False)]
        return measure(host, jobs, {"cpu_softirq", "unknown"}, seconds=60)


def _drive_and_cpu(rng: random.Random) -> Result:
    with host_of(rng, loads.nvme(rng), cpu_count=rng.choice([4, 16])) as host:
        warm(host, rng)
        _busy_completions(host, rng)
        return measure(host, _deep_reads(rng), {"unknown"}, seconds=60, is_full=True)


def _encrypted(rng: random.Random) -> Result:
    """dm-crypt above the drive writes with its own queue; the drive is full."""
    drive = rng.choice([loads.sata, loads.nvme])(rng)
    with host_of(rng, drive) as host:
        warm(host, rng)
        depth = 32 if drive.kind == "ssd" else 256
        return measure(host, [Job(1, PAGE, depth, is_random=True)], {"device"}, is_full=True)


_NONE: dict[str, Callable[[random.Random], Result]] = {
    "1 to 16 readers, NVMe": _few_readers,
    "short requests, io_ticks counts too much": _many_short_requests,
    "iowait of other devices": _iowait,
    "CPUs compute": _computing,
    "cgroup limit (io.max)": _limited_by_cgroup,
    "1 to 3 clients commit, NVMe (or unknown)": _commits,
    "light backup": _light_backup,
    "writeback every 30 s": _writeback,
    "network card owns a CPU": _network_card,
    "drive used for 50 to 75 %": _well_used,
    "scan with read-ahead": _larger_reads,
    "RAID resync at its limit": _resync,
    "replica, one thread (or unknown)": _replica,
    "snapshot, copy on write": _snapshot,
    "fstrim, queued": _trim,
    "network card and idle drive share a CPU": _network_and_few_completions,
}

_DEVICE: dict[str, Callable[[random.Random], Result]] = {
    "NVMe, mixed, full": _full(loads.nvme, _mixed_full),
    "NVMe, 800k reads/s, queue 224 to 512": _full(_fast_nvme, _deep_reads),
    "NVMe, the same, nothing learned": _full(_fast_nvme, _deep_reads, is_warm=False),
    "SATA, bulk writes": _full(loads.sata, _sata_bulk),
    "SATA, random reads, queue 32 to 64": _full(loads.sata, _sata_reads),
    "SATA, the same, nothing learned": _full(loads.sata, _sata_reads, is_warm=False),
    "rotating disk, one by one": _full(loads.disk, _disk_reads, one_by_one=True),
    "rotating disk, Linux 5.0 to 5.6": _full(
        loads.disk, _disk_reads, one_by_one=True, ticks=IoTicks.ONE
    ),
    "heavy backup": _full(loads.nvme, _backup),
    "discards that block, SATA": _blocking_discards,
    "40 MB/s of writes, 200 reads/s, io_ticks too small": _slow_bulk_beside_reads,
    "learned beside bursts of the page cleaner": _taught(_bursts_of_the_page_cleaner),
    "learned beside commits": _taught(_commits_before),
    "learned beside 1 MiB reads": _taught(_large_reads_before),
    "dm-crypt above": _encrypted,
}

_OTHER: dict[str, tuple[str, Callable[[random.Random], Result]]] = {
    "the drive became slow, not full": ("unknown", _fail_slow),
    "one CPU, before the drive": ("cpu_softirq", _cpu_before_the_drive),
    "one CPU completes late": ("cpu_softirq or unknown", _cpu_completes_late),
    "drive and CPU both full": ("unknown", _drive_and_cpu),
}

CLASSES = [
    *(SceneClass("Bottleneck", name, "none", run) for name, run in _NONE.items()),
    *(SceneClass("Bottleneck", name, "device", run) for name, run in _DEVICE.items()),
    *(SceneClass("Bottleneck", name, truth, run) for name, (truth, run) in _OTHER.items()),
]
