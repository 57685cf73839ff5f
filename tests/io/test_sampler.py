"""Tests of `io.sampler` with a /proc in a temporary directory and a clock that the test sets."""

import math
from pathlib import Path

import pytest

from exporter.config.disk_rules import SaturationRules
from exporter.config.drive_class import DriveClass
from exporter.families.desc import Sample, SampleBlock
from exporter.io.drive import Drive, drive_from_name
from exporter.io.verdict import Verdict
from exporter.metrics import cpu_collector, disk_collector
from tests.io.machine import ALL_IDLE, CALM, FULL, Machine, seconds_seen
from tests.io.records import NEW, WRAP_SECONDS, as_counted, grown


def shown(machine: Machine) -> list[Sample | SampleBlock]:
    """Return the samples of disks and CPUs."""
    now = machine.clock.monotonic()
    return [
        *disk_collector.samples(machine.sampler, now, SaturationRules(), request_sizes=False),
        *cpu_collector.samples(machine.sampler, now, per_cpu=False),
    ]


def test_the_first_sample_gives_no_interval(machine: Machine) -> None:
    machine.tick()
    sampler = machine.sampler
    assert (1, 0) == (sampler.samples, sampler.gaps)
    assert {"sdx"} == sampler.activities.keys()
    assert 0 == seconds_seen(sampler)
    assert sampler.cpu.hottest is None


def test_an_idle_second_is_recorded_as_idle(machine: Machine) -> None:
    for _ in range(4):
        machine.tick()
    activity = machine.sampler.activities["sdx"]
    assert 3 == seconds_seen(machine.sampler)
    assert (3, 0) == (activity.queue_depth.buckets().weights[0], activity.queue_depth.buckets().sum)
    assert activity.verdict.value(machine.clock.monotonic()) is Verdict.NONE


def test_a_busy_second_is_in_every_histogram(machine: Machine) -> None:
    machine.tick()
    machine.sampler.activities["sdx"].enable_request_sizes()
    flushed = {"flush_requests": 8, "flush_requests_time_seconds": 0.04}
    read = {"reads_completed": 10, "read_bytes": 163_840, "read_time_seconds": 0.02}
    machine.disks(grown(NEW, **FULL, **flushed, **read)).tick()
    activity = machine.sampler.activities["sdx"]
    now = machine.clock.monotonic()
    assert activity.busy_ratio.peak.value(now) == 1.0
    assert pytest.approx(32.02) == activity.queue_depth.peak.value(now)
    assert pytest.approx(0.08) == activity.write_await.peak.value(now)
    assert pytest.approx(0.002) == activity.read_await.peak.value(now)
    for distribution, operations, total in (
        (activity.write_await, 400, 32.0),
        (activity.read_await, 10, 0.02),
        (activity.flush_await, 8, 0.04),
        (activity.write_size, 400, 400 * 16384),
        (activity.read_size, 10, 163_840),
    ):
        assert distribution is not None
        assert operations == sum(distribution.buckets().weights)
        assert pytest.approx(total) == distribution.buckets().sum


def test_a_saturated_second_is_counted_if_tasks_wait(machine: Machine) -> None:
    machine.tick()
    machine.disks(grown(NEW, **FULL))
    machine.waiting(0.5)
    machine.tick()
    activity = machine.sampler.activities["sdx"]
    assert 1.0 == activity.saturated_seconds
    machine.disks(grown(grown(NEW, **FULL), **FULL)).tick()
    assert 1.0 == activity.saturated_seconds, "no task waited in this second"


def test_without_pressure_the_device_alone_decides(machine: Machine) -> None:
    machine.remove("pressure")
    machine.tick()
    machine.disks(grown(NEW, **FULL)).tick()
    assert 1.0 == machine.sampler.activities["sdx"].saturated_seconds
    assert machine.success("pressure"), "a kernel without PSI is not a failure"


def test_a_late_sample_is_a_gap_and_is_not_recorded(machine: Machine) -> None:
    """The mean over many seconds is not the mean of one second."""
    machine.tick()
    machine.disks(grown(NEW, **FULL)).tick(3.5)
    assert (2, 1) == (machine.sampler.samples, machine.sampler.gaps)
    assert 0 == seconds_seen(machine.sampler)
    machine.tick()
    assert 1 == seconds_seen(machine.sampler), "sampling continues from there"


