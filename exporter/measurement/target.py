"""Determines the profiles, the directories and the health of the drive for a measurement.

A profile is the set of parameters of one fio run, such as block size and runtime.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.config import profiles
from exporter.config.profiles import PROFILES, Profile
from exporter.config.settings import Settings
from exporter.io import survey
from exporter.io.interval import disk_interval
from exporter.linux import topology
from exporter.linux.diskstats import DiskStats
from exporter.linux.topology import Topology
from exporter.probe.filling import filled_bytes
from exporter.probe.probe_directory import (
    DriveCondition,
    ProbeContext,
    ProbeDirectory,
    worst_condition,
)
from exporter.probe.results import RoundHistory
from exporter.probe.schedule import ProbeSchedule
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ConfigError, ReadError, SourceError
from exporter.runtime.state import StateFile, existing_directory, open_state_file
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import parse_heartbeat, parse_poll_document
from exporter.smart.presence import HostContext


def select_profiles(name: str | None, settings: Settings) -> tuple[Profile, ...]:
    """Returns the profiles to run.

    name: the name of one profile; None means all scheduled profiles except `slc`.

    Raises:
        ConfigError: no profile has this name, the name is `slc`, which has its own command, or name
            is None and no profile is scheduled.
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
    """Returns the length in bytes to which the probes' file is truncated after the measurement.

    It is the length of the data that the daemon's scheduled profiles and these profiles need. None
    means that the file is not truncated, because no profile in `selected` writes the whole file.
    """
    if not any(profile.writes_whole_file for profile in selected):
        return None
    return filled_bytes((*selected, *_scheduled(settings)))


def _scheduled(settings: Settings) -> tuple[Profile, ...]:
    overrides = settings.probe.profile
    names = (name for name in settings.probe.profiles if name != "slc")
    return tuple(profiles.configured(name, overrides) for name in names)


def select_directory(asked: Path | None, settings: Settings) -> Path:
    """Returns the directory that the user named, or else the configured one.

    asked: the directory that the user named; None means that none was named.

    Raises:
        ConfigError: no directory is named or configured, several are configured, or fio does not
            accept a character of the path.
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
        "name a new directory on the filesystem to measure, such as: ssd-exporter slc"
        " /mnt/data/ssd-test (bench and slc: DIR, other commands: --directory DIR); or set"
        " probe.directory in --config.file",
    )


def state_directory(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Returns the daemon's state directory.

    It contains the saved results, and the file with the bytes that probes wrote to each drive.

    The directory is created if it does not exist.

    environment: the environment variables.

    Raises:
        ConfigError: the directory does not exist and cannot be created.
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
    """Returns the probe directory for the measurement, with the same data that the daemon uses.

    path: the directory to measure in.
    selected: the profiles to run.
    state: the daemon's state directory. The results of earlier probes are read from its file.

    Raises:
        SourceError: the topology cannot be read.
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
        rated_bytes=settings.rated_bytes(),
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
    """Finds the device and the filesystem of the directory, and checks that they can be measured.

    directory: its `location` is set afterwards.

    Raises:
        ConfigError: the directory cannot be measured. The message contains the reason.
    """
    path = directory.path
    # Functions of `os` are used, because methods of Path raise PermissionError if a parent
    # directory may not be entered.
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


def busy_ratio(then: DiskStats | None, now: DiskStats | None, seconds: float) -> float | None:
    """Returns the share of the time in which a device was busy, 0 to 1; None means unknown.

    then, now: the device's counters at the start and at the end; None means unknown.
    seconds: the time between them.
    """
    if then is None or now is None:
        return None
    interval = disk_interval(then, now, seconds)
    return None if interval is None else interval.busy_ratio


class AgentHealth:
    """The health of the drives, read from the agent's documents.

    The agent is the privileged process that polls SMART data and writes one document per drive. The
    health is unknown if no agent runs, or if this user may not read the documents.
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
            if heartbeat.is_live(Moment.now(clock)):
                for _, text in reader.changed():
                    if isinstance(text, bytes):
                        self._drives.record(parse_poll_document(text))
                self._drives.update(heartbeat)
        except SourceError:
            # No agent runs, or this user may not read its documents. The drives' health is unknown.
            return

    def drive_condition(self, drives: Sequence[str]) -> DriveCondition:
        """Returns the worst wear of these drives, and the temperature that is closest to its limit.

        Unknown values are None in the result.

        drives: the device names.
        """
        return worst_condition(map(self._drives.health_of, drives), self._hot_celsius)
