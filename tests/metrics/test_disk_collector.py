"""Tests of `metrics.disk_collector`."""

from pathlib import Path

import pytest

from exporter.config.disk_rules import SaturationRules
from exporter.config.drive_class import DriveClass
from exporter.families.desc import Buckets
from exporter.io.drive import Drive
from exporter.io.verdict import Verdict
from exporter.linux.diskstats import DiskStats
from exporter.metrics import disk_collector
from tests.io.machine import Machine
from tests.io.records import NEW, NEW_OF_OLD, grown
from tests.metrics.page import Values, page

BUSY = {
    "reads_completed": 10,
    "reads_merged": 1,
    "read_bytes": 163_840,
    "read_time_seconds": 0.02,
    "writes_completed": 400,
    "writes_merged": 7,
    "written_bytes": 6_553_600,
    "write_time_seconds": 32.0,
    "io_time_seconds": 1.0,
    "io_time_weighted_seconds": 32.02,
    "discards_completed": 2,
    "discards_merged": 3,
    "discarded_bytes": 8192,
    "discard_time_seconds": 0.001,
    "flush_requests": 8,
    "flush_requests_time_seconds": 0.04,
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def shown(machine: Machine, *, request_sizes: bool = False) -> dict[str, Values]:
    now = machine.clock.monotonic()
    return page(
        disk_collector.samples(machine.sampler, now, SaturationRules(), request_sizes=request_sizes)
    )


def test_every_kernel_counter_has_a_family(machine: Machine) -> None:
    """The values are those of the kernel, in base units."""
    machine.disks(grown(NEW, io_now=5, **BUSY)).tick()
    families = shown(machine)
    for field, value in (BUSY | {"io_now": 5}).items():
        name = f"ssd_disk_{field}" if field == "io_now" else f"ssd_disk_{field}_total"
        if field == "discarded_bytes":
            name = "ssd_disk_discarded_bytes_total"
        assert {("sdx",): pytest.approx(value)} == families[name], name
    assert len(disk_collector.COUNTERS) == len(DiskStats._fields) - 2


def test_missing_kernel_counters_have_no_sample(machine: Machine) -> None:
    machine.disks(NEW_OF_OLD).tick()
    machine.tick()
    assert [] == [name for name in shown(machine) if "discard" in name or "flush" in name]


def test_without_a_sample_of_the_kernel_there_are_no_samples(machine: Machine) -> None:
    machine.tick()
    assert {} == shown(machine)


def test_histograms_contain_the_last_second(machine: Machine) -> None:
    machine.disks(NEW).tick()
    machine.disks(grown(NEW, **BUSY)).tick()
    families = shown(machine)
    for name, weight, total in (
        ("ssd_disk_busy_ratio", 1, 1.0),
        ("ssd_disk_queue_depth", 1, 32.021),
        ("ssd_disk_read_await_seconds", 10, 0.02),
        ("ssd_disk_write_await_seconds", 400, 32.0),
        ("ssd_disk_flush_await_seconds", 8, 0.04),
    ):
        buckets = families[name]["sdx",]
        assert weight == sum(buckets.weights)
        assert total == pytest.approx(buckets.sum), name
    for name, worst in (
        ("ssd_disk_busy_ratio_max", 1.0),
        ("ssd_disk_queue_depth_max", 32.021),
        ("ssd_disk_read_await_seconds_max", 0.002),
        ("ssd_disk_write_await_seconds_max", 0.08),
    ):
        assert {("sdx", "1m"): pytest.approx(worst)} == families[name]


def test_without_histograms_counters_and_maxima_remain(machine: Machine) -> None:
    machine.disks(NEW).tick()
    machine.disks(grown(NEW, **BUSY)).tick()
    found = page(
        disk_collector.samples(
            machine.sampler,
            machine.clock.monotonic(),
            SaturationRules(),
            request_sizes=False,
            histograms=False,
        )
    )
    left_out = shown(machine).keys() - found.keys()
    names = ("busy_ratio", "queue_depth", "read_await_seconds", "write_await_seconds")
    assert {*(f"ssd_disk_{name}" for name in names), "ssd_disk_flush_await_seconds"} == left_out
    assert {"ssd_disk_busy_ratio_max", "ssd_disk_saturated_seconds_total"} <= found.keys()


def test_request_sizes_are_exposed_if_enabled(machine: Machine) -> None:
    machine.disks(NEW).tick()
    machine.sampler.activities["sdx"].enable_request_sizes()
    machine.disks(grown(NEW, **BUSY)).tick()
    assert [] == [name for name in shown(machine) if "request_size" in name]
    families = shown(machine, request_sizes=True)
    for op, operations, total in (("read", 10, 163_840), ("write", 400, 6_553_600)):
        buckets = families[f"ssd_disk_{op}_request_size_bytes"]["sdx",]
        assert (operations, total) == (sum(buckets.weights), buckets.sum)
        assert operations == buckets.weights[2], "16 KiB belong to their own bucket"


def test_an_idle_device_has_no_await_and_a_busy_maximum_of_0(machine: Machine) -> None:
    machine.disks(NEW).tick()
    machine.tick()
    families = shown(machine)
    assert {("sdx", "1m"): 0.0} == families["ssd_disk_busy_ratio_max"]
    assert {("sdx", "1m"): 0.0} == families["ssd_disk_queue_depth_max"]
    assert not {"ssd_disk_read_await_seconds_max", "ssd_disk_write_await_seconds_max"} & {*families}


def test_a_maximum_expires_at_most_ten_seconds_after_a_minute(
    machine: Machine,
) -> None:
    machine.disks(NEW).tick()
    machine.disks(grown(NEW, **BUSY)).tick()
    for _ in range(59):
        machine.tick()
    assert {("sdx", "1m"): 1.0} == shown(machine)["ssd_disk_busy_ratio_max"]
    for _ in range(10):
        machine.tick()
    assert {("sdx", "1m"): 0.0} == shown(machine)["ssd_disk_busy_ratio_max"]


def test_exactly_one_cause_is_1(machine: Machine) -> None:
    machine.disks(NEW).tick()
    verdicts = shown(machine)["ssd_io_bottleneck"]
    assert {("sdx", cause.value): int(cause is Verdict.NONE) for cause in Verdict} == verdicts
    machine.disks(grown(NEW, **BUSY)).tick()
    verdicts = shown(machine)["ssd_io_bottleneck"]
    assert {("sdx", cause.value): int(cause is Verdict.DEVICE) for cause in Verdict} == verdicts


def test_a_stacked_device_has_no_verdict(machine: Machine) -> None:
    """It has no verdict, saturation or baseline, but stalls and all measured values."""
    machine.disks(NEW._replace(device="dm-0", number="253:0")).tick()
    families = shown(machine)
    judged = {"ssd_io_bottleneck", "ssd_disk_saturated_seconds_total"}
    judged |= {"ssd_disk_await_baseline_seconds", "ssd_disk_await_baseline_info"}
    assert set() == judged & families.keys()
    assert {("dm-0",): 0.0} == families["ssd_disk_stalled_seconds_total"]


@pytest.mark.parametrize(
    ("kind", "floor"),
    [(DriveClass.NVME, 0.001), (DriveClass.SSD, 0.003), (DriveClass.ROTATIONAL, 0.010)],
)
def test_without_a_baseline_the_floor_of_the_class_is_exposed(
    machine: Machine, kind: DriveClass, floor: float
) -> None:
    machine.sampler.update_drives({"sdx": Drive("wwn-1", kind)})
    machine.disks(NEW).tick()
    families = shown(machine)
    expected = {("sdx", "read"): floor, ("sdx", "write"): floor}
    assert expected == families["ssd_disk_await_baseline_seconds"]
    sources = {("sdx", "read", "floor"): 1, ("sdx", "write", "floor"): 1}
    assert sources == families["ssd_disk_await_baseline_info"]


def test_a_learned_baseline_is_labelled_as_learned(machine: Machine) -> None:
    counted = NEW
    for _ in range(62):
        machine.disks(counted).tick()
        counted = grown(counted, writes_completed=100, write_time_seconds=0.02)
    families = shown(machine)
    baselines = families["ssd_disk_await_baseline_seconds"]
    assert pytest.approx(0.0002, rel=0.1) == baselines["sdx", "write"]
    assert baselines["sdx", "read"] == 0.003
    sources = {("sdx", "read", "floor"): 1, ("sdx", "write", "learned"): 1}
    assert sources == families["ssd_disk_await_baseline_info"]


def test_another_drive_with_the_same_name_leaves_the_page_valid(machine: Machine) -> None:
    """The page is requested between the survey and the next sample."""
    machine.sampler.update_drives({"sdx": Drive("old", DriveClass.SSD, instance=1)})
    machine.disks(NEW, NEW._replace(device="sdy", number="8:16")).tick()
    machine.sampler.update_drives({"sdx": Drive("new", DriveClass.SSD, instance=2)})
    assert {("sdy",): 0} == shown(machine)["ssd_disk_io_now"]
    machine.tick()
    assert {("sdx",): 0, ("sdy",): 0} == shown(machine)["ssd_disk_io_now"]


def fall_off(machine: Machine) -> None:
    """Record ten seconds at 500 MiB/s and 15 at 100 MiB/s."""
    counted = NEW
    machine.disks(counted).tick()
    for megabytes in (*[500] * 10, *[100] * 15):
        counted = grown(
            counted,
            writes_completed=megabytes,
            written_bytes=megabytes << 20,
            write_time_seconds=8.0,
            io_time_seconds=1.0,
        )
        machine.disks(counted).tick()


def test_a_drive_without_falloffs_has_only_a_count(machine: Machine) -> None:
    machine.disks(NEW).tick()
    families = shown(machine)
    assert {("sdx",): 0} == families["ssd_disk_write_falloff_events_total"]
    assert not [name for name in families if "falloff_last" in name]


def test_the_last_falloff_is_exposed_with_bytes_and_ratio(machine: Machine) -> None:
    fall_off(machine)
    families = shown(machine)
    assert {("sdx",): 1} == families["ssd_disk_write_falloff_events_total"]
    assert {("sdx",): pytest.approx(0.2)} == families["ssd_disk_write_falloff_last_ratio"]
    burst_bytes = families["ssd_disk_write_falloff_last_burst_bytes"]
    assert {("sdx",): pytest.approx(5000 << 20, rel=1e-6)} == burst_bytes


def test_devices_without_falloff_tracking_have_no_falloff_series(machine: Machine) -> None:
    machine.sampler.update_drives({"sdx": Drive("wwn-1", DriveClass.ROTATIONAL)})
    fall_off(machine)
    assert not [name for name in shown(machine) if "falloff" in name]


def test_a_drive_has_at_most_110_series(machine: Machine) -> None:
    fall_off(machine)
    before = dict.fromkeys(BUSY, 0.0) | {"writes_completed": 6500, "written_bytes": 6500 << 20}
    before |= {"write_time_seconds": 200.0, "io_time_seconds": 25.0}
    machine.disks(grown(NEW, **{name: before[name] + BUSY[name] for name in BUSY})).tick()
    count = 0
    for values in shown(machine).values():
        for value in values.values():
            count += len(value.weights) + 2 if isinstance(value, Buckets) else 1
    assert count <= 110
