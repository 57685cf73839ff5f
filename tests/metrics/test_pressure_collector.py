"""Tests of `metrics.pressure_collector`."""

from pathlib import Path

import pytest

from exporter.linux.pressure import Pressure
from exporter.metrics.pressure_collector import read_pressure, samples
from exporter.runtime.errors import NotAvailable, ParseError
from tests.metrics.page import page


def kernel(proc: Path, **totals: str) -> Path:
    (proc / "pressure").mkdir()
    for resource, text in totals.items():
        (proc / "pressure" / resource).write_text(text)
    return proc


def line(kind: str, microseconds: int) -> str:
    return f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={microseconds}\n"


def test_each_resource_of_the_kernel_is_read(tmp_path: Path) -> None:
    proc = kernel(
        tmp_path,
        io=line("some", 3_000_000) + line("full", 2_000_000),
        cpu=line("some", 500_000),
        irq=line("full", 250_000),
    )
    found = read_pressure(proc)
    expected = {"io": Pressure(3, 2), "cpu": Pressure(0.5, None), "irq": Pressure(None, 0.25)}
    assert (expected, ()) == (found.value, found.faults)


def test_a_broken_file_affects_only_its_resource(tmp_path: Path) -> None:
    found = read_pressure(kernel(tmp_path, io="garbage\n", memory=line("some", 1)))
    assert {"memory"} == found.value.keys()
    (fault,) = found.faults
    assert isinstance(fault, ParseError)
    assert str(fault).startswith("io: pressure:1: ")


def test_a_kernel_without_psi_is_not_a_failure(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match=r"older than 4\.20, or booted with psi=0"):
        read_pressure(tmp_path)


def test_unknown_pressure_has_no_sample() -> None:
    pressures = {
        "io": Pressure(3.0, 2.0),
        "cpu": Pressure(0.5, None),
        "memory": Pressure(0.0, 0.0),
        "irq": Pressure(None, 0.25),
    }
    expected = {
        "ssd_pressure_io_waiting_seconds_total": {(): 3.0},
        "ssd_pressure_io_stalled_seconds_total": {(): 2.0},
        "ssd_pressure_cpu_waiting_seconds_total": {(): 0.5},
        "ssd_pressure_memory_waiting_seconds_total": {(): 0.0},
        "ssd_pressure_memory_stalled_seconds_total": {(): 0.0},
        "ssd_pressure_irq_stalled_seconds_total": {(): 0.25},
    }
    assert expected == page(samples(pressures, node_exporter=False))
    both = page(samples(pressures, node_exporter=True))
    theirs = {name.replace("ssd_", "node_", 1): values for name, values in expected.items()}
    assert expected | theirs == both


def test_node_exporter_has_no_stalled_cpu() -> None:
    families = page(samples({"cpu": Pressure(1.0, 0.5)}, node_exporter=True))
    assert "ssd_pressure_cpu_stalled_seconds_total" in families
    assert "node_pressure_cpu_stalled_seconds_total" not in families


def test_unknown_resources_are_ignored() -> None:
    assert {} == page(samples({"network": Pressure(1.0, 1.0)}, node_exporter=True))


def test_this_machine_has_at_least_io_cpu_and_memory() -> None:
    found = read_pressure(Path("/proc"))
    assert found.faults == ()
    assert {"io", "cpu", "memory"} <= found.value.keys()
