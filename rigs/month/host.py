"""Simulates a host: its drives second by second, and its metrics page at each scrape."""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.config.disk_rules import DiskRules
from exporter.drives.wearout import WearoutRules
from exporter.families import device_families
from exporter.families import own_families as own_metrics
from exporter.families.desc import Sample, SampleBlock
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.sampler import Sampler
from exporter.linux.pressure import Pressure
from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuStat
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics import (
    cgroup_collector,
    cpu_collector,
    disk_collector,
    own_collector,
    pressure_collector,
    smart_collector,
    softnet_collector,
)
from exporter.metrics.cgroup_collector import CgroupUsage
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import Parsed
from exporter.wear.wear_history import WearHistory
from exporter.wear.wear_recorder import WearRecorder
from rigs.month.demand import DAY, HOUR, IDLE, MINUTE, Demand, is_alter, is_backup, office_hours
from rigs.month.faults import DAYS, Fault
from rigs.month.health_data import healthy
from rigs.month.monitored_drive import MonitoredDrive, Presence
from rigs.month.probing import ProbeConditions, Probing
from rigs.month.replay import HEALTH, Replay, named
from rigs.month.series import Series
from tests.fakes import FakeClock

_POLL_SECONDS = {"nvme": 300.0, "sata": 900.0}
_MYSQL = "/system.slice/mysql.service"
_CPUS = 16
#: Downtime of a reboot for a kernel update; counters restart from zero.
_REBOOT_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Array:
    """State of the mirror: missing members, sync_action of md, and its progress as a ratio."""

    degraded: int = 0
    action: str = "idle"
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """Work of people on a host, by the time in seconds.

    presence: of drives that are swapped or pulled, by serial number.
    """

    array: Callable[[float], Array] = lambda _at: Array()
    is_serving: Callable[[float], bool] = lambda _at: True
    presence: Mapping[str, Callable[[float], Presence]] = field(default_factory=dict)


