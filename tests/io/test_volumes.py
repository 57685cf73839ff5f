"""Tests of `volume_models` and `throttling`: which devices are volumes, and which are throttled."""

from typing import Any

import pytest

from exporter.config.disk_rules import DiskRules, ThrottlingRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.drive import Drive
from exporter.io.interval import DiskInterval
from exporter.io.throttling import ThrottlingDetector
from exporter.io.verdict import DiskContext, Verdict
from exporter.io.volume_models import volume_type
from exporter.linux.device_identity import DeviceIdentity
from tests.io.records import NEW, grown, over

ALONE = DiskContext(is_cpu_bound=False, is_waited_for=True)


@pytest.mark.parametrize(
    ("expected", "known"),
    [
        (VolumeType.CLOUD, {"model": "Amazon Elastic Block Store", "transport": "nvme"}),
        (VolumeType.CLOUD, {"model": "nvme_card-pd", "transport": "nvme"}),
        (VolumeType.CLOUD, {"vendor": "Google", "model": "PersistentDisk", "transport": "scsi"}),
        (VolumeType.CLOUD, {"model": "MSFT NVMe Accelerator v1.0", "transport": "nvme"}),
        (VolumeType.CLOUD, {"model": "Alibaba Cloud Elastic Block Storage", "transport": "nvme"}),
        (VolumeType.CLOUD, {"vendor": "ORACLE", "model": "BlockVolume", "transport": "iscsi"}),
        (VolumeType.DRIVE, {"model": "Amazon EC2 NVMe Instance Storage", "transport": "nvme"}),
        (VolumeType.DRIVE, {"model": "nvme_card", "transport": "nvme"}),
        (VolumeType.DRIVE, {"model": "Microsoft NVMe Direct Disk v2", "transport": "nvme"}),
        (VolumeType.HYPERVISOR, {"vendor": "Msft", "model": "Virtual Disk", "transport": "scsi"}),
        (VolumeType.HYPERVISOR, {"vendor": "VMware", "model": "Virtual disk", "transport": "scsi"}),
        (VolumeType.HYPERVISOR, {"model": "QEMU NVMe Ctrl", "transport": "nvme"}),
        (VolumeType.HYPERVISOR, {"transport": "virtio"}),
        (VolumeType.ARRAY, {"vendor": "DELL", "model": "PERC H755 Front", "transport": "scsi"}),
        (VolumeType.ARRAY, {"vendor": "PURE", "model": "FlashArray", "transport": "fc"}),
        (VolumeType.DRIVE, {"model": "SAMSUNG MZ7LH960", "transport": "sata"}),
        (VolumeType.DRIVE, {}),
    ],
    ids=str,
)
def test_volumes_are_recognised_by_model_and_transport(
    expected: VolumeType, known: dict[str, Any]
) -> None:
    assert expected is volume_type("sda", DeviceIdentity(**known))


def test_a_disk_of_xen_has_no_model() -> None:
    assert VolumeType.HYPERVISOR is volume_type("xvda", DeviceIdentity())


def full(reads: float, size: int = 16384, depth: float = 64.0) -> DiskInterval:
    """Returns a second with a held queue."""
    work = {
        "reads_completed": round(reads),
        "read_time_seconds": depth,
        "read_bytes": round(reads) * size,
        "io_time_seconds": 1.0,
    }
    return over(NEW._replace(io_now=64), grown(NEW._replace(io_now=64), **work))


def verdicts(volume: VolumeType, seconds: list[DiskInterval]) -> list[Verdict]:
    rules = DiskRules()
    drive = Drive("x", DriveClass.NVME, volume=volume is not VolumeType.DRIVE, volume_type=volume)
    activity = DiskActivity(drive, rules, Baselines(rules.baseline).for_drive("x"), 0.0)
    seen = []
    for now, disk in enumerate(seconds, start=1):
        activity.record(float(now), disk, ALONE)
        seen.append(activity.verdict.value(float(now)))
    return seen


CONSTANT = [full(3000 + second % 3) for second in range(30)]
VARYING = [full(3000 * (1 + 0.1 * (second % 3))) for second in range(30)]


def test_a_cloud_volume_at_its_limit_is_throttled() -> None:
    assert Verdict.THROTTLED is verdicts(VolumeType.CLOUD, CONSTANT)[-1]
    assert Verdict.DEVICE not in verdicts(VolumeType.CLOUD, CONSTANT)


def test_a_limit_of_bytes_is_recognised_while_the_sizes_vary() -> None:
    sizes = [8192, 16384, 32768] * 10
    seconds = [full(125e6 / size, size) for size in sizes]
    assert Verdict.THROTTLED is verdicts(VolumeType.CLOUD, seconds)[-1]


@pytest.mark.parametrize(
    ("volume", "seconds", "expected"),
    [
        (VolumeType.CLOUD, VARYING, Verdict.UNKNOWN),
        (VolumeType.HYPERVISOR, CONSTANT, Verdict.UNKNOWN),
        (VolumeType.ARRAY, CONSTANT, Verdict.DEVICE),
        (VolumeType.DRIVE, CONSTANT, Verdict.DEVICE),
    ],
)
def test_other_full_volumes_are_not_throttled(
    volume: VolumeType, seconds: list[DiskInterval], expected: Verdict
) -> None:
    assert expected is verdicts(volume, seconds)[-1]


def test_an_interruption_starts_the_comparison_again() -> None:
    limit = ThrottlingDetector(ThrottlingRules(intervals=3))
    assert [False, False, True] == [limit.observe(float(n), full(3000)) for n in range(1, 4)]
    assert [False, False, True] == [limit.observe(float(n), full(3000)) for n in range(9, 12)]


def test_no_completed_operation_is_no_limit() -> None:
    limit = ThrottlingDetector(ThrottlingRules(intervals=2))
    idle = over(NEW, NEW)
    assert not limit.observe(1.0, idle)
    assert not limit.observe(2.0, idle)


@pytest.mark.parametrize("name", ["nbd0", "rbd12"])
def test_a_network_block_device_is_a_volume_of_another_host(name: str) -> None:
    assert VolumeType.HYPERVISOR is volume_type(name, DeviceIdentity())
