"""Scenes of volumes: of cloud providers, which limit them, of hypervisors and of arrays."""

import random
from collections.abc import Callable
from dataclasses import replace

from exporter.config.drive_class import VolumeType
from rigs.scenes import loads
from rigs.scenes.bottlenecks import host_of, judged, measure, warm
from rigs.scenes.drive import MIB, Job
from rigs.scenes.loads import PAGE
from rigs.scenes.table import Result, SceneClass

_CLOUD = VolumeType.CLOUD


def _cloud_at_its_limit(rng: random.Random) -> Result:
    """Reads reach the limit of operations or of bytes."""
    with host_of(rng, loads.cloud(rng), volume=_CLOUD) as host:
        warm(host, rng)
        jobs = [loads.reads(rng.choice([32, 64, 128]))]
        return measure(host, jobs, {"throttled"}, seconds=90, is_full=True)


def _cloud_writes_at_the_limit(rng: random.Random) -> Result:
    """A restore reaches the limit of bytes."""
    drive = loads.cloud(rng)
    with host_of(rng, drive, volume=_CLOUD) as host:
        warm(host, rng)
        jobs = [loads.bulk(rng.choice([8, 16, 32]), size=MIB / 4)]
        return measure(host, jobs, {"throttled"}, seconds=90, is_full=True)


def _cloud_mixed_at_the_limit(rng: random.Random) -> Result:
    """The sizes and the share of reads change every few seconds; the operations are limited."""
    drive = replace(loads.cloud(rng), limit_rate=2e9)
    with host_of(rng, drive, volume=_CLOUD) as host:
        warm(host, rng)
        begun = len(host.log)
        for _ in range(20):
            size = rng.choice([4096, PAGE, 2 * PAGE])
            jobs = [loads.reads(rng.choice([24, 48])), Job(1, size, rng.choice([8, 24]))]
            host.run(rng.uniform(2, 8), jobs)
        return judged(host.log[begun + 12 :], {"throttled"})


def _cloud_not_recognised(rng: random.Random) -> Result:
    """The exporter knows only that the disk is one of a hypervisor."""
    with host_of(rng, loads.cloud(rng), volume=VolumeType.HYPERVISOR) as host:
        warm(host, rng)
        jobs = [loads.reads(rng.choice([32, 64, 128]))]
        return measure(host, jobs, {"throttled", "unknown"}, seconds=90, is_full=True)


def _cloud_credit_ends(rng: random.Random) -> Result:
    drive = loads.cloud(rng)
    burst = replace(drive, limit_iops=drive.limit_iops * 4, limit_rate=drive.limit_rate * 4)
    with host_of(rng, burst, volume=_CLOUD) as host:
        warm(host, rng)
        jobs = [loads.reads(32)]
        host.run(60, jobs)
        host.model = drive
        return measure(host, jobs, {"throttled"}, seconds=90, is_full=True)


def _cloud_slow_backend(rng: random.Random) -> Result:
    """The provider's storage is slow below the limit, and its speed changes every second."""
    drive = replace(loads.cloud(rng), reads_per_second=rng.uniform(1000, 2500))
    with host_of(rng, replace(drive, limit_iops=16e3), volume=_CLOUD) as host:
        warm(host, rng)
        jobs = [loads.reads(64)]
        begun = len(host.log)
        for _ in range(90):
            host.slow_factor = rng.uniform(0.7, 1.3)
            host.run(1, jobs)
        return judged(host.log[begun + 12 :], {"unknown"})


def _cloud_idle(rng: random.Random) -> Result:
    drive = loads.cloud(rng)
    with host_of(rng, drive, volume=_CLOUD) as host:
        warm(host, rng)
        most = min(drive.limit_iops, drive.limit_rate / PAGE)
        jobs = [loads.read_rate(most * rng.uniform(0.2, 0.6))]
        return measure(host, jobs, {"none"}, is_full=False)


def _cloud_cgroup(rng: random.Random) -> Result:
    """io.max limits a container to a constant rate, far below the limit of the volume."""
    drive = loads.cloud(rng)
    with host_of(rng, drive, volume=_CLOUD) as host:
        warm(host, rng)
        host.waits_elsewhere = 0.95
        rate = min(drive.limit_iops, drive.limit_rate / PAGE) * rng.uniform(0.1, 0.5)
        return measure(host, [loads.read_rate(rate)], {"none"}, is_full=False)


def _array_full(rng: random.Random) -> Result:
    """A volume of a RAID controller has no limit. It is the device that is full."""
    drive = replace(loads.nvme(rng), kind="ssd", tags=256)
    with host_of(rng, drive, volume=VolumeType.ARRAY) as host:
        warm(host, rng)
        return measure(host, [loads.reads(256)], {"device"}, is_full=True)


def _virtio_full(rng: random.Random) -> Result:
    """A virtual disk with deep queues on a local drive that is full. Its speed varies."""
    drive = replace(loads.nvme(rng), kind="ssd", tags=256)
    with host_of(rng, drive, volume=VolumeType.HYPERVISOR) as host:
        host.jitter = rng.choice([0.02, 0.25])
        warm(host, rng)
        jobs = [loads.reads(256)]
        return measure(host, jobs, {"device", "unknown"}, is_full=True)


_SCENES: dict[str, tuple[str, Callable[[random.Random], Result]]] = {
    "cloud volume below its limit": ("none", _cloud_idle),
    "cgroup limit (io.max) on a cloud volume": ("none", _cloud_cgroup),
    "cloud volume, reads at its limit": ("throttled", _cloud_at_its_limit),
    "cloud volume, restore at its limit": ("throttled", _cloud_writes_at_the_limit),
    "cloud volume, mixed load at its limit": ("throttled", _cloud_mixed_at_the_limit),
    "cloud volume, credit ends": ("throttled", _cloud_credit_ends),
    "cloud volume, slow behind the limit": ("unknown", _cloud_slow_backend),
    "cloud volume, only the hypervisor is known": ("throttled or unknown", _cloud_not_recognised),
    "volume of a RAID controller, full": ("device", _array_full),
    "virtio, local drive full": ("device or unknown", _virtio_full),
}

CLASSES = [SceneClass("Bottleneck", name, truth, run) for name, (truth, run) in _SCENES.items()]
