"""Samples this host without a daemon, privileges or state, and returns frames for `top`."""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace

from exporter.config.settings import Settings, device_filter
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.drive_now import drive_now
from exporter.io.recent_activity import RecentActivity
from exporter.io.sampler import Sampler
from exporter.io.service_watch import ServiceWatch
from exporter.io.survey import TopologySurvey
from exporter.linux.topology import Topology
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.printable import printable
from exporter.top.frame import DaemonDrive, DriveLine, Frame

#: Minimum time between two readings of the services' I/O, in seconds. A reading of 500 control
#: groups takes about 10 ms of CPU time.
_SERVICES_SECONDS = 2.0

_UNKNOWN = DaemonDrive()


class LiveHost:
    """The sources of one host. Use it on one thread.

    interval: the time between two samples in seconds.
    """

    def __init__(self, settings: Settings, clock: Clock, interval: float) -> None:
        self._clock = clock
        self._interval = interval
        self._status = CollectorStatus(clock)
        is_exported = device_filter(settings.disk)
        self._sampler = Sampler(
            CounterFiles(settings.path.procfs, clock),
            clock=clock,
            collector_status=self._status,
            rules=settings.rules,
            baselines=Baselines(settings.rules.baseline),
            wanted=is_exported,
            interval=interval,
        )
        self._survey = TopologySurvey(settings, clock, self._status, self._sampler.update_drives)
        self._services = ServiceWatch(clock, lambda: settings, self.topology, is_exported)
        self._survey_seconds = settings.survey.interval_seconds
        self._surveyed_at = self._services_read_at = -math.inf
        self._has_new_device = False
        self._sampler.on_change(self._note_change)

    def tick(self) -> None:
        """Takes a sample. Reads the topology and the services if they are due."""
        now = self._clock.monotonic()
        if self._has_new_device or now - self._surveyed_at >= self._survey_seconds:
            self._has_new_device, self._surveyed_at = False, now
            self._survey.refresh()
        self._sampler.tick()
        if now - self._services_read_at >= min(_SERVICES_SECONDS, self._interval * 0.99):
            self._services_read_at = now
            self._status.collect("cgroup", "services", self._services.refresh)

    def topology(self) -> Topology | None:
        """Returns the last topology; None before the first one."""
        return self._survey.topology

    def frame(self, known: Mapping[str, DaemonDrive], notes: tuple[str, ...] = ()) -> Frame:
        """Returns the current values.

        known: the values from a daemon, keyed by device.
        notes: further notes.
        """
        wall = self._clock.wall()
        with self._sampler.flushed():
            recent = self._sampler.recent
            drives = tuple(
                self._drive(name, activity, recent, known.get(name, _UNKNOWN))
                for name, activity in sorted(self._sampler.activities.items())
                if activity.drive.leaf
            )
            if self._sampler.disks is None:
                notes = ("the disk counters cannot be read: check --path.procfs", *notes)
            some, full, iowait, softirq = (_last(recent, index) for index in range(4))
            hottest, observed = recent.hottest, recent.taken * self._interval
        if self._services.problem:
            notes = (*notes, self._services.problem)
        return Frame(
            host=printable(os.uname().nodename),
            clock=time.strftime("%H:%M:%S", time.localtime(wall)),
            unix_time=wall,
            interval_seconds=self._interval,
            drives=drives,
            some_ratio=some,
            full_ratio=full,
            hottest_cpu=hottest,
            softirq_ratio=softirq,
            iowait_ratio=iowait,
            observed_seconds=observed,
            notes=notes,
        )

    def _note_change(self) -> None:
        self._has_new_device = True

    def _drive(
        self, name: str, activity: DiskActivity, recent: RecentActivity, known: DaemonDrive
    ) -> DriveLine:
        now = self._clock.monotonic()
        return replace(
            self._identified(DriveLine(name, known=known)),
            now=drive_now(name, activity, recent, now, self._interval),
            services=self._services.rates.get(name, ()),
        )

    def _identified(self, line: DriveLine) -> DriveLine:
        topology, name = self._survey.topology, line.device
        device = None if topology is None else topology.devices.get(name)
        if topology is None or device is None:
            return line
        roles = [printable(role.name) for role in topology.roles if name in role.devices]
        mountpoints = {
            printable(filesystem.mountpoint)
            for filesystem in topology.filesystems
            if filesystem.is_watched and name in filesystem.devices
        }
        model = device.identity.model
        return replace(
            line,
            model=None if model is None else printable(model),
            capacity_bytes=device.block.capacity_bytes,
            roles=tuple(dict.fromkeys(roles)),
            mountpoints=tuple(sorted(mountpoints, key=lambda path: (len(path), path))),
        )


def _last(recent: RecentActivity, index: int) -> float | None:
    """Returns the last value of a column of the host; None if it is unknown."""
    values = recent.column(index, 1)
    return None if not recent.taken or math.isnan(values[0]) else values[0]