def test_a_slightly_late_sample_is_recorded(machine: Machine) -> None:
    machine.tick()
    machine.tick(2.9)
    assert 0 == machine.sampler.gaps
    assert pytest.approx(2.9) == seconds_seen(machine.sampler)


def test_a_suspend_is_a_gap(machine: Machine) -> None:
    machine.tick()
    machine.clock.suspend(3600)
    machine.disks(grown(NEW, **FULL)).tick()
    assert 1 == machine.sampler.gaps
    assert 0 == seconds_seen(machine.sampler)


def test_a_step_of_the_wall_clock_has_no_effect(machine: Machine) -> None:
    machine.tick()
    machine.clock.step_wall(-86_400)
    machine.tick()
    assert 0 == machine.sampler.gaps
    assert 1 == seconds_seen(machine.sampler)


def test_a_stopped_clock_does_not_divide_by_zero(machine: Machine) -> None:
    machine.tick()
    machine.disks(grown(NEW, **FULL)).tick(0)
    assert (2, 0) == (machine.sampler.samples, machine.sampler.gaps)
    assert 0 == seconds_seen(machine.sampler)


@pytest.mark.parametrize("interval", [0.1, 10.0])
def test_seconds_do_not_depend_on_the_interval(tmp_path: Path, interval: float) -> None:
    machine = Machine(tmp_path, interval=interval)
    disk = NEW
    for _ in range(11):
        machine.disks(disk).tick(interval)
        disk = grown(disk, **{name: value * interval for name, value in FULL.items()})
    activity = machine.sampler.activities["sdx"]
    assert 10 * interval == pytest.approx(seconds_seen(machine.sampler))
    assert 10 * interval == pytest.approx(activity.saturated_seconds)
    assert 4000 * interval == pytest.approx(sum(activity.write_await.buckets().weights))
    assert 0 == machine.sampler.gaps


def test_a_wrap_of_the_time_fields_has_no_effect(machine: Machine) -> None:
    before = grown(NEW, write_time_seconds=WRAP_SECONDS - 1, io_time_seconds=WRAP_SECONDS - 0.5)
    machine.disks(before).tick()
    machine.disks(grown(before, **FULL)).tick()
    activity = machine.sampler.activities["sdx"]
    assert pytest.approx(32.0) == activity.queue_depth.peak.value(machine.clock.monotonic())
    assert pytest.approx(1.0) == activity.busy_ratio.peak.value(machine.clock.monotonic())


def test_a_stall_counts_only_while_it_lasts(machine: Machine) -> None:
    hanging = NEW._replace(io_now=4)
    machine.disks(NEW).tick()
    machine.disks(grown(hanging, io_time_seconds=0.9)).tick()
    for second in range(1, 5):
        machine.disks(grown(hanging, io_time_seconds=0.9 + second)).tick()
    activity = machine.sampler.activities["sdx"]
    assert 5.0 == activity.stalls.total_seconds
    machine.disks(grown(NEW, writes_completed=4, write_time_seconds=20.0, io_time_seconds=5.0))
    machine.tick()
    machine.tick()
    assert 5.5 == activity.stalls.total_seconds, "a half of the second in which the hang ended"
    assert 4.0 == activity.queue_depth.peak.value(machine.clock.monotonic())


def test_an_unchanged_line_with_requests_in_flight_is_a_stall(machine: Machine) -> None:
    """If io_time stands still, so does the whole line, but the device is not idle."""
    machine.disks(NEW._replace(io_now=3))
    for _ in range(5):
        machine.tick()
    activity = machine.sampler.activities["sdx"]
    assert 4.0 == activity.stalls.total_seconds
    assert Verdict.DEVICE is activity.verdict.value(machine.clock.monotonic())


def test_the_verdict_is_the_main_one_of_ten_seconds(machine: Machine) -> None:
    machine.tick()
    for _ in range(20):
        machine.tick()
    disk = NEW
    verdicts = []
    for _ in range(8):
        disk = grown(disk, **FULL)
        machine.disks(disk).tick()
        verdicts.append(machine.sampler.activities["sdx"].verdict.value(machine.clock.monotonic()))
    assert [Verdict.NONE] * 4 + [Verdict.DEVICE] * 4 == verdicts
    for _ in range(10):
        machine.tick()
    assert Verdict.NONE is (
        machine.sampler.activities["sdx"].verdict.value(machine.clock.monotonic())
    )


