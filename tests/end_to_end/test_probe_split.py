"""Scheduled probes complete on an idle device, whatever the size of its requests.

The kernel splits a write of 1 MiB into requests of max_sectors_kb, or of fewer memory segments. The
guard must not take the probe's own requests for those of production. The environment variable
SSD_PROBE_ROUNDS sets the number of runs; the default is 1.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import MIB, ProfileSettings
from rigs.devices.probed_disk import ALWAYS, ProbedDisk
from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import mounted
from tests.duration import at_most
from tests.end_to_end.programs import need

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

ROUNDS = int(os.environ.get("SSD_PROBE_ROUNDS", "1"))

#: Slow enough that the guard takes several samples during a write.
BYTES_PER_SECOND = 16_000_000
WEEK = 7 * 86_400.0

#: The guard as by default, without the gate: other processes use this machine as well.
GUARDED = replace(
    ALWAYS,
    guard_queue=GateRules().guard_queue,
    guard_pressure_ratio=GateRules().guard_pressure_ratio,
)


@pytest.mark.parametrize("request_kb", [128, 512, 1280])
@pytest.mark.parametrize("profile", ["burst", "slc"])
def test_a_scheduled_probe_completes_on_an_idle_device(
    profile: str, request_kb: int, slow_disk: SlowDisk, tmp_path: Path
) -> None:
    need("fio")
    Path("/sys/block", slow_disk.device, "queue/max_sectors_kb").write_text(f"{request_kb}\n")
    state, fio = tmp_path / "state", tmp_path / "fio"
    state.mkdir()
    # fio runs in the control group whose writes are limited.
    fio.write_text(f'#!/bin/sh\necho $$ > {slow_disk.cgroup.path}/cgroup.procs\nexec fio "$@"\n')
    fio.chmod(0o755)
    settings = ProfileSettings(size_bytes=40 * MIB, interval_seconds=WEEK)
    with mounted(slow_disk, tmp_path / "mnt") as mountpoint:
        slow_disk.throttle(write_bps=BYTES_PER_SECOND)
        disk = ProbedDisk(
            mountpoint,
            slow_disk.device,
            state,
            {profile: settings},
            names=(profile,),
            gate=GUARDED,
            fio=str(fio),
        )
        try:
            for _ in range(ROUNDS):
                with at_most(60):
                    disk.run(WEEK)
        finally:
            disk.monitor.probe.close()
        runs = disk.values("ssd_probe_runs_total")
        slow_disk.free()
    assert {(slow_disk.device, profile, "success"): float(ROUNDS)} == {
        series: count for series, count in runs.items() if count
    }
