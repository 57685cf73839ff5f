"""The nodes of /dev through which a drive may be asked, and what of /sys each of them reaches."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from exporter.linux import files, pcie, scsi_sysfs
from exporter.linux.scsi_sysfs import ScsiGeneric

_SCSI_HOST = re.compile(r"host\d+", re.ASCII)
_CONTROLLER = re.compile(r"nvme\d+", re.ASCII)
#: nvme0n1 is a namespace or, with native multipath, a head; nvme0c1n1 is a hidden path to a head.
_NAMESPACE = re.compile(r"(nvme\d+)(?:c\d+)?n(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeviceNodes:
    """What /sys and /dev show of the nodes that a program may be given.

    `sysfs_paths` are directories below /sys by the node's name below /dev: the SCSI device for sda
    and sg3, the SCSI host for bus/6, the controller for nvme0 and its namespace nvme0n1 (the
    subsystem for a multipath head). `first_namespaces` is the lowest namespace of each NVMe
    controller. `present` are the names that /dev holds. Discovery controllers of a fabric are
    left out, for no drive is behind them.
    """

    sysfs_paths: Mapping[str, PurePath] = field(default_factory=dict)
    blocks: frozenset[str] = frozenset()
    generics: tuple[ScsiGeneric, ...] = ()
    controllers: tuple[str, ...] = ()
    first_namespaces: Mapping[str, str] = field(default_factory=dict)
    present: frozenset[str] = frozenset()

    def sysfs_path(self, path: str) -> PurePath | None:
        """What a path of /dev reaches; None where /sys does not show it."""
        return self.sysfs_paths.get(path.removeprefix("/dev/"))


def read(sys: Path, root: Path) -> DeviceNodes:
    """All nodes now; what cannot be read is left out.

    `root` is the / in which the program that is given a node runs: only its /dev is listed.
    """
    sys = Path(os.path.realpath(sys))
    generics = scsi_sysfs.read_generic_devices(sys)
    controllers = tuple(_controllers(sys))
    blocks = dict(_blocks(sys))
    nvme = {name: _place(sys, sys / "class" / "nvme" / name) for name in controllers}
    places = {
        **{each.name: _place(sys, each.directory) for each in generics},
        **dict(_hosts(sys)),
        **nvme,
        **blocks,
    }
    return DeviceNodes(
        sysfs_paths=places,
        blocks=frozenset(blocks),
        generics=generics,
        controllers=controllers,
        first_namespaces=dict(_first_namespaces(sys, controllers)),
        present=frozenset(files.list_names(root / "dev")),
    )


def pci_adapter(place: PurePath) -> str | None:
    """The PCI function nearest above: all drives of one host bus adapter share it.

    >>> adapter(PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"))
    '0000:00:17.0'
    """
    directory = Path(place)
    return next((d.name for d in (directory, *directory.parents) if pcie.is_pci_function(d)), None)


def scsi_host(place: PurePath) -> PurePath | None:
    """The directory of the SCSI host that a device hangs on, or that is the host itself.

    >>> scsi_host(PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"))
    PurePosixPath('devices/pci0000:00/0000:00:17.0/ata1/host0')
    """
    return next((d for d in (place, *place.parents) if _SCSI_HOST.fullmatch(d.name)), None)


def _place(sys: Path, path: Path) -> PurePath:
    directory = Path(os.path.realpath(path))
    return PurePath(directory.relative_to(sys)) if directory.is_relative_to(sys) else PurePath()


def _blocks(sys: Path) -> Iterator[tuple[str, PurePath]]:
    for name in files.list_names(sys / "block"):
        directory = sys / "block" / name
        device = directory / "device"
        place = _place(sys, device if os.path.lexists(device) else directory)
        yield name.replace("!", "/"), place


def _hosts(sys: Path) -> Iterator[tuple[str, PurePath]]:
    for name in files.list_names(sys / "class" / "scsi_host"):
        place = scsi_host(_place(sys, sys / "class" / "scsi_host" / name).parent)
        if place is not None:
            yield f"bus/{name.removeprefix('host')}", place


def _controllers(sys: Path) -> Iterator[str]:
    found = [n for n in files.list_names(sys / "class" / "nvme") if _CONTROLLER.fullmatch(n)]
    for name in sorted(found, key=lambda n: (len(n), n)):
        if files.read_attribute(sys / "class" / "nvme" / name / "cntrltype") != "discovery":
            yield name


def _first_namespaces(sys: Path, controllers: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for controller in controllers:
        below = files.list_names(sys / "class" / "nvme" / controller)
        found = [match for name in below if (match := _NAMESPACE.fullmatch(name))]
        if found:
            first = min(found, key=lambda match: int(match[2]))
            yield controller, f"{first[1]}n{first[2]}"