def test_one_hot_cpu_is_found_among_idle_ones(machine: Machine) -> None:
    machine.cpus(*[ALL_IDLE] * 4).tick()
    hot = ALL_IDLE._replace(softirq=0.62, system=0.30, idle=100.05)
    idle = ALL_IDLE._replace(idle=101)
    machine.cpus(idle, idle, hot, idle).tick()
    cpu = machine.sampler.cpu
    assert (2, 1.0) == (cpu.hottest, cpu.softirq_saturated_seconds)
    expected = 0.62 / 0.97
    assert pytest.approx(expected) == cpu.softirq_max_ratio.value(machine.clock.monotonic())


@pytest.mark.parametrize(
    ("block", "other", "verdict"),
    [
        pytest.param(5000, 0, Verdict.CPU_SOFTIRQ, id="all requests"),
        pytest.param(5, 0, Verdict.NONE, id="a few"),
        pytest.param(2500, 17_500, Verdict.NONE, id="an eighth, beside a network card"),
        pytest.param(9000, 9000, Verdict.CPU_SOFTIRQ, id="a half"),
    ],
)
def test_a_saturated_cpu_is_the_cause_only_if_it_completes_a_large_share_of_the_requests(
    machine: Machine, block: int, other: int, verdict: Verdict
) -> None:
    disk, times = NEW, ALL_IDLE
    for second in range(12):
        counts = f"{'CPU0':>11}{'CPU1':>11}\n  NET_RX: {second * 9000} 0\n"
        machine.write("softirqs", f"{counts}   BLOCK: {second * block} {7 + second * other}\n")
        disk = grown(disk, reads_completed=9000, read_time_seconds=0.9, io_time_seconds=0.6)
        times = times._replace(softirq=times.softirq + 0.95, idle=times.idle + 0.05)
        machine.disks(disk)
        machine.cpus(times, ALL_IDLE._replace(idle=ALL_IDLE.idle + second)).tick()
    activity = machine.sampler.activities["sdx"]
    assert verdict is activity.verdict.value(machine.clock.monotonic())
    assert pytest.approx(11) == machine.sampler.cpu.softirq_saturated_seconds


def test_iowait_never_decreases(machine: Machine) -> None:
    said = []
    for iowait in (10.0, 10.5, 10.2, 10.4, 10.6):
        machine.cpus(ALL_IDLE._replace(iowait=iowait)).tick()
        said.append(machine.sampler.cpu.iowait.value)
    assert [10.0, 10.5, 10.5, 10.5, 10.6] == pytest.approx(said)


def test_all_values_are_finite_after_an_hour_of_random_load(machine: Machine) -> None:
    """The device works, idles, stalls, wraps, disappears and reappears."""
    disk = NEW
    for second in range(600):
        disk = grown(disk, **(FULL if second % 3 else CALM))
        if second % 50 == 0:
            disk = disk._replace(**as_counted(write_time_seconds=WRAP_SECONDS - 1))
        present = [disk._replace(io_now=second % 7)] if second % 97 else []
        machine.disks(*present).tick(1.0 if second % 41 else 5.0)
    for activity in machine.sampler.activities.values():
        for distribution in (activity.busy_ratio, activity.queue_depth, activity.write_await):
            buckets = distribution.buckets()
            assert math.isfinite(buckets.sum)
            assert min(buckets.weights) >= 0
    assert 14 == machine.sampler.gaps


def test_a_slow_request_at_ten_samples_per_second_is_not_a_stall(tmp_path: Path) -> None:
    """A whole second without a completion is a stall and counts in full."""
    machine = Machine(tmp_path, interval=0.1)
    hanging = NEW._replace(io_now=1)
    machine.disks(hanging).tick(0.1)
    activity = machine.sampler.activities["sdx"]
    for _ in range(5):
        machine.tick(0.1)
    assert 0 == activity.stalls.total_seconds
    for _ in range(15):
        machine.tick(0.1)
    assert pytest.approx(2.0) == activity.stalls.total_seconds


