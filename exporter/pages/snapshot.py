"""Reads the values of the pages from the memory of the daemon. It reads no disk.

The facts of the drives change rarely and are read at most once in a few seconds. The I/O of the
last second is read at each request, while the sampler is locked.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from exporter import __version__
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.activity import DiskActivity
from exporter.io.drive_now import DriveNow, drive_now
from exporter.io.sampler import Sampler
from exporter.io.verdict import unsaturated_await_limit
from exporter.linux import kernel
from exporter.linux.device import Device
from exporter.linux.topology import Topology
from exporter.metrics.collectors import Sources
from exporter.pages import headline, judgement, os_release
from exporter.pages.page_texts import capitalized, duration, size
from exporter.pages.page_texts import counted as counted_text
from exporter.pages.views import (
    DriveFacts,
    HostNow,
    HostView,
    Mounted,
    RecentEvents,
    Todo,
)
from exporter.smart.drive_problems import CheckThresholds, Status, problems
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import Heartbeat

if TYPE_CHECKING:
    from exporter.history.io_history import IoHistory

#: The facts of the drives are read again after this time in seconds. SMART values change once a
#: minute at most, mounts and roles with a survey.
_FACTS_SECONDS = 5.0

#: Two times of the begin of a bottleneck that differ by less are the same, in seconds.
_SAME_BEGIN_SECONDS = 3.0

#: The number of samples before the page says that the agent is missing. At a start, the first
#: heartbeat arrives within seconds.
_AGENT_SAMPLES = 20


class SnapshotReader:
    """Builds the values of the pages. Several threads may call `read`.

    problem: returns why the samples are out of date; an empty string if they are not. It must not
        block.
    """

    def __init__(self, sources: Sources, problem: Callable[[], str]) -> None:
        self._sources = sources
        self._problem = problem
        procfs = sources.settings.path.procfs
        self._name = kernel.host_name(procfs) or os.uname().nodename or "localhost"
        self._system = os_release.read(sources.settings.path.rootfs)
        self._facts: tuple[float, dict[str, DriveFacts]] = (float("-inf"), {})
        self._begins: dict[str, judgement.Begin | None] = {}

    def read(self) -> HostView:
        """Returns the values of the host and its drives."""
        sources, at = self._sources, self._sources.clock.wall()
        facts = self._current_facts()
        with sources.sampler.flushed():
            now = sources.clock.monotonic()
            host = host_now(sources.sampler)
            drives_now = {
                name: self._drive_now(name, activity, now, host)
                for name, activity in sources.sampler.activities.items()
                if activity.drive.leaf and name in facts
            }
        window_seconds = host.window * host.interval_seconds
        slow = sources.slow_places
        begins = self._begins = {
            name: self._begin(name, its, window_seconds, at) for name, its in drives_now.items()
        }
        has_mysql = any(each.carries_mysql for each in facts.values())
        drives = judgement.in_order(
            judgement.judged(
                each,
                drives_now.get(name),
                window_seconds,
                sources.services.rates.get(name, ()),
                has_mysql=has_mysql,
                at=at,
                begin=begins.get(name),
                slow=slow.get(name),
            )
            for name, each in facts.items()
        )
        todos = [*self._own_todos(), *(todo for drive in drives for todo in drive.todos)]
        todos.sort(key=lambda todo: -todo.status.urgency)
        return HostView(
            name=self._name,
            at=at,
            now=host,
            drives=tuple(drives),
            todos=tuple(todos),
            facts=tuple(self._host_facts(list(facts.values()))),
            states=tuple(self._states(at, list(facts.values()))),
            sentence=headline.sentence(drives),
            links=tuple(self._links()),
            recent=recent_events(sources.io_history, at),
        )

    def _links(self) -> Iterator[tuple[str, str]]:
        links = self._sources.settings.links
        if self._sources.io_history is not None:
            yield "/events", "Events"
        if links.grafana:
            yield links.grafana, "Grafana"
        if links.prometheus:
            yield links.prometheus, "Prometheus"

    def _current_facts(self) -> dict[str, DriveFacts]:
        now = self._sources.clock.monotonic()
        read_at, facts = self._facts
        if now - read_at < _FACTS_SECONDS and facts:
            return facts
        # The drives are read before the sampler is locked, because nothing may block while it is.
        health = self._sources.health
        drives = health.watched() if health else []
        with self._sources.sampler.flushed():
            activities = dict(self._sources.sampler.activities)
        facts = {
            name: each
            if each.smart is None
            else replace(each, problem_times=self._sources.problem_times.of(each.smart))
            for name, each in drive_facts(activities, self._sources.survey.topology, drives).items()
        }
        self._facts = now, facts
        return facts

    def _drive_now(self, name: str, activity: DiskActivity, now: float, host: HostNow) -> DriveNow:
        rules = self._sources.settings.rules.saturation
        kind, baselines = activity.drive.kind, activity.baselines
        read_base, write_base = baselines.read.seconds, baselines.write.seconds
        maxima = (activity.read_await.peak.value(now), activity.write_await.peak.value(now))
        recent = self._sources.sampler.recent
        return replace(
            drive_now(name, activity, recent, now, host.interval_seconds),
            read_base=read_base,
            write_base=write_base,
            read_limit=unsaturated_await_limit(rules, kind, read_base),
            write_limit=unsaturated_await_limit(rules, kind, write_base),
            worst_await=max((value for value in maxima if value is not None), default=None),
        )

    def _begin(
        self, name: str, now: DriveNow, window_seconds: float, at: float
    ) -> judgement.Begin | None:
        """Returns when the bottleneck of a drive began; see `judgement.began`.

        The samples are not taken at whole seconds. So that each page shows the same times, times
        that were found before are returned again.
        """
        begin = judgement.began(now, window_seconds, at)
        before = self._begins.get(name)
        if (
            begin is not None
            and before is not None
            and abs(begin.at - before.at) < _SAME_BEGIN_SECONDS
            and abs(begin.cause_at - before.cause_at) < _SAME_BEGIN_SECONDS
        ):
            return before
        return begin

    def _own_todos(self) -> Iterator[Todo]:
        sources = self._sources
        if problem := self._problem():
            yield Todo(
                Status.CRITICAL,
                "",
                "The exporter does not sample.",
                f"{capitalized(problem)}.",
                "Read its log: `journalctl -u ssd-exporter`",
            )
        health = sources.health
        if health is None or health.source.polls_itself or sources.sampler.samples < _AGENT_SAMPLES:
            return
        heartbeat = health.drives.heartbeat
        limit_seconds = 3 * heartbeat.interval_seconds + 30 if heartbeat else 0.0
        if heartbeat is None or self._age(heartbeat) > limit_seconds:
            yield Todo(
                Status.WARNING,
                "",
                "No SMART data.",
                "The agent does not run, so wear, errors and temperatures are unknown.",
                "Start it: `systemctl start ssd-smart-agent`",
            )

    def _age(self, heartbeat: Heartbeat) -> float:
        """Returns the age of a heartbeat in seconds. Setting the wall clock does not change it."""
        return Moment.now(self._sources.clock).seconds_since(heartbeat.sent)

    def _host_facts(self, drives: Sequence[DriveFacts]) -> Iterator[str]:
        if self._system:
            yield self._system
        yield f"Linux {os.uname().release.split('-')[0]}"
        yield counted_text(len(drives), "drive")
        capacity = sum(each.capacity_bytes or 0 for each in drives)
        if capacity:
            yield size(capacity)
        boottime = self._sources.clock.boottime()
        yield f"up {duration(boottime)}"

    def _states(self, at: float, drives: Sequence[DriveFacts]) -> Iterator[str]:
        sources = self._sources
        results = [result.success for _, result in sources.collector_status.results()]
        failed = len(results) - sum(results)
        yield f"{failed} of {len(results)} collectors fail" if failed else "All collectors work"
        polled = [
            each.smart.last_success_unix_time
            for each in drives
            if each.smart is not None and each.smart.last_success_unix_time is not None
        ]
        if polled:
            lost = sum(each.smart is not None and each.smart.is_lost for each in drives)
            silent = f", no answer of {counted_text(lost, 'drive')}" if lost else ""
            yield f"SMART read {duration(at - max(polled))} ago{silent}"
        health = sources.health
        if health is not None:
            heartbeat = health.drives.heartbeat
            if health.source.polls_itself:
                yield "SMART read by this process"
            elif heartbeat is not None:
                yield f"Agent answered {duration(self._age(heartbeat))} ago"
        surveyed = sources.survey.refreshed_at_unix_time
        if surveyed is not None:
            yield f"Drives and mounts listed {duration(at - surveyed)} ago"
        sampler = sources.sampler
        gaps = counted_text(sampler.gaps, "gap") if sampler.gaps else "no gaps"
        yield f"Sampled every {sampler.interval:g} s, {gaps}"
        yield f"ssd-exporter {__version__}"


def recent_events(history: "IoHistory | None", at: float) -> RecentEvents | None:
    """Returns the last events of a host; None without a history. at: the Unix time."""
    if history is None:
        return None
    newest = tuple(history.newest(at))
    return RecentEvents(newest, frozenset(filter(history.is_open, newest)), history.problem)


def host_now(sampler: Sampler) -> HostNow:
    """Returns the last samples of the host. Call it inside `sampler.flushed()`."""
    recent = sampler.recent
    window = recent.taken
    columns = [recent.column(index, window) for index in range(5)]
    return HostNow(
        number=recent.number,
        window=window,
        interval_seconds=sampler.interval,
        hottest=recent.hottest,
        requests=recent.requests,
        waiting=columns[0],
        stalled=columns[1],
        iowait=columns[2],
        softirq=columns[3],
        transferred=columns[4],
    )


def drive_facts(
    activities: Mapping[str, DiskActivity],
    topology: Topology | None,
    watched: Sequence[WatchedDrive],
) -> dict[str, DriveFacts]:
    """Returns the facts of each drive, keyed by name: block devices, other drives, missing drives.

    topology: the block devices of the host; None means that they have not been read yet.
    watched: the drives with SMART data.
    """
    present = {drive.label: drive for drive in watched if not drive.is_missing}
    behind = {block for drive in watched for block in drive.blocks}
    facts: dict[str, DriveFacts] = {}
    for name, activity in activities.items():
        if activity.drive.leaf:
            device = topology.devices.get(name) if topology else None
            facts[name] = _block_facts(
                name, activity, device, present.get(name), topology, is_volume=name in behind
            )
    for drive in watched:
        name = drive.label
        is_there = drive.up or drive.is_known
        if not is_there or (name in facts and not drive.is_missing):
            continue
        if name in facts:
            name = f"{name} {drive.serial}"  # another drive has the name now
        identity = drive.identity
        facts[name] = DriveFacts(
            name,
            smart=drive,
            problems=problems(drive, CheckThresholds()),
            model=identity.model or "",
            serial=drive.serial,
            firmware=identity.firmware or "",
            capacity_bytes=identity.capacity_bytes,
            below=drive.blocks,
        )
    return facts


def _block_facts(
    name: str,
    activity: DiskActivity,
    device: Device | None,
    drive: WatchedDrive | None,
    topology: Topology | None,
    *,
    is_volume: bool,
) -> DriveFacts:
    found = () if drive is None else problems(drive, CheckThresholds())
    listed = None if device is None else device.identity
    smart = None if drive is None else drive.identity
    vendor_model = " ".join(filter(None, (listed.vendor, listed.model))) if listed else ""
    link = None if device is None else device.state.link
    health = None if drive is None else drive.health
    return DriveFacts(
        name,
        identity=activity.drive.identity,
        kind=activity.drive.kind,
        smart=drive,
        has_drives_behind=is_volume,
        problems=found,
        model=(smart.model if smart else None) or vendor_model,
        serial=(drive.serial if drive else "") or (listed.serial if listed else "") or "",
        firmware=(smart.firmware if smart else None) or (listed.firmware if listed else "") or "",
        capacity_bytes=(device.block.capacity_bytes if device else None)
        or (smart.capacity_bytes if smart else None),
        transport=(listed.transport if listed else "") or "",
        roles=() if topology is None else _roles(name, topology),
        mounts=() if topology is None else tuple(_mounts(name, topology)),
        queue=device.block.queue if device else None,
        link_bytes_per_second=(link.speed_bytes_per_second if link else None)
        or (health.link_bytes_per_second if health else None),
        link_max_bytes_per_second=(link.max_bytes_per_second if link else None)
        or (health.link_max_bytes_per_second if health else None),
        below=() if topology is None else tuple(_built_on(name, topology)),
    )


def _roles(name: str, topology: Topology) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role.name for role in topology.roles if name in role.devices))


def _mounts(name: str, topology: Topology) -> Iterator[Mounted]:
    for each in topology.filesystems:
        if name in each.devices:
            usage = each.usage
            used = (
                None
                if usage is None or not usage.size_bytes
                else (1 - usage.avail_bytes / usage.size_bytes)
            )
            yield Mounted(each.mountpoint, each.fstype, each.readonly, bool(each.failed), used)


def _built_on(name: str, topology: Topology) -> Iterator[str]:
    for other, device in topology.devices.items():
        if not device.block.is_leaf and name in topology.leaves_of(other):
            yield other
