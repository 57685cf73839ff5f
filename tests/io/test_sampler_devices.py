"""Devices that come, go, change and break under the sampler."""

import pytest

from exporter.io.drive_class import Drive, DriveClass, drive_from_name
from exporter.io.verdict import Verdict
from tests.io.machine import CALM, FULL, Machine, seconds_seen
from tests.io.records import NEW, grown


def test_a_device_that_goes_takes_its_series_along(machine: Machine) -> None:
    changes: list[None] = []
    machine.sampler.on_change(lambda: changes.append(None))
    machine.disks(NEW, NEW._replace(device="sdy", number="8:16"))
    machine.tick()
    assert {"sdx", "sdy"} == machine.sampler.activities.keys()
    changes.clear()
    machine.disks(NEW)
    machine.tick()
    assert {"sdx"} == machine.sampler.activities.keys()
    assert 1 == len(changes)
    machine.tick()
    assert 1 == len(changes), "only a change hurries the survey"


def test_a_device_that_comes_is_watched_from_its_second_sample(machine: Machine) -> None:
    machine.tick()
    machine.disks(NEW, grown(NEW._replace(device="sdy", number="8:16"), **FULL))
    machine.tick()
    assert (1, 0) == (seconds_seen(machine.sampler), seconds_seen(machine.sampler, "sdy"))
    machine.tick()
    assert (2, 1) == (seconds_seen(machine.sampler), seconds_seen(machine.sampler, "sdy"))


def test_a_device_made_anew_begins_anew(machine: Machine) -> None:
    machine.disks(grown(NEW, **FULL))
    machine.tick()
    machine.tick()
    assert 1 == seconds_seen(machine.sampler)
    machine.disks(NEW)
    machine.tick()
    assert 0 == seconds_seen(machine.sampler)


def test_what_was_learned_follows_the_drive_not_the_name(machine: Machine) -> None:
    machine.sampler.update_drives({"sdx": Drive("wwn-1", DriveClass.SSD, instance=1)})
    machine.tick()
    disk = NEW
    for _ in range(70):
        disk = grown(disk, **CALM)
        machine.disks(disk)
        machine.tick()
    assert pytest.approx(0.0005, rel=0.1) == (
        machine.sampler.activities["sdx"].baselines.write.seconds
    )
    machine.disks()
    machine.tick()
    machine.sampler.update_drives({"sdz": Drive("wwn-1", DriveClass.SSD, instance=9)})
    machine.disks(NEW._replace(device="sdz", number="8:32"))
    machine.tick()
    assert pytest.approx(0.0005, rel=0.1) == (
        machine.sampler.activities["sdz"].baselines.write.seconds
    )


def test_a_busy_second_teaches_nothing(machine: Machine) -> None:
    """Or a device that is overloaded all day would count as quick."""
    machine.tick()
    disk = NEW
    for _ in range(70):
        disk = grown(disk, **FULL)
        machine.disks(disk)
        machine.tick()
    assert machine.sampler.activities["sdx"].baselines.write.bins == {}


def test_another_drive_under_the_same_name_begins_anew(machine: Machine) -> None:
    """The kernel's disk sequence tells, where its counters happen to be ahead of the old ones."""
    machine.sampler.update_drives({"sdx": Drive("old", DriveClass.SSD, instance=1)})
    machine.tick()
    machine.tick()
    machine.sampler.update_drives({"sdx": Drive("new", DriveClass.SSD, instance=2)})
    assert (machine.sampler.disks or {}).keys() <= machine.sampler.activities.keys()
    machine.disks(grown(NEW, **FULL))
    machine.tick()
    assert 0 == seconds_seen(machine.sampler), "the two have no difference"
    assert "new" == machine.sampler.activities["sdx"].drive.identity


def test_a_drive_that_the_survey_recognises_keeps_its_seconds(machine: Machine) -> None:
    machine.tick()
    machine.tick()
    machine.sampler.update_drives({"sdx": Drive("wwn-1", DriveClass.ROTATIONAL, instance=1)})
    assert 1 == seconds_seen(machine.sampler)
    assert DriveClass.ROTATIONAL is machine.sampler.activities["sdx"].drive.kind


def test_a_stack_over_drives_is_measured_and_not_judged(machine: Machine) -> None:
    stacked = NEW._replace(device="dm-0", number="253:0")
    machine.disks(stacked)
    machine.tick()
    machine.disks(grown(stacked, **FULL))
    machine.tick()
    activity = machine.sampler.activities["dm-0"]
    assert (1.0, 0.0) == (seconds_seen(machine.sampler, "dm-0"), activity.saturated_seconds)
    assert activity.verdict.value(machine.clock.monotonic()) is Verdict.NONE
    assert activity.baselines.write.bins == {}


@pytest.mark.parametrize(
    ("device", "kind", "leaf"),
    [
        ("nvme0n1", DriveClass.NVME, True),
        ("sda", DriveClass.SSD, True),
        ("dm-0", DriveClass.SSD, False),
        ("md127", DriveClass.SSD, False),
    ],
)
def test_a_name_alone_tells_the_likely_class(device: str, kind: DriveClass, leaf: bool) -> None:
    assert Drive(device, kind, leaf=leaf) == drive_from_name(device)


def test_a_broken_line_costs_its_own_device(machine: Machine) -> None:
    other = NEW._replace(device="sdy", number="8:16")
    machine.disks(NEW, other)
    machine.tick()
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
def test_a_file_that_is_missing_costs_what_stands_in_it(machine: Machine, missing: str) -> None:
    machine.remove(missing)
    machine.tick()
    machine.disks(NEW) if missing != "diskstats" else None
    machine.tick()
    assert ("diskstats" == missing) == (machine.sampler.disks is None)
    assert ("stat" == missing) == (machine.sampler.stat is None)


def test_a_file_that_comes_back_is_read_again(machine: Machine) -> None:
    """The second of the failure is lost, what was seen before is not."""
    machine.tick()
    machine.tick()
    machine.remove("diskstats")
    machine.tick()
    assert machine.sampler.disks is None
    machine.disks(grown(NEW, **FULL))
    machine.tick()
    machine.tick()
    assert 2 == seconds_seen(machine.sampler)


def test_unwanted_devices_are_left_out_and_let_go(machine: Machine) -> None:
    machine.disks(NEW, NEW._replace(device="loop0", number="7:0"))
    machine.tick()
    assert {"sdx", "loop0"} == machine.sampler.activities.keys()
    rules = machine.sampler._rules
    machine.sampler.reconfigure(
        rules, lambda device: device == "sdx", 2.0, per_cpu=False, request_sizes=False
    )
    machine.tick()
    assert {"sdx"} == machine.sampler.activities.keys()
    assert 2.0 == machine.sampler.interval
