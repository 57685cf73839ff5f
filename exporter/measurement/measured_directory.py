"""Where a person's measurement takes place: the directory, its drive, its load, its health."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.clock import Clock
from exporter.config import Settings
from exporter.drives.health import DriveHealth
from exporter.errors import ConfigError, ReadError, SourceError
from exporter.io import survey
from exporter.io.interval import disk_interval
from exporter.linux import diskstats, topology
from exporter.linux.diskstats import DiskStats
from exporter.linux.topology import Topology
from exporter.probe.probe_directory import (
    DriveCondition,
    ProbeContext,
    ProbeDirectory,
    ProbeSchedule,
)
from exporter.probe.profiles import Profile
from exporter.probe.results import RoundHistory
from exporter.smart import polling_plan
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_registry import DriveRegistry, is_live
from exporter.smart.drive_registry import HostContext as DriveSurroundings
from exporter.smart.inventory import Inventory
from exporter.smart.poll_document import parse_heartbeat, parse_poll_document
from exporter.state import StateFile, existing_directory, open_state_file


def chosen_directory(asked: Path | None, settings: Settings) -> Path:
    """The directory that was asked for, else the one that is configured.

    Raises:
        ConfigError: there is none, or several to choose from.
    """
    if asked is not None:
        path = str(asked)
        if not path.isprintable() or "\\" in path:
            raise ConfigError(f"{path} cannot be measured in", "fio takes no such name")
        return Path(os.path.abspath(asked))
    configured = settings.probe.directory
    if len(configured) == 1:
        return configured[0]
    if configured:
        listed = ", ".join(map(str, configured))
        raise ConfigError(f"several directories are configured: {listed}", "name one of them")
    raise ConfigError(
        "no directory to measure in is known",
        "name one that does not exist yet, on the filesystem to measure; or give --config.file"
        " with probe.directory",
    )


def state_directory(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Where the bytes are counted: with the daemon's, or a new one where no daemon ever ran.

    Raises:
        ConfigError: there is none, and none can be made.
    """
    asked = settings.state.directory
    found = existing_directory(asked, dict(environment))
    if found is None:
        made = open_state_file(asked, dict(environment))
        found = None if made is None else made.directory
    if found is None:
        raise ConfigError(
            "there is no directory to count the written bytes in", "set --state.directory"
        )
    return found


def probe_directory(
    path: Path, profiles: Sequence[Profile], settings: Settings, clock: Clock, state: Path
) -> ProbeDirectory:
    """The daemon's own view of the directory, for profiles that run once and now.

    What the daemon has kept in `state` of earlier runs is known to it.
    """
    its = settings.path
    seen = topology.read(its.sysfs, its.procfs, its.rootfs, configured=settings.role).value
    known = survey.drives_from_topology(seen, settings.device)
    health = AgentHealth(settings, clock, seen)
    context = ProbeContext(
        proc=its.procfs,
        sys=its.sysfs,
        topology=lambda: seen,
        busy_seconds=lambda _device: None,
        identity=lambda device: known[device].identity if device in known else device,
        drive_condition=health.drive_condition,
        rated_bytes=polling_plan.rated_bytes(settings),
    )
    kept = StateFile(state).load_read_only().get("probe")
    return ProbeDirectory(
        path,
        profiles,
        schedule=ProbeSchedule([], 0.0),
        context=context,
        clock=clock,
        rounds=RoundHistory(kept.get("rounds") if isinstance(kept, Mapping) else None),
    )


def check_directory(directory: ProbeDirectory, *, copy_on_write: bool) -> None:
    """Find out where the directory lies, and whether it may be measured there.

    Raises:
        ConfigError: no, by its words.
    """
    path = directory.path
    # Not Path's: they raise where a directory above may not be entered.
    try:
        os.lstat(path)
    except PermissionError as e:
        raise ConfigError(f"{path.parent} may not be entered", "run this as root") from e
    except OSError:
        if not os.path.isdir(path.parent):
            words = f"{path.parent} is no directory"
            raise ConfigError(words, "make it, or name another") from None
    if os.path.islink(path):
        raise ConfigError(f"{path} is a link", "name the directory itself")
    if os.path.exists(path) and not os.path.isdir(path):
        raise ConfigError(f"{path} is no directory", "name one that does not exist yet")
    try:
        directory.locate()
    except ReadError as e:
        hint = "name a directory on the filesystem to measure"
        raise ConfigError(f"{path} cannot be measured: {e}", hint) from e
    assert directory.location is not None
    if why := directory.location.unsuitable(copy_on_write=copy_on_write):
        raise ConfigError(f"{path} cannot be measured: {why}")


def read_disk(proc: Path, device: str) -> DiskStats | None:
    """A device's counters now; None where the kernel counts none."""
    try:
        records = diskstats.read(proc).value
    except SourceError:
        return None
    return diskstats.records_by_device(records.values()).get(device)


def busy_ratio(then: DiskStats | None, now: DiskStats | None, seconds: float) -> float | None:
    """The share of the time in which a device was busy; None where it is not known."""
    if then is None or now is None:
        return None
    interval = disk_interval(then, now, seconds)
    return None if interval is None else interval.busy_ratio


class AgentHealth:
    """What the agent last left of each drive; nothing where no agent runs or it may not be read."""

    def __init__(self, settings: Settings, clock: Clock, seen: Topology) -> None:
        disks = {name: its.identity for name, its in seen.devices.items()}
        self._hot_celsius = settings.probe.gate.hot_celsius
        self._drives = DriveRegistry(
            clock,
            settings.path.sysfs,
            settings.path.rootfs,
            DriveSurroundings(lambda: disks, lambda _device: None),
            inventory=Inventory(None),
            wear=None,
            max_age_intervals=settings.smart.max_age_intervals,
        )
        reader = DocumentReader(settings.smart.directory)
        try:
            heartbeat = parse_heartbeat(reader.roll())
            if is_live(heartbeat, clock.wall()):
                for _, text in reader.changed():
                    if isinstance(text, bytes):
                        self._drives.take(parse_poll_document(text))
                self._drives.call(heartbeat)
        except SourceError:
            # Not known, as on every host without the agent: the report says so.
            return

    def drive_condition(self, drives: Sequence[str]) -> DriveCondition:
        known = [each for drive in drives if (each := self._drives.health_of(drive)) is not None]
        worn = [each.endurance.used_ratio for each in known if each.endurance is not None]
        hottest = min(
            (each for each in known if "drive" in each.temperatures), key=self._room, default=None
        )
        return DriveCondition(
            max(worn, default=None),
            hottest.temperatures["drive"] if hottest else None,
            hottest.temperature_warning_celsius if hottest else None,
        )

    def _room(self, each: DriveHealth) -> float:
        limit = each.temperature_warning_celsius
        return (self._hot_celsius if limit is None else limit) - each.temperatures["drive"]
