"""Loads the collectors: the modules that turn what was read into the samples of the metrics page.

The collector `disk` is the module `disk_collector` with the function::

    def new(sources: Sources) -> Collect | None

It is called once, at the start, and only if the collector is enabled: the module of a disabled
collector is not imported. It returns the function that returns the samples at each rendering of
the page; None if this host has nothing to collect.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from exporter.config.settings import Settings
from exporter.families.desc import Sample, SampleBlock
from exporter.io.drive_events import DriveEvents
from exporter.io.sampler import Sampler
from exporter.io.service_watch import ServiceWatch
from exporter.io.survey import TopologySurvey
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import Parsed
from exporter.runtime.kept_copy import KeptCopies
from exporter.smart.problem_times import ProblemTimes

if TYPE_CHECKING:
    from exporter.drives.nvme_logs.slow_place import SlowPlaces
    from exporter.history.io_history import IoHistory
    from exporter.probe.probe_monitor import ProbeMonitor
    from exporter.probe.slc_results import SlcResult, SlcResultStore
    from exporter.smart.health_monitor import HealthMonitor
    from exporter.tails.latency_watch import LatencyWatch

#: Returns the samples of a collector. It may raise an exception; see `CollectorStatus.collect`.
Collect = Callable[[], Parsed[Sequence[Sample | SampleBlock]]]


class Sources(Protocol):
    """What the collectors and the pages for people may read. `exporter.monitor` builds it.

    settings: the current settings; replaced by a reload.
    versions: the label values of ssd_exporter_build_info; empty texts until they are known.
    collector_status: runs the collectors.
    sampler: the I/O and CPU counters of every second.
    survey: the topology of the host.
    services: the I/O of systemd services and containers.
    events: what happened to each drive in the last year.
    io_history: the I/O of each drive per minute and hour; None if it is not kept.
    kept_copies: the number of files of the state directory that were set aside.
    health: the SMART data; None if the collector `smart` is disabled.
    slow_places: where the slow requests of a drive spent their time, keyed by device name.
    probe: the scheduled probes; None if they are disabled.
    slc: the results of write cache probes; None if they are not read.
    latency: the latency of single requests; None if it is not measured.
    """

    settings: Settings
    started_at_unix_time: float
    versions: tuple[str, ...]
    clock: Clock
    collector_status: CollectorStatus
    sampler: Sampler
    survey: TopologySurvey
    services: ServiceWatch
    events: DriveEvents
    problem_times: ProblemTimes
    io_history: "IoHistory | None"
    kept_copies: KeptCopies
    health: "HealthMonitor | None"
    probe: "ProbeMonitor | None"
    slc: "SlcResultStore | None"
    latency: "LatencyWatch | None"

    @property
    def slow_places(self) -> "Mapping[str, SlowPlaces]":
        """The drives of which it is known; see `exporter.drives.nvme_logs.slow_place`."""

    def is_exported(self, device: str) -> bool:
        """Returns True if the settings do not exclude the block device with this name."""

    def slc_results(self) -> "Mapping[str, SlcResult]":
        """Returns the results of write cache probes, keyed by device name."""

    def probe_rounds(self) -> Mapping[str, Any]:
        """Returns the kept results of probes as for the state file; empty without probes."""


def load(sources: Sources, names: Iterable[str]) -> dict[str, Collect]:
    """Returns the collectors with these names, keyed by name and in the same order."""
    collectors: dict[str, Collect] = {}
    for name in names:
        collect = import_module(f"exporter.metrics.{name}_collector").new(sources)
        if collect is not None:
            collectors[name] = collect
    return collectors
