"""Refreshes the topology: block devices, mounts and MySQL servers.

One refresh is called a survey. The daemon calls `TopologySurvey.refresh` periodically, and when a
device appears or disappears.
"""

from collections.abc import Callable, Mapping
from typing import Any

from exporter.config.drive_class import DriveClass, VolumeType
from exporter.config.settings import DeviceSettings, Settings, device_filter
from exporter.drives.drive_identity import identity_keys
from exporter.io import last_roles
from exporter.io.drive import Drive
from exporter.io.volume_models import volume_type
from exporter.linux import topology
from exporter.linux.device import Device
from exporter.linux.topology import Topology
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus

#: Time between two searches for MySQL servers, in seconds. The second value applies while no server
#: is known, and after a server has ended that no user started. Any user can start and end servers
#: all the time, so the end of his server does not cause a search. A search reads all processes. For
#: 500 processes this takes 20 ms of CPU time, as much as a minute of sampling.
_SERVER_SEARCH_SECONDS = 300.0
_FIRST_SERVER_SEARCH_SECONDS = 60.0

#: Time between two readings of the queue settings, in seconds. Only an administrator changes them.
_QUEUE_SECONDS = 300.0


class TopologySurvey:
    """Reads the topology and stores the last result.

    The topology is an immutable value that is replaced as a whole, so other threads may read it.

    on_drives (argument): called after each refresh with the drives, keyed by device name.
    saved_roles (argument): what `roles_to_state` returned in an earlier run; any value is accepted.
    remembered: the last roles of MySQL servers, also of those that ended.
    topology: the last topology; None before the first refresh that succeeded.
    refreshed_at_unix_time: the time of the last refresh that succeeded, in seconds; None before it.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        on_drives: Callable[[Mapping[str, Drive]], None],
        saved_roles: Any = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._collector_status = collector_status
        self._on_drives = on_drives
        self.remembered = last_roles.from_state(saved_roles)
        self._servers_searched_at = self._queues_read_at = float("-inf")
        self.topology: Topology | None = None
        #: The key of each device, keyed by device name.
        self._keys: dict[str, str] = {}
        self.refreshed_at_unix_time: float | None = None

    def refresh(self) -> None:
        """Reads the topology and replaces the stored one.

        Properties that cannot change are read only for new devices. If the topology cannot be read,
        the stored one stays and the failure is recorded in the collector's status.
        """
        now, path = self._clock.monotonic(), self.settings.path
        searching = self._server_search_is_due(now)
        with_queues = now - self._queues_read_at >= _QUEUE_SECONDS
        current = self._collector_status.collect(
            "device",
            "survey",
            lambda: topology.read(
                path.sysfs,
                path.procfs,
                path.rootfs,
                self.topology,
                self.settings.role,
                remembered=self.remembered,
                look_for_servers=searching,
                read_queues=with_queues,
            ),
        )
        if current is None:
            return
        if searching:
            self._servers_searched_at = now
        if with_queues:
            self._queues_read_at = now
        self.remembered = last_roles.remembered_roles(
            self.remembered,
            current.roles,
            current.servers,
            now=self._clock.wall(),
            keep_days=self.settings.survey.keep_role_days,
        )
        self._keys = _kept_keys(self._keys, self.topology, current)
        self.topology = current
        self.refreshed_at_unix_time = self._clock.wall()
        self._on_drives(self.drives())

    def identities(self) -> dict[str, str]:
        """Returns the identity of each drive that the settings do not exclude, keyed by name."""
        if self.topology is None:
            return {}
        wanted = device_filter(self.settings.disk)
        return {name: d.identity for name, d in self.drives().items() if d.leaf and wanted(name)}

    def roles_to_state(self) -> list[dict[str, object]]:
        """Returns the last roles of MySQL servers for the state file."""
        return last_roles.to_state(self.remembered)

    def drives(self) -> dict[str, Drive]:
        """Returns the drive of each block device, keyed by device name; empty before a refresh."""
        if self.topology is None:
            return {}
        return drives_from_topology(self.topology, self.settings.device, self._keys)

    def _server_search_is_due(self, now: float) -> bool:
        """Returns True if it is time for the next search; the constants explain when."""
        servers = () if self.topology is None else self.topology.servers
        procfs = self.settings.path.procfs
        has_ended = any(
            not server.is_of_user and not (procfs / str(server.pid)).exists() for server in servers
        )
        waits = bool(servers) and not has_ended
        interval = _SERVER_SEARCH_SECONDS if waits else _FIRST_SERVER_SEARCH_SECONDS
        return now - self._servers_searched_at >= interval


def _kept_keys(
    before: Mapping[str, str], last: Topology | None, current: Topology
) -> dict[str, str]:
    """Returns the key of each device. A device keeps its key if another one with its WWN appears.

    before: the keys of the last topology.
    """
    keys = identity_keys({name: device.identity for name, device in current.devices.items()})
    for name in keys.keys() & before.keys():
        known = last.devices.get(name) if last is not None else None
        if known is not None and known.identity == current.devices[name].identity:
            keys[name] = before[name]
    return keys


def drives_from_topology(
    current: Topology,
    overrides: Mapping[str, DeviceSettings],
    keys: Mapping[str, str] | None = None,
) -> dict[str, Drive]:
    """Returns the drive of each block device, keyed by device name.

    overrides: settings of single devices, keyed by device name.
    keys: the identity of each device that has one, keyed by device name. None means that they are
        determined from `current` (`drive_identity.identity_keys`).
    """
    if keys is None:
        keys = _kept_keys({}, None, current)
    return {
        name: _drive(name, keys.get(name, name), device, overrides.get(name))
        for name, device in current.devices.items()
    }


def _drive(name: str, key: str, device: Device, override: DeviceSettings | None) -> Drive:
    identity = device.identity
    kind = DriveClass.SSD
    if override is not None and override.class_ is not None:
        kind = override.class_
    elif identity.protocol == "nvme":
        kind = DriveClass.NVME
    elif device.block.queue.rotational:
        kind = DriveClass.ROTATIONAL
    kind_of_volume = volume_type(name, identity)
    if override is not None and override.volume is not None:
        kind_of_volume = override.volume
    return Drive(
        identity=key,
        kind=kind,
        leaf=device.block.is_leaf,
        instance=device.block.diskseq,
        volume=kind_of_volume is not VolumeType.DRIVE,
        volume_type=kind_of_volume,
    )
