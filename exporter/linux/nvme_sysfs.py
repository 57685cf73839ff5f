"""NVMe: which controllers a namespace hangs on, and what they say of themselves.

A namespace's disk hangs on its controller, or, with native multipath, as a head on the subsystem,
with a hidden path per controller. The head's name counts subsystems, not controllers
(nvme_mpath_set_disk_name in drivers/nvme/host/multipath.c): nvme0n1 may well sit on nvme1.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from exporter.linux import files, pcie
from exporter.linux.device_identity import DeviceIdentity, strip_padding

_CONTROLLER = re.compile(r"nvme\d+", re.ASCII)
_SUBSYSTEM = re.compile(r"nvme-subsys\d+", re.ASCII)
_HEAD = re.compile(r"nvme(\d+)n(\d+)", re.ASCII)
_MONITOR = re.compile(r"hwmon\d+", re.ASCII)
_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)", re.ASCII)


def paths_by_head(names: Iterable[str]) -> dict[str, list[str]]:
    """The hidden paths in /sys/block by their head: nvme0c1n1 is a way to nvme0n1."""
    heads: dict[str, list[str]] = {}
    for name in names:
        if match := _PATH.fullmatch(name):
            heads.setdefault(f"nvme{match[1]}n{match[2]}", []).append(name)
    return heads


def find_owner(directory: Path) -> Path | None:
    """The controller or subsystem that a namespace's directory hangs on; None for other disks."""
    if not (_HEAD.fullmatch(directory.name) or _PATH.fullmatch(directory.name)):
        return None
    above = Path(os.path.realpath(directory / "device"))
    is_owner = _CONTROLLER.fullmatch(above.name) or _SUBSYSTEM.fullmatch(above.name)
    return above if is_owner else None


def find_controllers(sys: Path, above: Path, paths: Iterable[str]) -> tuple[Path, ...]:
    """The directories of a namespace's controllers, by number; `paths` are its hidden ones."""
    if _CONTROLLER.fullmatch(above.name):
        return (above,)
    found = {find_owner(Path(os.path.realpath(sys / "block" / path))) for path in paths} or {
        # Without paths in sight, all controllers of the subsystem.
        Path(os.path.realpath(above / name))
        for name in files.list_names(above)
        if _CONTROLLER.fullmatch(name)
    }
    each = [one for one in found if one is not None and _CONTROLLER.fullmatch(one.name)]
    return tuple(sorted(each, key=lambda one: int(one.name.removeprefix("nvme"))))


def find_pci_function(controller: Path) -> Path | None:
    """The PCI function of a controller; None over a fabric."""
    function = Path(os.path.realpath(controller / "device"))
    return function if pcie.is_pci_function(function) else None


def read_identity(
    directory: Path, above: Path, its_controllers: tuple[Path, ...]
) -> DeviceIdentity:
    """Who a namespace's drive is; controller and subsystem carry the same attributes."""
    transports = {
        strip_padding(files.read_attribute(each / "transport")) for each in its_controllers
    }
    over = sorted(each for each in transports if each not in (None, "pcie"))
    return DeviceIdentity(
        model=strip_padding(files.read_attribute(above / "model")),
        vendor=None,
        serial=strip_padding(files.read_attribute(above / "serial")),
        firmware=strip_padding(files.read_attribute(above / "firmware_rev")),
        wwn=strip_padding(files.read_attribute(directory / "wwid")),
        transport=f"nvme-{over[0]}" if over else "nvme",
        protocol="nvme",
        controllers=tuple(each.name for each in its_controllers),
        temperature_warning_celsius=_limit(its_controllers, "temp1_max"),
        temperature_critical_celsius=_limit(its_controllers, "temp1_crit"),
    )


def _limit(its_controllers: tuple[Path, ...], name: str) -> float | None:
    """A limit of the composite temperature, in °C, as the kernel's hwmon has it (since 5.5).

    https://docs.kernel.org/hwmon/sysfs-interface.html: in thousandths; drivers/nvme/host/hwmon.c:
    temp1_max is the threshold that is set, the drive's own unless somebody has changed it.
    """
    for controller in its_controllers:
        # Below the PCI function before it hung on the controller.
        for place in (controller, controller / "device" / "hwmon"):
            for monitor in files.list_names(place):
                if _MONITOR.fullmatch(monitor) and (
                    found := files.read_integer(place / monitor / name)
                ):
                    return found / 1000
    return None
