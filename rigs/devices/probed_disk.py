"""A filesystem on its own block device, with the probes of the daemon and the real fio."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import ON_BY_DEFAULT, ProfileSettings
from exporter.config.settings import Paths, ProbeSettings, Settings
from exporter.families.desc import Buckets
from exporter.io.probe_windows import ProbeWindows
from exporter.linux import topology
from exporter.metrics.probe_samples import samples
from exporter.probe.probe_monitor import ProbeMonitor
from exporter.programs.command import SystemRunner
from exporter.runtime.clock import SystemClock
from exporter.runtime.collector_status import CollectorStatus
from rigs.devices.cgroup import RigUnavailable
from rigs.devices.loop import layers, require
from tests.mounts import unmount

_SECTOR_BYTES = 512

#: Time for which the load must be known before a probe.
_NOTED_SECONDS = 10.0

#: Disables the gate, because other processes use this machine as well.
ALWAYS = GateRules(
    host_uptime_seconds=0,
    busy_ratio=1,
    pressure_ratio=1,
    cgroup_pressure_ratio=1,
    free_bytes=0,
    free_ratio=0,
    guard_queue=100_000,
    guard_pressure_ratio=1,
)


class ClockAhead(SystemClock):
    """The system clock plus an offset that increases between probes."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def wall(self) -> float:
        return time.time() + self.ahead


class ProbedDisk:
    """Result of `probed_disk`: `run` uses the probe schedule, counters come from the kernel."""

    def __init__(
        self,
        mountpoint: Path,
        device: str,
        state: Path,
        profiles: Mapping[str, ProfileSettings],
        *,
        names: tuple[str, ...] = ON_BY_DEFAULT,
        gate: GateRules = ALWAYS,
        fio: str = "fio",
        server: int | None = None,
    ) -> None:
        """`server`: process ID of the only known database; without it, all of this machine."""
        self.device = device
        self._mountpoint = mountpoint
        self._clock = ClockAhead()
        (state / "run" / "lock").mkdir(parents=True)
        seen = topology.read(Path("/sys"), Path("/proc"), Path("/nonexistent")).value
        if server is not None:
            seen = replace(seen, servers=tuple(s for s in seen.servers if s.pid == server))
            assert seen.servers, f"process {server} is not a database"
        settings = Settings(
            path=Paths(rootfs=state, fio=fio),
            probe=ProbeSettings(
                directory=(mountpoint / "probe",),
                profiles=names,
                first_delay_seconds=0,
                profile=dict(profiles),
                gate=gate,
            ),
        )
        self.monitor = ProbeMonitor(
            settings,
            self._clock,
            CollectorStatus(self._clock),
            runner=SystemRunner(),
            boot_id="of this machine",
            state_directory=state,
            saved=None,
            windows=ProbeWindows(),
            topology=lambda: seen,
            busy_seconds=lambda _device: 0.0,
            identity=lambda name: name,
            health=lambda _device: None,
        )

    def run(self, seconds: float = _NOTED_SECONDS) -> None:
        """Advances the clock by `seconds` and runs the probes that are due."""
        (directory,) = self.monitor.directories
        self._clock.ahead += seconds - _NOTED_SECONDS
        directory.locate()
        directory.record_load()
        self._clock.ahead += _NOTED_SECONDS
        directory.record_load()
        self.monitor.probe.run_due()

    def values(self, family: str) -> dict[tuple[str, ...], float]:
        """Samples of a metric that is not a histogram, by label values."""
        found = (each for each in samples(self.monitor) if each.desc.name == family)
        return {s.labels: s.value for s in found if not isinstance(s.value, Buckets)}

    def charged_bytes(self) -> int:
        return int(self.values("ssd_probe_written_bytes_total")[self.device,])

    def written_bytes(self) -> int:
        """Bytes written to the device, including dirty pages, which it flushes first."""
        subprocess.run(["sync", "--file-system", self._mountpoint], check=True)
        stat = Path("/sys/block", self.device, "stat").read_text().split()
        return int(stat[6]) * _SECTOR_BYTES


@contextmanager
def probed_disk(
    place: Path, size_bytes: int, profiles: Mapping[str, ProfileSettings] | None = None
) -> Iterator[ProbedDisk]:
    """ext4 on a loop device in memory, with probes that have not run yet. `place` must be empty.

    Raises:
        RigUnavailable: a requirement is missing; all previous steps are undone.
    """
    memory, mountpoint = Path("/dev/shm"), place / "mnt"
    require(memory, size_bytes)
    mountpoint.mkdir()
    with layers(memory, size_bytes) as (_, upper):
        # Not lazily in the background, where it would count as writes of probes.
        lazy = "lazy_itable_init=0,lazy_journal_init=0"
        try:
            subprocess.run(["mkfs.ext4", "-q", "-E", lazy, upper.path], check=True)
            subprocess.run(["mount", upper.path, mountpoint], check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            raise RigUnavailable(f"{upper.path}: {e}") from e
        disk = None
        try:
            state = place / "state"
            state.mkdir()
            disk = ProbedDisk(mountpoint, upper.path.name, state, profiles or {})
            yield disk
        finally:
            if disk is not None:
                disk.monitor.probe.close()
            unmount(mountpoint)