class Host:
    """One host over `seconds`; its first drive has the fault `fault`.

    asked: load of its drives in a minute; empty for a host whose health alone is evaluated.
    reboot_at: time of a reboot.
    work: work of people on the host.
    replays: the replays that evaluate this host.
    interval: seconds between two samples of the counters.
    """

    def __init__(
        self,
        name: str,
        drives: Callable[[WearRecorder], tuple[MonitoredDrive, ...]],
        *,
        seconds: float,
        place: Path,
        asked: Callable[[float], Mapping[str, Demand]] = lambda _at: {},
        fault: Fault | None = None,
        reboot_at: float = math.inf,
        work: Work | None = None,
        interval: int = 1,
        replays: tuple[Replay, ...] = (HEALTH,),
    ) -> None:
        self.name = name
        self._seconds = seconds
        self._place = place
        self._asked = asked
        self._fault = fault
        self._reboot_at = reboot_at
        self._work = work or Work()
        self._at = 0.0
        self._interval = interval
        self._wear = WearRecorder(
            lambda: WearHistory.open(place / f"{name}.db"), WearoutRules(), keeps=True
        )
        self._drives = drives(self._wear)
        self._rules = DiskRules()
        self._baselines = Baselines(self._rules.baseline)
        self._clock = FakeClock(1000.0, 0.0)
        self._collector_status = CollectorStatus(self._clock)
        self._probing = Probing(self._drives[0].identity.name)
        self._chance = random.Random(name)
        self._series = {replay: Series(name, named(replay)) for replay in replays}
        self._begin(0.0)

    def live(self) -> None:
        """Simulates the whole month; writes the series to `place`."""
        for at in range(0, int(self._seconds), MINUTE):
            is_away = self._reboot_at <= at < self._reboot_at + _REBOOT_SECONDS
            for replay, series in self._series.items():
                if at % replay.seconds == 0:
                    series.take(None if is_away else self._samples())
            if not is_away:
                self._minute(at)
                continue
            self._clock.advance(MINUTE)
            self._begin(at)
        self._wear.close()
        for replay, series in self._series.items():
            series.write(self.path(replay.name))

    def path(self, replay: str) -> Path:
        """File with the series of one replay."""
        return self._place / f"{self.name}.{replay}.jsonl"

    @property
    def replays(self) -> tuple[str, ...]:
        return tuple(replay.name for replay in self._series)

    def _begin(self, at: float) -> None:
        """Boots the host; the exporter loads its state."""
        self._booted_at = at
        self._baselines = Baselines(self._rules.baseline, self._baselines.to_state())
        self._cpu = dict.fromkeys(("user", "system", "idle", "iowait", "softirq"), 0.0)
        self._waiting = self._stalled = 0.0
        self._dropped = 0
        self._busy_seconds = 0.0
        self._sampler = Sampler(
            CounterFiles(self._place, self._clock),
            clock=self._clock,
            collector_status=self._collector_status,
            rules=self._rules,
            baselines=self._baselines,
            wanted=lambda _: True,
            interval=float(self._interval),
        )
        for drive in self._drives:
            drive.begin(self._baselines, self._rules, self._clock.monotonic())

    def _minute(self, at: float) -> None:
        """Simulates the minute from `at`."""
        self._apply_fault(at)
        self._at = at
        inserted = []
        for drive in self._drives:
            presence = self._work.presence.get(drive.identity.serial)
            if presence is not None and drive.become(presence(at)):
                inserted.append(drive)
        asked = self._asked(at)
        jobs = 0.4 if asked and (is_backup(at) or is_alter(at)) else 0.02
        now, waited, stalled = self._clock.monotonic(), 0.0, 0.0
        interval = self._interval
        for second in range(0, MINUTE if asked else 0, interval):
            waiting = jobs
            for drive in self._drives:
                if drive.is_present:
                    wanted = asked.get(drive.identity.name, IDLE)
                    waiting = drive.work(now + second, wanted, second, interval, waiting)
            waited += waiting * interval
            # The more tasks wait, the more likely all of them do.
            stalled += 0.5 * waiting**4 * interval
        self._clock.advance(MINUTE)
        self._account(at, waited, stalled)
        for drive in self._drives:
            # The agent polls a new drive at once.
            is_due = at % _POLL_SECONDS[drive.identity.kind] == 0 or drive in inserted
            if drive.is_present and is_due:
                health_data = healthy(drive.identity.kind, at)
                if self._fault and drive is self._drives[0]:
                    health_data = self._fault.health_data(health_data, self._day(at))
                drive.poll(at, health_data, _POLL_SECONDS[drive.identity.kind])
        first = self._drives[0]
        if first.is_present:
            conditions = ProbeConditions(
                up_seconds=at - self._booted_at + 900,
                slowness=first.model.slowness if first.model else 1.0,
                busy_ratio=self._busy_ratio(first),
                pressure_ratio=waited / MINUTE,
                health=first.health,
            )
            self._probing.step(at, conditions)

    def _day(self, at: float) -> float:
        """Day of the 30-day course of a fault."""
        return DAYS * at / self._seconds

    def _apply_fault(self, at: float) -> None:
        its, drive, day = self._fault, self._drives[0], self._day(at)
        if its is None or not drive.is_present:
            return
        if day >= its.lost:
            drive.become(Presence.MISSING)
            return
        drive.link_ratio = its.link(day) if its.link else 1.0
        if drive.model is not None:
            drive.model.slowness = its.slowness(day) if its.slowness else 1.0
            drive.model.cache_ratio = its.cache(day) if its.cache else 1.0

    def _busy_ratio(self, drive: MonitoredDrive) -> float:
        if drive.activity is None:
            return 0.0
        before, self._busy_seconds = self._busy_seconds, drive.activity.busy_ratio.buckets().sum
        return max(0.0, self._busy_seconds - before) / MINUTE

    def _account(self, at: float, waited: float, stalled: float) -> None:
        """Adds CPU time and pressure of a minute."""
        self._waiting += waited
        self._stalled += stalled
        busy = 0.05 + 0.4 * office_hours(at % DAY)
        parts = {"user": busy, "system": busy / 4, "softirq": busy / 20, "iowait": waited / 600}
        for mode, part in parts.items():
            self._cpu[mode] += part * _CPUS * MINUTE
        self._cpu["idle"] += (1 - sum(parts.values())) * _CPUS * MINUTE
        sampler = self._sampler
        sampler.cpu.softirq_max_ratio.observe(
            self._clock.monotonic(), self._chance.uniform(0.1, 0.3 + busy)
        )
        if self._chance.random() < MINUTE / (6 * HOUR):
            # A burst of network packets.
            sampler.cpu.softirq_saturated_seconds += 1
            self._dropped += 20
        sampler.cpu.idle.advance(self._cpu["idle"])
        sampler.cpu.iowait.advance(self._cpu["iowait"])
        its = self._cpu
        times = its["user"], 0, its["system"], its["idle"], its["iowait"], 0, its["softirq"], 0
        sampler.stat = CpuStat(tuple(round(TICKS_PER_SECOND * each) for each in times), {})
        sampler.samples += MINUTE
        sampler.gaps += self._chance.random() < MINUTE / (3 * HOUR)
        sampler.sampled_at_unix_time = self._clock.wall()
        working = [each for each in self._drives if each.stats and each.is_present]
        sampler.disks = {each.identity.name: each.stats for each in working if each.stats}
        sampler.activities = {
            each.identity.name: each.activity for each in working if each.activity is not None
        }

    def _samples(self) -> Iterator[Sample | SampleBlock]:
        """Samples of the page."""
        sampler, now = self._sampler, self._clock.monotonic()
        yield from disk_collector.samples(sampler, now, self._rules.saturation, request_sizes=False)
        yield from cpu_collector.samples(sampler, now, per_cpu=False)
        yield from softnet_collector.samples(
            SoftnetCounters(dropped=self._dropped, times_squeezed=0)
        )
        its = Pressure(self._waiting, self._stalled)
        yield from pressure_collector.samples({"io": its}, node_exporter=False)
        is_serving = self._work.is_serving(self._at)
        if is_serving:
            yield from cgroup_collector.samples([CgroupUsage(_MYSQL, its, None)], {})
        for drive in self._drives:
            yield from drive.samples()
        for role in ("mysql-data", "mysql-redo"):
            if self._drives[0].is_present:
                yield device_families.ROLE_INFO(1, self._drives[0].identity.name, role)
                yield device_families.ROLE_ACTIVE(
                    int(is_serving), self._drives[0].identity.name, role
                )
        if self._drives[0].is_present:
            where = self._drives[0].identity.name, "/var/lib/mysql"
            yield device_families.MOUNT_INFO(1, *where, "ext4")
            yield device_families.FILESYSTEM_SIZE(1e12, *where)
            yield device_families.FILESYSTEM_READONLY(0, *where)
            yield device_families.FILESYSTEM_FAILED(0, *where)
            yield device_families.FILESYSTEM_ERRORS(0, *where)
            yield from self._probing.samples()
        if any(drive.identity.kind == "sata" for drive in self._drives):
            array = self._work.array(self._at)
            yield device_families.MD_DEGRADED(array.degraded, "md0")
            yield device_families.MD_SYNC_ACTION(1, "md0", array.action)
            if array.progress is not None:
                yield device_families.MD_SYNC_PROGRESS(array.progress, "md0")
        wall = self._clock.wall()
        yield from smart_collector.agent_samples({"smartctl": 0, "fio": 0}, wall)
        self._collector_status.collect("disk", "page", lambda: Parsed(None))
        yield from own_collector.samples(
            self._collector_status, sampler, (self._booted_at, wall), ("1", "3", "7", "3", "6")
        )
        yield own_metrics.PROCESS["process_start_time_seconds"](self._booted_at)