def test_samples_processed_together_give_the_same_results(tmp_path: Path) -> None:
    together, alone = Machine(tmp_path / "together"), Machine(tmp_path / "alone")
    counted = NEW
    for second in range(12):
        counted = grown(counted, **(FULL if second % 3 else CALM))
        for machine in (together, alone):
            machine.disks(counted)
            machine.cpus(ALL_IDLE)
            machine.waiting(0.5 * second)
        alone.tick()
        together.clock.advance(1.0)
        together.sampler.tick()
    with together.sampler.flushed():
        pass
    assert shown(alone) == shown(together)


def test_a_new_device_is_reported_at_once(machine: Machine) -> None:
    came: list[float] = []
    machine.disks(NEW)
    machine.sampler.tick()
    machine.sampler.on_change(lambda: came.append(machine.clock.monotonic()))
    machine.clock.advance(1.0)
    machine.disks(NEW, NEW._replace(device="sdy", number="8:16"))
    machine.sampler.tick()
    assert [machine.clock.monotonic()] == came


def test_pending_samples_are_limited_without_scrapes(machine: Machine) -> None:
    machine.disks(NEW)
    for second in range(40):
        machine.disks(grown(NEW, reads_completed=second))
        machine.clock.advance(1.0)
        machine.sampler.tick()
    assert len(machine.sampler._pending) < 20


def test_a_removed_device_loses_its_series(machine: Machine) -> None:
    changes: list[None] = []
    machine.sampler.on_change(lambda: changes.append(None))
    machine.disks(NEW, NEW._replace(device="sdy", number="8:16")).tick()
    assert {"sdx", "sdy"} == machine.sampler.activities.keys()
    changes.clear()
    machine.disks(NEW).tick()
    assert {"sdx"} == machine.sampler.activities.keys()
    assert 1 == len(changes)
    machine.tick()
    assert 1 == len(changes), "only a change triggers a survey"


def test_a_new_device_is_judged_from_its_second_sample(machine: Machine) -> None:
    machine.tick()
    machine.disks(NEW, grown(NEW._replace(device="sdy", number="8:16"), **FULL)).tick()
    assert (1, 0) == (seconds_seen(machine.sampler), seconds_seen(machine.sampler, "sdy"))
    machine.tick()
    assert (2, 1) == (seconds_seen(machine.sampler), seconds_seen(machine.sampler, "sdy"))


def test_a_device_that_was_created_again_starts_from_zero(machine: Machine) -> None:
    machine.disks(grown(NEW, **FULL)).tick()
    machine.tick()
    assert 1 == seconds_seen(machine.sampler)
    machine.disks(NEW).tick()
    assert 0 == seconds_seen(machine.sampler)


def test_a_baseline_belongs_to_the_drive_and_not_to_the_name(machine: Machine) -> None:
    machine.sampler.update_drives({"sdx": Drive("wwn-1", DriveClass.SSD, instance=1)})
    machine.tick()
    disk = NEW
    for _ in range(70):
        disk = grown(disk, **CALM)
        machine.disks(disk).tick()
    assert pytest.approx(0.0005, rel=0.1) == (
        machine.sampler.activities["sdx"].baselines.write.seconds
    )
    machine.disks().tick()
    machine.sampler.update_drives({"sdz": Drive("wwn-1", DriveClass.SSD, instance=9)})
    machine.disks(NEW._replace(device="sdz", number="8:32")).tick()
    assert pytest.approx(0.0005, rel=0.1) == (
        machine.sampler.activities["sdz"].baselines.write.seconds
    )


def test_a_busy_second_does_not_train_the_baseline(machine: Machine) -> None:
    """Otherwise an overloaded device would count as fast."""
    machine.tick()
    disk = NEW
    for _ in range(70):
        disk = grown(disk, **FULL)
        machine.disks(disk).tick()
    learned = machine.sampler.activities["sdx"].baselines.write
    assert ({}, None) == (learned.many.bins, learned.few)


