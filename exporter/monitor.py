"""The monitor: the sources and collectors of one host, put together; no threads, no network."""

import logging
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter import __version__
from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import Settings, device_filter
from exporter.io import accumulators, survey
from exporter.io.baseline import Baselines
from exporter.io.sampler import CounterFiles, Sampler
from exporter.io.slowdown import SlowdownEvidence, slowdown_evidence
from exporter.io.survey import TopologySurvey
from exporter.linux import softirqs, softnet_stat
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.files import Parsed
from exporter.metrics import (
    compat_collector,
    cpu_collector,
    device_collector,
    disk_collector,
    own_collector,
    probe_collector,
)
from exporter.metrics.client_library import ProcessCollector
from exporter.metrics.desc import Sample
from exporter.probe.results import ProbeWindows
from exporter.probe.slc_results import SlcResultStore
from exporter.programs.command import Runner, version
from exporter.web import status_page

if TYPE_CHECKING:
    from exporter.metrics.smart_collector import SmartCollector
    from exporter.probe_monitor import ProbeMonitor
    from exporter.programs.children import Children
    from exporter.smart.health_monitor import HealthMonitor
    from exporter.smart.wear_history import WearHistory

log = logging.getLogger(__name__)


class Monitor:
    """One host under watch; `state` is what an earlier run gave to `to_state`."""

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
        self._clock = clock
        self._runner = runner
        self._boot_id = own_collector.boot_id(settings.path.procfs)
        self._probed = ProbeWindows()
        self._process = ProcessCollector(registry=None)
        self._baselines = Baselines(settings.rules.baseline, state.get("baselines"))
        self._versions = ("",) * 5
        self.settings = settings
        self.collector_status = CollectorStatus(clock)
        self._wanted = device_filter(settings.disk)
        on = settings.collector
        sources = CounterFiles(
            settings.path.procfs,
            clock,
            with_disks=on["disk"],
            with_cpus=on["cpu"],
            with_pressure=on["pressure"],
        )
        self.sampler = Sampler(
            sources,
            clock=clock,
            collector_status=self.collector_status,
            rules=settings.rules,
            baselines=self._baselines,
            wanted=self._wanted,
            interval=settings.sampler.interval_seconds,
            per_cpu=settings.cpu.per_cpu or settings.compat.node_exporter,
            request_sizes=settings.disk.request_sizes,
            evidence=self._slowdown_evidence,
            is_probed=self._probed.covers,
        )
        self.sampler.cpu.idle = accumulators.restored_counter(state.get("idle"), self._boot_id)
        self.sampler.cpu.iowait = accumulators.restored_counter(state.get("iowait"), self._boot_id)
        self.survey = TopologySurvey(
            settings, clock, self.collector_status, self.sampler.update_drives
        )
        self._kept_inventory = state.get("inventory")
        self.health = self._health(children, history) if on["smart"] else None
        self._smart_collector = self._new_smart_collector()
        self._kept_probe = state.get("probe")
        self.probe = self._probing(state_directory) if on["probe"] else None
        self.slc = SlcResultStore(state_directory) if on["probe"] and state_directory else None
        #: By name, in the order of the page.
        self._collectors: dict[str, Callable[[], Parsed[list[Sample]]]] = {
            "cpu": lambda: self._sampled(self._cpu),
            "softirqs": self._softirqs,
            "softnet": self._softnet,
            "pressure": self._pressure,
            "cgroup": self._cgroup,
            "disk": lambda: self._sampled(self._disk),
            "device": self._device,
            "filesystem": self._filesystem,
            "smart": self._smart,
            "process": self._own_process,
        }
        if self.probe is not None or self.slc is not None:
            self._collectors["probe"] = self._probe

    def begin(self) -> None:
        """Find out once what does not change: the versions of what is installed."""
        path = self.settings.path
        self._versions = (
            __version__,
            platform.python_version(),
            version(self._runner, path.smartctl),
            version(self._runner, path.fio),
            own_collector.kernel_release(path.procfs),
        )
        self.survey.refresh()

    def reconfigure(self, settings: Settings) -> None:
        """Take over settings that were read again.

        Paths, addresses, collectors, probes and the state's place keep until a restart.

        What was sampled and learned goes on.
        """
        kept = self.settings
        settings = replace(
            settings,
            path=kept.path,
            web=kept.web,
            state=kept.state,
            collector=kept.collector,
            probe=kept.probe,
        )
        self._wanted = device_filter(settings.disk)
        self._baselines.reconfigure(settings.rules.baseline)
        # The sampler first: the page asks it for what the settings say.
        self.sampler.reconfigure(
            settings.rules,
            self._wanted,
            settings.sampler.interval_seconds,
            per_cpu=settings.cpu.per_cpu or settings.compat.node_exporter,
            request_sizes=settings.disk.request_sizes,
        )
        self.settings = self.survey.settings = settings
        if self.health is not None:
            self.health.reconfigure(settings)

    def look_at_slc(self) -> None:
        """See what probes of write caches have left; on a thread that may wait for a disk."""
        if self.slc is not None:
            self.collector_status.collect("probe", "slc", self.slc.look)

    def samples(self) -> Iterable[Sample]:
        """The page. What fails leaves its own samples out."""
        for name, collect in self._collectors.items():
            if self.settings.collector[name]:
                yield from self.collector_status.collect(name, "page", collect) or ()
        yield from own_collector.samples(
            self.collector_status, self.sampler, self.survey.refreshed_at_unix_time, self._versions
        )

    def overview(self) -> list[tuple[str, ...]]:
        """The table of the status page; the first row is the heading."""
        # Before the sampler is held: who holds it waits for nobody.
        drives = self.health.drives.watched() if self.health else []
        with self.sampler.flushed():
            return status_page.device_rows(
                self.sampler, self.survey.topology, drives, self._clock.monotonic()
            )

    def to_state(self, *, at_end: bool = False) -> dict[str, Any]:
        """Plain values that a later run wants to know; `at_end` no page comes after them."""
        inventory = self.health.drives.to_state() if self.health else self._kept_inventory
        with self.sampler.flushed():
            return {
                "baselines": self._baselines.to_state(),
                "idle": accumulators.counter_state(
                    self.sampler.cpu.idle, self._boot_id, at_end=at_end
                ),
                "iowait": accumulators.counter_state(
                    self.sampler.cpu.iowait, self._boot_id, at_end=at_end
                ),
                "inventory": inventory,
                "probe": self.probe.to_state() if self.probe else self._kept_probe,
            }

    def _health(
        self, children: "Callable[[], Children]", history: "Callable[[], WearHistory] | None"
    ) -> "HealthMonitor":
        from exporter.smart.health_monitor import HealthMonitor  # noqa: PLC0415

        return HealthMonitor(
            self.settings,
            self._clock,
            self.collector_status,
            disks=self._disks,
            written_bytes=self._written_bytes,
            children=children,
            saved_inventory=self._kept_inventory,
            history=history,
        )

    def _new_smart_collector(self) -> "SmartCollector | None":
        if self.health is None:
            return None
        from exporter.metrics.smart_collector import SmartCollector  # noqa: PLC0415

        return SmartCollector(self.health)

    def _probing(self, state_directory: Path | None) -> "ProbeMonitor | None":
        if not self.settings.probe.directory:
            return None
        if state_directory is None:
            log.warning("probes are off: there is no state directory to count their bytes in")
            return None
        from exporter.probe_monitor import ProbeMonitor  # noqa: PLC0415

        return ProbeMonitor(
            self.settings,
            self._clock,
            self.collector_status,
            runner=self._runner,
            boot_id=self._boot_id,
            state=state_directory,
            kept=self._kept_probe,
            windows=self._probed,
            topology=lambda: self.survey.topology,
            busy_seconds=self._busy_seconds,
            identity=self._identity,
            health=lambda device: self.health.drives.health_of(device) if self.health else None,
        )

    def _busy_seconds(self, device: str) -> float | None:
        with self.sampler.flushed():
            activity = self.sampler.activities.get(device)
            return None if activity is None else activity.busy_ratio.buckets().sum

    def _identity(self, device: str) -> str:
        activity = self.sampler.activities.get(device)
        return device if activity is None else activity.drive.identity

    def _identities(self) -> dict[str, str]:
        seen = self.survey.topology
        drives = {} if seen is None else survey.drives_from_topology(seen, self.settings.device)
        return {name: drive.identity for name, drive in drives.items()}

    def _disks(self) -> dict[str, DeviceIdentity]:
        seen = self.survey.topology
        return {} if seen is None else {name: its.identity for name, its in seen.devices.items()}

    def _slowdown_evidence(self, device: str) -> SlowdownEvidence:
        seen = self.survey.topology
        known = None if seen is None else seen.devices.get(device)
        link = None if known is None else known.state.link
        return slowdown_evidence(
            link, self.health.drives.health_of(device) if self.health else None
        )

    def _written_bytes(self, device: str) -> int | None:
        disk = (self.sampler.disks or {}).get(device)
        return None if disk is None else disk.written_bytes

    def _sampled(self, collect: Callable[[], Iterator[Sample]]) -> Parsed[list[Sample]]:
        with self.sampler.flushed():
            return Parsed(list(collect()))

    def _disk(self) -> Iterator[Sample]:
        yield from disk_collector.samples(
            self.sampler,
            self._clock.monotonic(),
            self.settings.rules.saturation,
            request_sizes=self.settings.disk.request_sizes,
        )
        if self.settings.compat.node_exporter:
            yield from compat_collector.disk_samples(self.sampler)

    def _cpu(self) -> Iterator[Sample]:
        yield from cpu_collector.samples(
            self.sampler, self._clock.monotonic(), per_cpu=self.settings.cpu.per_cpu
        )
        if self.settings.compat.node_exporter:
            yield from compat_collector.cpu_samples(self.sampler)

    def _softirqs(self) -> Parsed[list[Sample]]:
        found = softirqs.read(self.settings.path.procfs)
        collected = cpu_collector.softirq_samples(found.value, per_cpu=self.settings.cpu.per_cpu)
        return Parsed(list(collected), found.faults)

    def _softnet(self) -> Parsed[list[Sample]]:
        found = softnet_stat.read(self.settings.path.procfs)
        return Parsed(list(cpu_collector.softnet_samples(found.value)), found.faults)

    def _pressure(self) -> Parsed[list[Sample]]:
        found = cpu_collector.read_pressure(self.settings.path.procfs)
        collected = cpu_collector.pressure_samples(
            found.value, node_exporter=self.settings.compat.node_exporter
        )
        return Parsed(list(collected), found.faults)

    def _cgroup(self) -> Parsed[list[Sample]]:
        seen = self.survey.topology
        servers = [] if seen is None else [server.cgroup for server in seen.servers]
        names = [*filter(None, servers), *self.settings.cgroup.groups]
        devices = {} if seen is None else seen.devices
        numbers = {
            its.block.number: name
            for name, its in devices.items()
            if its.block.number is not None and self._wanted(name)
        }
        found = cpu_collector.read_cgroups(self.settings.path.sysfs, names)
        return Parsed(list(cpu_collector.cgroup_samples(found.value, numbers)), found.faults)

    def _device(self) -> Parsed[list[Sample]]:
        seen = self.survey.topology
        known = self.health.drives.identities() if self.health else {}
        return Parsed(
            [] if seen is None else list(device_collector.samples(seen, self._wanted, known))
        )

    def _filesystem(self) -> Parsed[list[Sample]]:
        seen = self.survey.topology
        return Parsed(
            [] if seen is None else list(device_collector.filesystem_samples(seen, self._wanted))
        )

    def _smart(self) -> Parsed[list[Sample]]:
        seen = self.survey.topology
        names = {} if seen is None else seen.devices
        described = {n for n, its in names.items() if its.block.is_leaf and self._wanted(n)}
        return Parsed(self._smart_collector.samples(described) if self._smart_collector else [])

    def _probe(self) -> Parsed[list[Sample]]:
        found = list(self.probe.samples()) if self.probe else []
        if self.slc is not None:
            found += probe_collector.slc_samples(self.slc.results(self._identities))
        return Parsed(found)

    def _own_process(self) -> Parsed[list[Sample]]:
        return Parsed(list(own_collector.process_samples(iter(self._process.collect()))))
