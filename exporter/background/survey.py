"""The survey: what is plugged in, mounted and run, looked at now and then and on change."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from exporter.attempts import Attempts
from exporter.config import DeviceSettings, Settings
from exporter.diagnosis.drive import Drive, DriveClass
from exporter.linux import mountinfo, rootfs, topology
from exporter.linux.device import Device
from exporter.linux.topology import Role, Topology

log = logging.getLogger(__name__)


class Survey:
    """Keeps the last topology, an immutable value that is swapped whole.

    `found` is called with the drives after each look.
    """

    def __init__(
        self,
        settings: Settings,
        attempts: Attempts,
        found: Callable[[Mapping[str, Drive]], None],
    ) -> None:
        self.settings = settings
        self._attempts = attempts
        self._found = found
        self.topology: Topology | None = None

    def look(self) -> None:
        """Read it all again; of what has not changed only what can have."""
        path = self.settings.path
        directories = [
            place for places in self.settings.role.values() for place in places if place[:1] == "/"
        ]
        seen = self._attempts.take(
            "device",
            "survey",
            lambda: topology.read(path.sysfs, path.procfs, path.rootfs, self.topology, directories),
        )
        if seen is None:
            return
        self.topology = replace(seen, roles=seen.roles + tuple(self._configured(seen)))
        self._found(drives(self.topology, self.settings.device))

    def _configured(self, seen: Topology) -> Iterator[Role]:
        for role, places in self.settings.role.items():
            for place in places:
                if not place.startswith("/"):
                    yield Role(role, 0, "", None, seen.leaves_of(place) or (place,))
                    continue
                directory = rootfs.resolve(self.settings.path.rootfs, place)
                mount = mountinfo.containing(seen.mounts.mounts, directory)
                if mount is not None:
                    yield Role(role, 0, place, mount.mountpoint, seen.stack.drives_of(mount))


def drives(seen: Topology, overrides: Mapping[str, DeviceSettings]) -> dict[str, Drive]:
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
    )
