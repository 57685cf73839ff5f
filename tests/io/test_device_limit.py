"""The limit of devices: the sampler, its collector and the report of the limit around 4,096."""

from pathlib import Path

import pytest

from exporter.config.disk_rules import SaturationRules
from exporter.linux.files import MAX_DEVICES
from exporter.metrics import disk_collector
from tests.io.machine import ALL_IDLE, Machine
from tests.io.records import NEW


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.cpus(ALL_IDLE)
    machine.waiting(0)
    return machine


def has(machine: Machine, *numbers: int) -> None:
    machine.disks(*(NEW._replace(device=f"vd{n}", number=f"252:{n}") for n in numbers))


def shown(machine: Machine) -> set[str]:
    """Returns the devices of the series that the collector returns, of every family."""
    blocks = disk_collector.samples(
        machine.sampler, machine.clock.monotonic(), SaturationRules(), request_sizes=True
    )
    devices = {labels[0] for block in blocks for labels in block.series}
    assert devices == set(machine.sampler.disks or {})
    return devices


@pytest.mark.parametrize("count", [MAX_DEVICES - 1, MAX_DEVICES, MAX_DEVICES + 1, 3 * MAX_DEVICES])
def test_the_first_devices_are_exported_and_only_more_are_reported(
    machine: Machine, caplog: pytest.LogCaptureFixture, count: int
) -> None:
    has(machine, *range(count))
    for _ in range(3):
        machine.tick()
    kept = min(count, MAX_DEVICES)
    assert {f"vd{n}" for n in range(kept)} == shown(machine)
    assert kept == len(machine.sampler.activities)
    assert (count <= MAX_DEVICES) == machine.success("disk")
    reports = [line for line in caplog.messages if "devices are exported" in line]
    expected = f"collector disk: diskstats: only {MAX_DEVICES} of {count} devices are exported"
    assert ([expected] if count > MAX_DEVICES else []) == reports


def test_a_device_keeps_its_place_when_others_appear_and_gives_it_when_it_disappears(
    machine: Machine,
) -> None:
    has(machine, *range(10, MAX_DEVICES + 10))
    machine.tick()
    has(machine, *range(MAX_DEVICES + 10))
    machine.tick()
    assert {f"vd{n}" for n in range(10, MAX_DEVICES + 10)} == shown(machine)
    has(machine, *range(20, MAX_DEVICES + 30))
    machine.tick()
    assert {f"vd{n}" for n in range(20, MAX_DEVICES + 20)} == shown(machine)


def test_a_line_that_cannot_be_parsed_does_not_let_the_results_grow(machine: Machine) -> None:
    """A device with such a line has not disappeared, so devices are dropped only at the limit."""
    for start in range(0, 5 * MAX_DEVICES, MAX_DEVICES):
        has(machine, *range(start, start + MAX_DEVICES))
        with (machine.proc / "diskstats").open("a") as file:
            file.write("252 1 vd1 broken\n")
        machine.tick()
        assert MAX_DEVICES >= len(machine.sampler.activities)
        assert {f"vd{n}" for n in range(start, start + MAX_DEVICES)} == shown(machine)