def test_another_drive_with_the_same_name_starts_from_zero(machine: Machine) -> None:
    """The disk sequence number shows it, even if the new counters exceed the old ones."""
    machine.sampler.update_drives({"sdx": Drive("old", DriveClass.SSD, instance=1)})
    machine.tick()
    machine.tick()
    machine.sampler.update_drives({"sdx": Drive("new", DriveClass.SSD, instance=2)})
    assert (machine.sampler.disks or {}).keys() <= machine.sampler.activities.keys()
    machine.disks(grown(NEW, **FULL)).tick()
    assert 0 == seconds_seen(machine.sampler), "the two devices have no interval"
    assert "new" == machine.sampler.activities["sdx"].drive.identity


def test_a_drive_keeps_its_counters_after_a_survey(machine: Machine) -> None:
    machine.tick()
    machine.tick()
    machine.sampler.update_drives({"sdx": Drive("wwn-1", DriveClass.ROTATIONAL, instance=1)})
    assert 1 == seconds_seen(machine.sampler)
    assert DriveClass.ROTATIONAL is machine.sampler.activities["sdx"].drive.kind


def test_a_stacked_device_is_measured_and_has_no_verdict(machine: Machine) -> None:
    stacked = NEW._replace(device="dm-0", number="253:0")
    machine.disks(stacked).tick()
    machine.disks(grown(stacked, **FULL)).tick()
    activity = machine.sampler.activities["dm-0"]
    assert (1.0, 0.0) == (seconds_seen(machine.sampler, "dm-0"), activity.saturated_seconds)
    assert activity.verdict.value(machine.clock.monotonic()) is Verdict.NONE
    learned = activity.baselines.write
    assert ({}, None) == (learned.many.bins, learned.few)


@pytest.mark.parametrize(
    ("device", "kind", "leaf"),
    [
        ("nvme0n1", DriveClass.NVME, True),
        ("sda", DriveClass.SSD, True),
        ("dm-0", DriveClass.SSD, False),
        ("md127", DriveClass.SSD, False),
    ],
)
def test_the_class_is_derived_from_the_device_name(
    device: str, kind: DriveClass, leaf: bool
) -> None:
    assert Drive(device, kind, leaf=leaf) == drive_from_name(device)


def test_a_broken_line_affects_only_its_device(machine: Machine) -> None:
    other = NEW._replace(device="sdy", number="8:16")
    machine.disks(NEW, other).tick()
    text = (machine.proc / "diskstats").read_text()
    machine.write("diskstats", text.replace("sdx 0 0", "sdx 0 garbage"))
    machine.tick()
    assert {"sdy"} == (machine.sampler.disks or {}).keys()
    assert 1 == seconds_seen(machine.sampler, "sdy")
    assert not machine.success("disk")
    machine.write("diskstats", text)
    machine.tick()
    assert machine.success("disk")
    assert {"sdx", "sdy"} == machine.sampler.activities.keys()


@pytest.mark.parametrize("missing", ["diskstats", "stat", "pressure"])
def test_a_missing_file_affects_only_its_own_values(machine: Machine, missing: str) -> None:
    machine.remove(missing)
    machine.tick()
    machine.disks(NEW) if missing != "diskstats" else None
    machine.tick()
    assert ("diskstats" == missing) == (machine.sampler.disks is None)
    assert ("stat" == missing) == (machine.sampler.stat is None)


def test_a_file_that_reappears_is_read_again(machine: Machine) -> None:
    """Only the second of the failure is lost."""
    machine.tick()
    machine.tick()
    machine.remove("diskstats")
    machine.tick()
    assert machine.sampler.disks is None
    machine.disks(grown(NEW, **FULL)).tick()
    machine.tick()
    assert 2 == seconds_seen(machine.sampler)


def test_unwanted_devices_are_omitted_and_dropped(machine: Machine) -> None:
    machine.disks(NEW, NEW._replace(device="loop0", number="7:0")).tick()
    assert {"sdx", "loop0"} == machine.sampler.activities.keys()
    rules = machine.sampler._rules
    machine.sampler.reconfigure(
        rules, lambda device: device == "sdx", 2.0, per_cpu=False, request_sizes=False
    )
    machine.tick()
    assert {"sdx"} == machine.sampler.activities.keys()
    assert 2.0 == machine.sampler.interval
