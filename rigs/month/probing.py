"""Probes of a simulated drive, with the real gate and the real result metrics."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import ON_BY_DEFAULT, PROFILES
from exporter.drives.health import DriveHealth
from exporter.families.desc import Sample
from exporter.metrics import probe_samples
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import GateState, Skip, gate
from exporter.probe.results import DirectoryResults, ProfileResults

_BUDGET = 4_000_000_000

#: p99 latency of a healthy drive by profile and operation.
_P99_SECONDS = {
    "fsync": (Op.SYNC, 0.00012),
    "page_read": (Op.READ, 0.00025),
    "page_write": (Op.WRITE, 0.00014),
}


@dataclass(frozen=True, slots=True)
class ProbeConditions:
    """Conditions of a probe: slowness of the drive, and load of drive and host over a minute."""

    up_seconds: float
    slowness: float
    busy_ratio: float
    pressure_ratio: float
    health: DriveHealth | None


class Probing:
    """The default profiles on one drive."""

    def __init__(self, device: str) -> None:
        self._chance = random.Random(f"probe {device}")
        self._found = DirectoryResults(
            {name: ProfileResults(PROFILES[name]) for name in ON_BY_DEFAULT},
            device=device,
            fstype="ext4",
            mountpoint="/var/lib/mysql",
            limits=WriteLimits(_BUDGET, 3650 * _BUDGET),
            left=WriteLimits(_BUDGET, 3650 * _BUDGET),
        )
        self._is_running = False

    def step(self, at: float, context: ProbeConditions) -> None:
        """Simulates one minute."""
        self._is_running = False
        for name, its in self._found.profiles.items():
            due = its.profile.interval_seconds
            if due and at % due < 60:
                self._run(name, at, context)

    def samples(self) -> Iterator[Sample]:
        """Samples of the page."""
        yield from probe_samples.directory_samples(self._found, is_running=self._is_running)

    def _run(self, name: str, at: float, context: ProbeConditions) -> None:
        its = self._found.profiles[name]
        known = context.health or DriveHealth()
        state = GateState(
            host_uptime_seconds=context.up_seconds,
            writes=its.profile.writes,
            endurance_used_ratio=known.endurance.used_ratio if known.endurance else None,
            temperature_celsius=known.temperatures.get("drive"),
            warning_celsius=known.temperature_warning_celsius,
            needed_bytes=its.profile.written_bytes_at_most,
            budget_bytes=_BUDGET,
            size_bytes=3 << 40,
            avail_bytes=1 << 40,
            avail_inodes=1 << 20,
            busy_ratio=context.busy_ratio,
            pressure_ratio=context.pressure_ratio,
            cgroup_pressure_ratio=0.0,
            skips=its.skips,
        )
        verdict = gate(state, GateRules())
        if isinstance(verdict, Skip):
            its.skipped[verdict.reason] += 1
            its.skips += verdict.is_for_load
            return
        its.runs[ProfileResult.SUCCESS] += 1
        its.last_run_at = its.last_success_at = at
        its.last_run_profile, its.engine, its.skips = its.profile, "psync", 0
        # A run takes three seconds; a scrape may or may not fall into it.
        self._is_running = self._chance.random() < 0.05
        op, p99 = _P99_SECONDS[name]
        p99 *= (
            context.slowness
            * (1 + 2 * context.busy_ratio**2)
            * self._chance.lognormvariate(0, 0.25)
        )
        found = OpResult(
            operations=100,
            mean_seconds=p99 / 3,
            p50_seconds=p99 / 3,
            p99_seconds=p99,
            p999_seconds=p99 * 2,
            max_seconds=p99 * 2,
            bins={p99 / 3: 99, p99 * 2: 1},
        )
        its.record_job(JobResult(name, RunResult.SUCCESS, None, 2.5, {op: found}))
