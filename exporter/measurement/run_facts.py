"""Describes the subject of a measurement for its report: drive, directory, filesystem, bytes."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.config.settings import Settings
from exporter.io import survey
from exporter.io.drive import Drive
from exporter.linux import kernel, topology
from exporter.linux.topology import Topology
from exporter.measurement import figures
from exporter.measurement.session import Measurement


@dataclass(frozen=True, slots=True)
class MeasuredDrives:
    """The drives that store the measured directory.

    topology: the topology of the host.
    drives: the drives, keyed by device name.
    capacity_bytes: the capacity of the measured device; None means unknown.
    host_name: the name of the host; empty if it is unknown.
    """

    topology: Topology
    drives: Mapping[str, Drive]
    capacity_bytes: int | None
    host_name: str = ""

    @property
    def identities(self) -> tuple[str, ...]:
        """The identities of the drives: WWN, or model and serial number, or device name."""
        return tuple(drive.identity for drive in self.drives.values())

    @property
    def words(self) -> str:
        """Device name, model and serial number of each drive, as text for people."""
        return "; ".join(self._drive(name) for name in self.drives)

    def _drive(self, name: str) -> str:
        identity = self.topology.devices[name].identity
        words = ", ".join(filter(None, (identity.model, identity.serial)))
        return f"{name}: {words or 'model unknown'}"


def measured_drives(measurement: Measurement, settings: Settings) -> MeasuredDrives:
    """Reads the topology again, and returns the drives that store the measured directory."""
    paths, location = settings.path, measurement.location
    host = topology.read(paths.sysfs, paths.procfs, paths.rootfs, look_for_servers=False).value
    known = survey.drives_from_topology(host, settings.device)
    device = host.devices.get(location.device)
    return MeasuredDrives(
        host,
        {leaf: known[leaf] for leaf in location.leaves if leaf in known},
        None if device is None else device.block.capacity_bytes,
        kernel.host_name(paths.procfs),
    )


def facts(
    measurement: Measurement, drives: MeasuredDrives, *, started_at: float, fio: str
) -> Iterator[tuple[str, str]]:
    """Yields pairs of a name and a text for the report.

    started_at: the monotonic time at which the measurement started.
    fio: the version and the I/O engine of fio, as text.
    """
    location, rated = measurement.location, measurement.directory.rated_bytes
    if drives.host_name:
        yield "Host", drives.host_name
    yield "Drive", drives.words or location.device
    yield "Directory", str(measurement.directory.path)
    yield "Filesystem", f"{location.fstype}, mounted on {location.mountpoint}"
    charged = figures.size(measurement.charged_bytes)
    if rated:
        charged += f", {100 * measurement.charged_bytes / rated:.2g} % of its rated endurance"
    yield "Charged", f"{charged}, including what the filesystem adds"
    yield "Took", figures.span(measurement.clock.monotonic() - started_at)
    yield "fio", fio
    yield (
        "Measured",
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(max(0.0, measurement.clock.wall()))),
    )


def data(measurement: Measurement) -> dict[str, Any]:
    """Returns device, directory, filesystem and charged bytes as JSON values, keyed by name."""
    location = measurement.location
    return {
        "device": location.device,
        "directory": str(measurement.directory.path),
        "fstype": location.fstype,
        "mountpoint": location.mountpoint,
        "charged_bytes": measurement.charged_bytes,
    }
