"""Reads /sys/class/nvme: the controllers of an NVMe namespace, and the identity of its drive.

The disk of a namespace is below its controller. With native multipath it is instead a head below
the subsystem, with one hidden path per controller. The number in the name of a head counts
subsystems, not controllers, so nvme0n1 may belong to nvme1 (nvme_mpath_set_disk_name in
drivers/nvme/host/multipath.c).

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
    """Returns the hidden paths of each multipath head: nvme0c1n1 is a path to nvme0n1.

    `names` are those in /sys/block.
    """
    heads: dict[str, list[str]] = {}
    for name in names:
        if match := _PATH.fullmatch(name):
            heads.setdefault(f"nvme{match[1]}n{match[2]}", []).append(name)
    return heads


def find_owner(directory: Path) -> Path | None:
    """Returns the controller or subsystem above a namespace's directory; None for other disks."""
    if not (_NAMESPACE.fullmatch(directory.name) or _PATH.fullmatch(directory.name)):
        return None
    owner = Path(os.path.realpath(directory / "device"))
    is_owner = _CONTROLLER.fullmatch(owner.name) or _SUBSYSTEM.fullmatch(owner.name)
    return owner if is_owner else None


def find_controllers(sys: Path, owner: Path, paths: Iterable[str]) -> tuple[Path, ...]:
    """Returns the directories of a namespace's controllers, ordered by number.

    `paths` are the names of its hidden paths. If there are none, all controllers of the subsystem
    are returned.
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
    """Returns the directory of a controller's PCI function; None for NVMe over fabrics."""
    function = Path(os.path.realpath(controller / "device"))
    return function if pcie.is_pci_function(function) else None


def read_identity(directory: Path, owner: Path, controllers: tuple[Path, ...]) -> DeviceIdentity:
    """Returns the identity of a namespace's drive; unreadable attributes are None.

    `owner` is the controller or subsystem. Both have the same attributes.
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
    """Returns a limit of the composite temperature in °C, from hwmon (Linux 5.5).

    The unit of the file is 1/1000 °C: https://docs.kernel.org/hwmon/sysfs-interface.html. temp1_max
    is the current threshold: the drive's default, unless an administrator changed it
    (drivers/nvme/host/hwmon.c).
    """
    for controller in controllers:
        # hwmon is below the controller, and in older kernels below its PCI function.
        for parent in (controller, controller / "device" / "hwmon"):
            for monitor in files.list_names(parent):
                if not _HWMON.fullmatch(monitor):
                    continue
                if millidegrees := files.read_integer(parent / monitor / name):
                    return millidegrees / 1000
    return None
