"""The survey: what is plugged in, mounted and run, looked at now and then and on change."""

from collections.abc import Callable, Mapping

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import DeviceSettings, Settings
from exporter.io.drive_class import Drive, DriveClass
from exporter.linux import topology
from exporter.linux.device import Device
from exporter.linux.topology import Topology

#: Going through 500 processes takes 20 ms of CPU, as much as a minute of sampling.
_SERVERS_KNOWN_SECONDS = 300.0
_SERVERS_UNKNOWN_SECONDS = 60.0

#: A queue's settings are what an administrator has set.
_QUEUES_SECONDS = 300.0

#: scsi is what no bus is known of: a RAID controller's volume.
_OF_VOLUMES = frozenset({"scsi", "fc", "iscsi", "virtio", "nvme-tcp", "nvme-rdma", "nvme-fc"})


class TopologySurvey:
    """Keeps the last topology, an immutable value that is swapped whole.

    `found` is called with the drives after each look.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        found: Callable[[Mapping[str, Drive]], None],
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._collector_status = collector_status
        self._found = found
        self._looked_for_servers_at = self._read_queues_at = float("-inf")
        self.topology: Topology | None = None
        self.refreshed_at_unix_time: float | None = None

    def refresh(self) -> None:
        """Read it all again; of what has not changed only what can have."""
        now, path = self._clock.monotonic(), self.settings.path
        searching = self._is_time_for_servers(now)
        with_queues = now - self._read_queues_at >= _QUEUES_SECONDS
        seen = self._collector_status.collect(
            "device",
            "survey",
            lambda: topology.read(
                path.sysfs,
                path.procfs,
                path.rootfs,
                self.topology,
                self.settings.role,
                look_for_servers=searching,
                read_queues=with_queues,
            ),
        )
        if seen is None:
            return
        if searching:
            self._looked_for_servers_at = now
        if with_queues:
            self._read_queues_at = now
        self.topology = seen
        self.refreshed_at_unix_time = self._clock.wall()
        self._found(drives_from_topology(seen, self.settings.device))

    def _is_time_for_servers(self, now: float) -> bool:
        """A server is looked for now and then, and at once when one that was known has gone."""
        servers = () if self.topology is None else self.topology.servers
        patience = _SERVERS_KNOWN_SECONDS if servers else _SERVERS_UNKNOWN_SECONDS
        return now - self._looked_for_servers_at >= patience or not all(
            (self.settings.path.procfs / str(server.pid)).exists() for server in servers
        )


def drives_from_topology(
    seen: Topology, overrides: Mapping[str, DeviceSettings]
) -> dict[str, Drive]:
    """What the judgements need to know of each block device."""
    return {
        name: _drive(name, device, overrides.get(name)) for name, device in seen.devices.items()
    }


def _drive(name: str, device: Device, override: DeviceSettings | None) -> Drive:
    who = device.identity
    kind = DriveClass.SSD
    if override is not None and override.class_ is not None:
        kind = override.class_
    elif who.protocol == "nvme":
        kind = DriveClass.NVME
    elif device.block.queue.rotational:
        kind = DriveClass.ROTATIONAL
    serial = f"{who.model or ''} {who.serial}" if who.serial else None
    return Drive(
        identity=who.wwn or serial or name,
        kind=kind,
        leaf=device.block.is_leaf,
        instance=device.block.diskseq,
        volume=who.transport in _OF_VOLUMES,
    )
