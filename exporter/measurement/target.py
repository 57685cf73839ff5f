"""Determines what a measurement uses: profiles, directory, state directory, the drive's health."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.clock import Clock
from exporter.config import Settings
from exporter.errors import ConfigError, ReadError, SourceError
from exporter.io import survey
from exporter.io.interval import disk_interval
from exporter.linux import diskstats, topology
from exporter.linux.diskstats import DiskStats
from exporter.linux.topology import Topology
from exporter.probe import profiles
from exporter.probe.filling import filled_bytes
from exporter.probe.probe_directory import (
    DriveCondition,
    ProbeContext,
    ProbeDirectory,
    worst_condition,
)
from exporter.probe.profiles import PROFILES, Profile
from exporter.probe.results import RoundHistory
from exporter.probe.schedule import ProbeSchedule
from exporter.smart import polling_plan
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_registry import DriveRegistry, HostContext, is_live
from exporter.smart.inventory import Inventory
from exporter.smart.poll_document import parse_heartbeat, parse_poll_document
from exporter.state import StateFile, existing_directory, open_state_file


def select_profiles(name: str | None, settings: Settings) -> tuple[Profile, ...]:
    """Returns the profile of that name; for None all scheduled profiles except `slc`.

    Raises:
        ConfigError: there is no such profile, it has a command of its own, or none is scheduled.
    """
    known = {**PROFILES, **settings.probe.profile}
    listed = ", ".join(sorted(known.keys() - {"slc"}))
    if name == "slc":
        raise ConfigError("slc has a command of its own", "run ssd-exporter slc")
    if name is not None and name not in known:
        raise ConfigError(
            f"there is no profile {name!r}",
            f"choose one of {listed}; a directory is given with --directory",
        )
    if name is not None:
        return (profiles.configured(name, settings.probe.profile),)
    scheduled = _scheduled(settings)
    if not scheduled:
        raise ConfigError("no profile is scheduled", f"name one of {listed}")
    return scheduled


def retained_bytes(selected: Sequence[Profile], settings: Settings) -> int | None:
    """Returns how many bytes of the probes' file to keep after these profiles ran.

    The daemon fills that much for its own profiles. None if these do not make the file longer.
    """
    if not any(profile.writes_whole_file for profile in selected):
        return None
    return filled_bytes((*selected, *_scheduled(settings)))


def _scheduled(settings: Settings) -> tuple[Profile, ...]:
    overrides = settings.probe.profile
    names = (name for name in settings.probe.profiles if name != "slc")
    return tuple(profiles.configured(name, overrides) for name in names)


def select_directory(asked: Path | None, settings: Settings) -> Path:
    """Returns the directory that the user named, else the configured one.

    Raises:
        ConfigError: neither exists, or several directories are configured.
    """
    if asked is not None:
        path = str(asked)
        if not path.isprintable() or "\\" in path:
            raise ConfigError(
                f"{path} cannot be measured in",
                "fio accepts no backslash and no control character in a path",
            )
        return Path(os.path.abspath(asked))
    configured = settings.probe.directory
    if len(configured) == 1:
        return configured[0]
    if configured:
        listed = ", ".join(map(str, configured))
        raise ConfigError(f"several directories are configured: {listed}", "name one of them")
    raise ConfigError(
        "no directory given",
        "name a new directory on the file system to measure (bench and slc: DIR, other commands:"
        " --directory DIR), such as /mnt/data/ssd-test; or set probe.directory in --config.file",
    )


def state_directory(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Returns the directory of the budget: the daemon's, or a new one if no daemon ever ran.

    Raises:
        ConfigError: there is none, and none can be created.
    """
    asked = settings.state.directory
    directory = existing_directory(asked, dict(environment))
    if directory is None:
        created = open_state_file(asked, dict(environment))
        directory = None if created is None else created.directory
    if directory is None:
        raise ConfigError(
            "no state directory for the budget of written bytes", "set --state.directory"
        )
    return directory


