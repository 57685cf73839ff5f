"""Finds the controllers of NVMe disks in /sys, and reads the identity of the drives.

In NVMe, a controller provides one or more namespaces, and each namespace is a disk for Linux. The
directory of the disk is below that of its controller.

With native multipath, several controllers of one drive can provide the same namespace. These
controllers form a subsystem. The kernel then has one disk for the namespace (the head), whose
directory is below that of the subsystem, and one hidden disk per controller (a path). The number
in the name of a head is that of the subsystem and not of a controller, so nvme0n1 may belong to
nvme1 (nvme_mpath_set_disk_name in drivers/nvme/host/multipath.c).

No kernel document lists the attributes: see nvme_dev_attrs in drivers/nvme/host/sysfs.c.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from exporter.linux import files, pcie
from exporter.linux.device_identity import DeviceIdentity, strip_padding

_CONTROLLER = re.compile(r"nvme\d+", re.ASCII)
_SUBSYSTEM = re.compile(r"nvme-subsys\d+", re.ASCII)
_NAMESPACE = re.compile(r"nvme(\d+)n(\d+)", re.ASCII)
_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)", re.ASCII)
_HWMON = re.compile(r"hwmon\d+", re.ASCII)


def paths_by_head(names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names of the hidden paths of each head, keyed by the name of the head.

    For example, nvme0c1n1 is a path of the head nvme0n1.

    names: the names in /sys/block. The paths of a head are in the same order.
    """
    heads: dict[str, list[str]] = {}
    for name in names:
        if match := _PATH.fullmatch(name):
            heads.setdefault(f"nvme{match[1]}n{match[2]}", []).append(name)
    return heads


def find_owner(directory: Path) -> Path | None:
    """Returns the directory of the controller or subsystem of an NVMe disk; None for other disks.

    directory: the disk's directory in sysfs.
    """
    if not (_NAMESPACE.fullmatch(directory.name) or _PATH.fullmatch(directory.name)):
        return None
    owner = Path(os.path.realpath(directory / "device"))
    is_owner = _CONTROLLER.fullmatch(owner.name) or _SUBSYSTEM.fullmatch(owner.name)
    return owner if is_owner else None


def find_controllers(sys: Path, owner: Path, paths: Iterable[str]) -> tuple[Path, ...]:
    """Returns the directories of the controllers of an NVMe disk, ordered by number.

    owner: the result of `find_owner`.
    paths: the names of the hidden paths of the disk. If there are none and the owner is a
        subsystem, all controllers of the subsystem are returned.
    """
    if _CONTROLLER.fullmatch(owner.name):
        return (owner,)
    candidates = {find_owner(Path(os.path.realpath(sys / "block" / path))) for path in paths} or {
        Path(os.path.realpath(owner / name))
        for name in files.list_names(owner)
        if _CONTROLLER.fullmatch(name)
    }
    controllers = [path for path in candidates if path and _CONTROLLER.fullmatch(path.name)]
    return tuple(sorted(controllers, key=lambda path: int(path.name.removeprefix("nvme"))))


def find_pci_function(controller: Path) -> Path | None:
    """Returns the directory of an NVMe controller's PCI function; None for NVMe over fabrics."""
    function = Path(os.path.realpath(controller / "device"))
    return function if pcie.is_pci_function(function) else None


def read_identity(directory: Path, owner: Path, controllers: tuple[Path, ...]) -> DeviceIdentity:
    """Returns the identity of the drive of an NVMe disk; attributes that cannot be read are None.

    directory: the disk's directory in sysfs.
    owner: the directory of the controller or the subsystem. Both have the attributes of the drive.
    controllers: the directories of the controllers.
    """
    transports = {
        strip_padding(files.read_attribute(controller / "transport")) for controller in controllers
    }
    fabrics = sorted(name for name in transports if name not in (None, "pcie"))
    return DeviceIdentity(
        model=strip_padding(files.read_attribute(owner / "model")),
        vendor=None,
        serial=strip_padding(files.read_attribute(owner / "serial")),
        firmware=strip_padding(files.read_attribute(owner / "firmware_rev")),
        wwn=strip_padding(files.read_attribute(directory / "wwid")),
        transport=f"nvme-{fabrics[0]}" if fabrics else "nvme",
        protocol="nvme",
        controllers=tuple(controller.name for controller in controllers),
        temperature_warning_celsius=_read_temperature_limit(controllers, "temp1_max"),
        temperature_critical_celsius=_read_temperature_limit(controllers, "temp1_crit"),
    )


def _read_temperature_limit(controllers: tuple[Path, ...], name: str) -> float | None:
    """Returns a threshold of the drive's composite temperature, in °C; None means unknown.

    The value comes from hwmon, the kernel's interface for sensors (Linux 5.5). Its files have the
    unit 1/1000 °C: https://docs.kernel.org/hwmon/sysfs-interface.html. The file temp1_max has the
    current threshold, which is the default of the drive unless an administrator changed it
    (drivers/nvme/host/hwmon.c).

    name: the name of the file: ``temp1_max`` (warning) or ``temp1_crit`` (critical).
    """
    for controller in controllers:
        # The directory hwmon<number> is below that of the controller; in older kernels, it is below
        # that of the PCI function.
        for parent in (controller, controller / "device" / "hwmon"):
            for monitor in files.list_names(parent):
                if not _HWMON.fullmatch(monitor):
                    continue
                if millidegrees := files.read_integer(parent / monitor / name):
                    return millidegrees / 1000
    return None
