"""A window of the collector: what it prints, when it ends early, and why there is none."""

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporter.latency.request_window import FULL_RATIO, MOST_ENTRIES
from exporter.latency.window_program import entries, window
from exporter.latency.window_schedule import WindowPlan, command_line
from exporter.tails.latency_bins import bin_of
from exporter.tails.latency_document import parse_devices
from tests.duration import wait_until
from tests.fakes import FakeClock
from tests.latency.tracefs import CountingKernel, tracefs

SDA = 8 << 20
FAST, SLOW = (SDA, "R", 98_304), (SDA, "R", 39_845_888)
DISKSTATS = "   8       0 sda 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"


def measured(kernel: CountingKernel, clock: FakeClock, most: int = 10_000) -> dict[str, Any]:
    names = {"8:0": "sda"}
    return window(
        kernel, clock, 5, most, name=lambda number: names.get(number, number), in_flight=dict
    )


def test_the_requests_of_a_window_are_in_bins_by_device_and_operation() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {FAST: 100, SLOW: 1, (SDA, "FF", 4_194_304): 2}, stuck=1)
    values = measured(kernel, clock)
    sda = parse_devices(values["devices"])["sda"]
    assert {bin_of(98_304): 500, bin_of(39_845_888): 5} == sda.bins["read"]
    assert {bin_of(4_194_304): 10} == sda.bins["flush"]
    assert (False, 3) == (values["shortened"], sda.lost)
    assert 5 <= values["observed_seconds"] < 5.3
    assert 1 == kernel.removed


def test_a_window_with_too_many_requests_ends_early_and_says_so() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {FAST: 20_000})
    values = measured(kernel, clock)
    assert values["shortened"]
    assert 0.4 < values["observed_seconds"] < 0.8
    (bins,) = parse_devices(values["devices"])["sda"].bins.values()
    assert 20_000 * values["observed_seconds"] - 1 <= sum(bins.values())
    assert 1 == kernel.removed


@given(st.integers(100, 600_000))
def test_a_window_needs_one_round_if_the_kernel_has_the_entries(most: int) -> None:
    assert entries(most) * FULL_RATIO >= most or entries(most) == MOST_ENTRIES
    assert entries(most) <= max(4 * most, 1024)


def test_a_device_that_disappears_keeps_its_number() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {(SDA | 16, "W", 98_304): 10})
    assert ["8:16"] == [*measured(kernel, clock)["devices"]]


def host(root: Path) -> WindowPlan:
    (root / "proc").mkdir()
    (root / "proc" / "diskstats").write_text(DISKSTATS)
    return WindowPlan(1, 10, 1000, root / "sys", root / "proc")


def test_the_process_says_in_one_line_why_it_measures_nothing(tmp_path: Path) -> None:
    plan = host(tmp_path)
    done = subprocess.run(command_line(plan), capture_output=True, check=False, timeout=60)
    assert (2, b"") == (done.returncode, done.stderr)
    assert "tracefs" in json.loads(done.stdout)["problem"]


def test_a_window_that_waits_for_another_measurement_ends_with_a_signal(tmp_path: Path) -> None:
    plan = host(tmp_path)
    tracing = tracefs(plan.sys)
    instances = os.open(tracing / "instances", os.O_RDONLY)
    fcntl.flock(instances, fcntl.LOCK_EX)
    process = subprocess.Popen(command_line(plan), stdout=subprocess.PIPE)
    try:
        opened = Path(f"/proc/{process.pid}/fd")
        wait_until(
            lambda: any(
                os.path.samestat(os.fstat(instances), os.stat(opened / each))
                for each in os.listdir(opened)
                if (opened / each).exists()
            ),
            "the process waits",
        )
        process.send_signal(signal.SIGTERM)
        assert b"" == process.communicate(timeout=60)[0]
        assert 128 + signal.SIGTERM == process.returncode
    finally:
        process.kill()
        os.close(instances)
