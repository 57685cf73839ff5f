"""Builds the objects that monitor one host, and returns the samples of the metrics page.

The collectors turn what these objects hold into samples, see `metrics.collectors`. The monitor
starts no thread and opens no socket; `exporter.daemon` does both.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter import __version__
from exporter.config.settings import COLLECTORS, Settings, device_filter
from exporter.families.desc import Sample, SampleBlock
from exporter.io import drive_events
from exporter.io.accumulators import PEAK_SECONDS
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.probe_windows import ProbeWindows
from exporter.io.sampler import Sampler
from exporter.io.service_watch import ServiceWatch
from exporter.io.slowdown import SlowdownEvidence, slowdown_evidence
from exporter.io.survey import TopologySurvey
from exporter.linux import kernel
from exporter.metrics import collectors, own_collector
from exporter.probe.slc_results import SlcResult, SlcResultStore
from exporter.programs.command import Runner, version
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import Parsed
from exporter.runtime.kept_copy import KeptCopies
from exporter.smart.problem_times import ProblemTimes

if TYPE_CHECKING:
    from exporter.drives.health import DriveHealth
    from exporter.drives.nvme_logs.slow_place import HostLatency, LatencyComparison, SlowPlaces
    from exporter.drives.watched_drive import WatchedDrive
    from exporter.history.io_history import IoHistory
    from exporter.linux.device import Device
    from exporter.probe.probe_monitor import ProbeMonitor
    from exporter.programs.children import Children
    from exporter.smart.health_monitor import HealthMonitor
    from exporter.tails.latency_watch import LatencyWatch
    from exporter.wear.wear_history import WearHistory

log = logging.getLogger(__name__)


class Monitor:
    """The data sources and collectors of one host.

    Arguments:
    runner: runs an external program and waits for it.
    state: the values that `to_state` returned in an earlier run; empty if there are none.
    children: creates the object that runs several processes at the same time.
    history: opens the database of the wear history; None if there is no state directory.
    state_directory: contains the write budget of the probes. With None probes are disabled.

    Attributes:
    events: what happened to each drive in the last year.
    problem_times: when each problem of a drive was found first.
    io_history: the I/O of each drive per minute; None without a state directory, or if the settings
        disable it.
    services: the I/O of systemd services and containers, refreshed by `refresh_services`.
    kept_copies: the number of files of the state directory that were set aside.
    health: monitors SMART data; None if the collector `smart` is disabled.
    probe: runs scheduled probes; None if they are disabled.
    slc: reads the results of write cache probes; None if the collector `probe` is disabled or if
        there is no state directory.
    latency: the latency of single requests, from the agent; None if the settings do not enable it.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        runner: Runner,
        state: dict[str, Any],
        *,
        children: "Callable[[], Children]",
        history: "Callable[[], WearHistory] | None" = None,
        state_directory: Path | None = None,
    ) -> None:
        self.clock = clock
        self.started_at_unix_time = clock.wall()
        self._runner = runner
        self._boot_id = kernel.boot_id(settings.path.procfs)
        self._probe_windows = ProbeWindows()
        self._baselines = Baselines(settings.rules.baseline, state.get("baselines"))
        self.versions: tuple[str, ...] = ("",) * 5
        self.events = drive_events.DriveEvents(state.get("events"))
        self.problem_times = ProblemTimes(state.get("problems"))
        self.settings = settings
        self.kept_copies = KeptCopies(state_directory)
        self.collector_status = CollectorStatus(clock)
        self._is_exported = device_filter(settings.disk)
        is_enabled = settings.collector
        sources = CounterFiles(
            settings.path.procfs,
            clock,
            with_disks=is_enabled["disk"],
            with_cpus=is_enabled["cpu"],
            with_pressure=is_enabled["pressure"],
            with_softirqs=is_enabled["cpu"] and is_enabled["softirqs"],
        )
        self.sampler = Sampler(
            sources,
            clock=clock,
            collector_status=self.collector_status,
            rules=settings.rules,
            baselines=self._baselines,
            wanted=self._is_exported,
            interval=settings.sampler.interval_seconds,
            per_cpu=settings.cpu.per_cpu or settings.compat.node_exporter,
            request_sizes=settings.disk.request_sizes,
            evidence=self._slowdown_evidence,
            is_probed=self._probe_windows.covers,
        )
        self.sampler.cpu.restore(state, self._boot_id)
        self.survey = TopologySurvey(
            settings, clock, self.collector_status, self.sampler.update_drives, state.get("roles")
        )
        self.io_history = self._new_io_history(state_directory)
        self.services = ServiceWatch(
            clock,
            lambda: self.settings,
            lambda: self.survey.topology,
            self.is_exported,
        )
        self._saved_inventory = state.get("inventory")
        self.health = self._new_health_monitor(children, history) if is_enabled["smart"] else None
        self._latencies: LatencyComparison | None = None
        self._saved_probe = state.get("probe")
        self.probe = self._new_probe_monitor(state_directory) if is_enabled["probe"] else None
        self.slc = (
            SlcResultStore(state_directory) if is_enabled["probe"] and state_directory else None
        )
        self.latency = self._new_latency_watch()
        # In the order of COLLECTORS, and not in that of the configuration file.
        names = [name for name in COLLECTORS if is_enabled[name]]
        if self.latency is None:
            # It would have no samples. Its module is not loaded, because the memory is limited.
            names = [name for name in names if name != "latency"]
        self._collectors = collectors.load(self, names)
        self._own = own_collector.new(self)

    def refresh_host(self) -> None:
        """Read the topology. Until that has succeeded once, also read the programs' versions."""
        if not any(self.versions):
            self.collector_status.collect("page", "versions", self._read_versions)
        self.survey.refresh()

    def reconfigure(self, settings: Settings) -> None:
        """Apply reloaded settings. Counters and baselines are kept.

        Changes of paths, addresses, collectors, probes, the state directory, the history and the
        latency are ignored, because they require a restart.
        """
        old = self.settings
        settings = replace(
            settings,
            path=old.path,
            web=old.web,
            state=old.state,
            history=old.history,
            latency=old.latency,
            collector=old.collector,
            probe=old.probe,
        )
        self._is_exported = device_filter(settings.disk)
        self._baselines.reconfigure(settings.rules.baseline)
        # The sampler gets the new settings before `self.settings` is replaced. A page that uses the
        # new settings may need values that the sampler records only if they are enabled.
        self.sampler.reconfigure(
            settings.rules,
            self._is_exported,
            settings.sampler.interval_seconds,
            per_cpu=settings.cpu.per_cpu or settings.compat.node_exporter,
            request_sizes=settings.disk.request_sizes,
        )
        self.settings = self.survey.settings = settings
        if self.health is not None:
            self.health.reconfigure(settings)

    def readings(self) -> Iterator[tuple[str, Callable[[], None], Callable[[], float]]]:
        """Yields what must be read regularly on a thread: a name, the function, the interval."""
        # The results of write cache probes change rarely: after a probe that a person starts, or
        # once a week. So they are read less often than the topology.
        if self.slc is not None:
            yield "slc", self.refresh_slc, lambda: 2 * self.settings.survey.interval_seconds
        if (latency := self.latency) is not None:
            yield "latency", self.refresh_latency, lambda: latency.refresh_seconds

    def refresh_latency(self) -> None:
        """Read what the agent has measured of single requests."""
        if self.latency is not None:
            self.collector_status.collect("latency", "read", self.latency.refresh)

    def refresh_slc(self) -> None:
        """Read the results of write cache probes from their files. This may block on a disk."""
        if self.slc is not None:
            self.collector_status.collect("probe", "slc", self.slc.refresh)

    def refresh_services(self) -> None:
        """Read the I/O of all services; see `ServiceWatch`."""
        if self.settings.collector["cgroup"]:
            self.collector_status.collect("cgroup", "services", self.services.refresh)

    def tick(self) -> None:
        """Take one sample, and record the minute if one has ended; see `Sampler.tick`."""
        self.sampler.tick()
        if self.io_history is not None:
            self.io_history.record()

    def save_history(self, *, at_end: bool = False) -> None:
        """Write what is due of the I/O history. This may block on a disk."""
        history = self.io_history
        if history is not None:

            def save() -> Parsed[None]:
                history.save(self.clock.wall(), at_end=at_end)
                return Parsed(None)

            self.collector_status.collect("page", "history", save)

    def samples(self) -> Iterable[Sample | SampleBlock]:
        """Yields the samples of the metrics page. A collector that fails yields no samples."""
        # If the pending samples cannot be processed, the collectors show the last results.
        self.collector_status.collect("page", "process", self._process_pending)
        for name, collect in self._collectors.items():
            yield from self.collector_status.collect(name, "page", collect) or ()
        yield from self.collector_status.collect("page", "own", self._own) or ()

    def compare_latencies(self, drives: "Sequence[WatchedDrive]") -> None:
        """Compares the latency that drives measure themselves with that of the host."""
        if self._latencies is None:
            logs = [drive.health.logs for drive in drives if drive.health is not None]
            if not any(each is not None and each.latency is not None for each in logs):
                return
            # Imported only if it is used, because the daemon's memory is limited.
            from exporter.drives.nvme_logs.slow_place import LatencyComparison  # noqa: PLC0415

            self._latencies = LatencyComparison()
        self._latencies.observe(drives, self._host_latency)

    @property
    def slow_places(self) -> "Mapping[str, SlowPlaces]":
        """Where slow requests spent their time, by device name, of the drives of which it is known.

        `compare_latencies` refreshes it.
        """
        return {} if self._latencies is None else self._latencies.places

    def probe_rounds(self) -> Mapping[str, Any]:
        """Returns the kept results of probes as for the state file; empty without probes."""
        rounds = self.probe.to_state()["rounds"] if self.probe else None
        return rounds if isinstance(rounds, Mapping) else {}

    def slc_results(self) -> Mapping[str, SlcResult]:
        """Returns the results of write cache probes that `refresh_slc` read, by device name."""
        return {} if self.slc is None else self.slc.results(self._identities)

    def is_exported(self, device: str) -> bool:
        """Returns True if the settings do not exclude the block device with this name."""
        return self._is_exported(device)

    def to_state(self, *, at_end: bool = False) -> dict[str, Any]:
        """Returns JSON values for the state file, keyed by name.

        at_end: the process is stopping, and no page is rendered after this call.
        """
        inventory = self.health.drives.to_state() if self.health else self._saved_inventory
        with self.sampler.flushed():
            return {
                "baselines": self._baselines.to_state(),
                "events": self.events.to_state(),
                **self.sampler.cpu.to_state(self._boot_id, at_end=at_end),
                "inventory": inventory,
                "problems": self.problem_times.to_state(),
                "probe": self.probe.to_state() if self.probe else self._saved_probe,
                "roles": self.survey.roles_to_state(),
            }

    def _new_io_history(self, state_directory: Path | None) -> "IoHistory | None":
        settings = self.settings
        if state_directory is None or not settings.history.enabled:
            return None
        if not settings.collector["disk"]:
            return None
        from exporter.history.io_history import IoHistory  # noqa: PLC0415

        return IoHistory(state_directory, settings.history, self.sampler, self.events)

    def _new_latency_watch(self) -> "LatencyWatch | None":
        if not (self.settings.latency.enabled and self.settings.collector["latency"]):
            return None
        from exporter.tails.latency_watch import LatencyWatch  # noqa: PLC0415

        return LatencyWatch(self.settings.smart.directory, self.clock)

    def _new_health_monitor(
        self, children: "Callable[[], Children]", history: "Callable[[], WearHistory] | None"
    ) -> "HealthMonitor":
        from exporter.smart.health_monitor import HealthMonitor  # noqa: PLC0415

        return HealthMonitor(
            self.settings,
            self.clock,
            self.collector_status,
            devices=self._devices,
            written_bytes=self._written_bytes,
            children=children,
            saved_inventory=self._saved_inventory,
            history=history,
        )

    def _new_probe_monitor(self, state_directory: Path | None) -> "ProbeMonitor | None":
        if not self.settings.probe.directory:
            return None
        if state_directory is None:
            log.warning(
                "probes are off: no state directory to store the write budget in; "
                "set --state.directory"
            )
            return None
        from exporter.probe.probe_monitor import ProbeMonitor  # noqa: PLC0415

        return ProbeMonitor(
            self.settings,
            self.clock,
            self.collector_status,
            runner=self._runner,
            boot_id=self._boot_id,
            state_directory=state_directory,
            saved=self._saved_probe,
            windows=self._probe_windows,
            topology=lambda: self.survey.topology,
            busy_seconds=self._busy_seconds,
            identity=self._identity,
            health=self._drive_health,
        )

    def _busy_seconds(self, device: str) -> float | None:
        with self.sampler.flushed():
            activity = self.sampler.activities.get(device)
            return None if activity is None else activity.busy_ratio.buckets().sum

    def _identity(self, device: str) -> str:
        activity = self.sampler.activities.get(device)
        return device if activity is None else activity.drive.identity

    def _identities(self) -> dict[str, str]:
        return {name: drive.identity for name, drive in self.survey.drives().items()}

    def _devices(self) -> "Mapping[str, Device]":
        topology = self.survey.topology
        return {} if topology is None else topology.devices

    def _drive_health(self, device: str) -> "DriveHealth | None":
        return self.health.health_of(device) if self.health else None

    def _slowdown_evidence(self, name: str) -> SlowdownEvidence:
        device = self._devices().get(name)
        link = None if device is None else device.state.link
        return slowdown_evidence(link, self._drive_health(name))

    def _host_latency(self, device: str) -> "HostLatency | None":
        from exporter.drives.nvme_logs.slow_place import HostLatency  # noqa: PLC0415

        sampler = self.sampler
        with sampler.flushed():
            activity, disk = sampler.activities.get(device), (sampler.disks or {}).get(device)
            if activity is None or disk is None:
                return None
            now = self.clock.monotonic()
            return HostLatency(
                self.clock.wall(),
                now,
                PEAK_SECONDS + sampler.interval,
                activity.read_await.peak.value(now),
                activity.write_await.peak.value(now),
                disk.flush_requests,
            )

    def _written_bytes(self, device: str) -> int | None:
        disk = (self.sampler.disks or {}).get(device)
        return None if disk is None else disk.written_bytes

    def _process_pending(self) -> Parsed[None]:
        with self.sampler.flushed():
            return Parsed(None)

    def _read_versions(self) -> Parsed[None]:
        path, run = self.settings.path, self._runner
        programs = version(run, path.smartctl), version(run, path.fio)
        python, of_kernel = ".".join(map(str, sys.version_info[:3])), kernel.release(path.procfs)
        self.versions = (__version__, python, *programs, of_kernel)
        return Parsed(None)