def probe_directory(
    path: Path, selected: Sequence[Profile], settings: Settings, clock: Clock, state: Path
) -> ProbeDirectory:
    """Returns the directory as the daemon sees it, with the profiles to run now.

    state: the daemon's state directory; the rounds of earlier runs are read from it.
    """
    paths = settings.path
    host = topology.read(paths.sysfs, paths.procfs, paths.rootfs, configured=settings.role).value
    known = survey.drives_from_topology(host, settings.device)
    health = AgentHealth(settings, clock, host)
    context = ProbeContext(
        proc=paths.procfs,
        sys=paths.sysfs,
        topology=lambda: host,
        busy_seconds=lambda _device: None,
        identity=lambda device: known[device].identity if device in known else device,
        drive_condition=health.drive_condition,
        rated_bytes=polling_plan.rated_bytes(settings),
    )
    saved = StateFile(state).load_read_only().get("probe")
    return ProbeDirectory(
        path,
        selected,
        schedule=ProbeSchedule([], 0.0),
        context=context,
        clock=clock,
        rounds=RoundHistory(saved.get("rounds") if isinstance(saved, Mapping) else None),
    )


def check_directory(directory: ProbeDirectory, *, copy_on_write: bool) -> None:
    """Locate the directory and check that its filesystem can be measured.

    Raises:
        ConfigError: it cannot be measured. The message contains the reason.
    """
    path = directory.path
    # Functions of os: methods of Path raise PermissionError if a parent may not be entered.
    try:
        os.lstat(path)
    except PermissionError as e:
        raise ConfigError(f"{path.parent} may not be entered", "run this as root") from e
    except OSError:
        if not os.path.isdir(path.parent):
            raise ConfigError(
                f"{path.parent} is not a directory", "create it, or name another"
            ) from None
    if os.path.islink(path):
        raise ConfigError(f"{path} is a link", "name the directory itself")
    if os.path.exists(path) and not os.path.isdir(path):
        raise ConfigError(f"{path} is not a directory", "name one that does not exist yet")
    try:
        directory.locate()
    except ReadError as e:
        hint = "name a directory on the filesystem to measure"
        raise ConfigError(f"{path} cannot be measured: {e}", hint) from e
    assert directory.location is not None
    if why := directory.location.unsuitable(copy_on_write=copy_on_write):
        raise ConfigError(f"{path} cannot be measured: {why}")


def read_disk(proc: Path, device: str) -> DiskStats | None:
    """Returns a device's counters; None if /proc/diskstats does not list it."""
    try:
        records = diskstats.read(proc).value
    except SourceError:
        return None
    return diskstats.records_by_device(records.values()).get(device)


def busy_ratio(then: DiskStats | None, now: DiskStats | None, seconds: float) -> float | None:
    """Returns the share of the time a device was busy, 0 to 1; None is unknown."""
    if then is None or now is None:
        return None
    interval = disk_interval(then, now, seconds)
    return None if interval is None else interval.busy_ratio


class AgentHealth:
    """The health of drives by the agent's last poll documents.

    The health is unknown if no agent runs, or if this user may not read the documents.
    """

    def __init__(self, settings: Settings, clock: Clock, host: Topology) -> None:
        disks = {name: device.identity for name, device in host.devices.items()}
        self._hot_celsius = settings.probe.gate.hot_celsius
        self._drives = DriveRegistry(
            clock,
            settings.path.sysfs,
            settings.path.rootfs,
            HostContext(lambda: disks, lambda _device: None),
            inventory=Inventory(None),
            wear=None,
            max_age_intervals=settings.smart.max_age_intervals,
        )
        reader = DocumentReader(settings.smart.directory)
        try:
            heartbeat = parse_heartbeat(reader.read_heartbeat())
            if is_live(heartbeat, clock.wall()):
                for _, text in reader.changed():
                    if isinstance(text, bytes):
                        self._drives.record(parse_poll_document(text))
                self._drives.update(heartbeat)
        except SourceError:
            # No agent, or no right to read its documents: the report shows no temperature.
            return

    def drive_condition(self, drives: Sequence[str]) -> DriveCondition:
        """Returns the worst condition of these drives, by their device names."""
        return worst_condition(map(self._drives.health_of, drives), self._hot_celsius)
