"""Lists the device nodes through which drives can be queried, with the path of each in /sys.

smartctl accepts different nodes for one drive: /dev/sda, /dev/sg0, /dev/nvme0, and /dev/bus/0 for
the drives of a RAID controller. Nodes of the same device have the same path below /sys:
https://docs.kernel.org/admin-guide/sysfs-rules.html describes these paths.

Terms of NVMe: a controller provides one or more namespaces, and each namespace is a disk. With
native multipath, a namespace has one disk with a device node (the head), and one hidden disk per
controller (a path).
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from exporter.linux import files, pcie, scsi_sysfs
from exporter.linux.scsi_sysfs import ScsiGeneric

_SCSI_HOST = re.compile(r"host\d+", re.ASCII)
_CONTROLLER = re.compile(r"nvme\d+", re.ASCII)
#: The name of an NVMe disk: nvme0n1 is a disk or the head of a multipath disk, and nvme0c1n1 is a
#: hidden path of that head.
_NAMESPACE = re.compile(r"(nvme\d+)(?:c\d+)?n(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeviceNodes:
    """The device nodes that can be passed to smartctl. Names of nodes are relative to /dev.

    sysfs_paths: the path of each node's device below /sys, keyed by the name of the node. The path
        is empty if the device is not below /sys. The device is:
        - the SCSI device, for sda and sg3;
        - the SCSI host, for bus/6;
        - the controller, for nvme0 and its namespace nvme0n1;
        - the subsystem, for a multipath head.
    blocks: the names of all whole disks.
    generics: the SCSI devices with a generic node, ordered by the number of the node.
    controllers: the names of the NVMe controllers, ordered by number. Discovery controllers of a
        fabric are omitted, because they have no drives.
    first_namespaces: the name of the namespace with the lowest number of each NVMe controller,
        keyed by the name of the controller.
    present: all names directly below /dev.
    """

    sysfs_paths: Mapping[str, PurePath] = field(default_factory=dict)
    blocks: frozenset[str] = frozenset()
    generics: tuple[ScsiGeneric, ...] = ()
    controllers: tuple[str, ...] = ()
    first_namespaces: Mapping[str, str] = field(default_factory=dict)
    present: frozenset[str] = frozenset()

    def sysfs_path(self, path: str) -> PurePath | None:
        """Returns the path below /sys of a node such as /dev/sda; None if the node is unknown.

        It is that of the node's device; `sysfs_paths` explains it.
        """
        return self.sysfs_paths.get(path.removeprefix("/dev/"))


def read(sys: Path, root: Path) -> DeviceNodes:
    """Returns all device nodes; nodes that cannot be read are omitted.

    root: the root directory of the program that will open the nodes. Only its /dev is listed.
    """
    sys = Path(os.path.realpath(sys))
    generics = scsi_sysfs.read_generic_devices(sys)
    controllers = tuple(_controllers(sys))
    blocks = dict(_blocks(sys))
    nvme = {name: _sysfs_path(sys, sys / "class" / "nvme" / name) for name in controllers}
    sysfs_paths = {
        **{generic.name: _sysfs_path(sys, generic.directory) for generic in generics},
        **dict(_scsi_hosts(sys)),
        **nvme,
        **blocks,
    }
    return DeviceNodes(
        sysfs_paths=sysfs_paths,
        blocks=frozenset(blocks),
        generics=generics,
        controllers=controllers,
        first_namespaces=dict(_first_namespaces(sys, controllers)),
        present=frozenset(files.list_names(root / "dev")),
    )


def pci_adapter(path: PurePath) -> str | None:
    """Returns the address of the nearest PCI function above a device; None if there is none.

    All drives of one host bus adapter have the same address.

    path: the path of the device below /sys.

    >>> pci_adapter(PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"))
    '0000:00:17.0'
    """
    directory = Path(path)
    above = (directory, *directory.parents)
    return next((parent.name for parent in above if pcie.is_pci_function(parent)), None)


def scsi_host(path: PurePath) -> PurePath | None:
    """Returns the path of the SCSI host above a device; None if there is none.

    path: the path below /sys of the device, or of the SCSI host itself.

    >>> scsi_host(PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"))
    PurePosixPath('devices/pci0000:00/0000:00:17.0/ata1/host0')
    """
    above = (path, *path.parents)
    return next((parent for parent in above if _SCSI_HOST.fullmatch(parent.name)), None)


def _sysfs_path(sys: Path, link: Path) -> PurePath:
    directory = Path(os.path.realpath(link))
    return PurePath(directory.relative_to(sys)) if directory.is_relative_to(sys) else PurePath()


def _blocks(sys: Path) -> Iterator[tuple[str, PurePath]]:
    for name in files.list_names(sys / "block"):
        directory = sys / "block" / name
        device = directory / "device"
        path = _sysfs_path(sys, device if os.path.lexists(device) else directory)
        yield name.replace("!", "/"), path


def _scsi_hosts(sys: Path) -> Iterator[tuple[str, PurePath]]:
    for name in files.list_names(sys / "class" / "scsi_host"):
        path = scsi_host(_sysfs_path(sys, sys / "class" / "scsi_host" / name).parent)
        if path is not None:
            yield f"bus/{name.removeprefix('host')}", path


def _controllers(sys: Path) -> Iterator[str]:
    names = [n for n in files.list_names(sys / "class" / "nvme") if _CONTROLLER.fullmatch(n)]
    for name in sorted(names, key=lambda n: (len(n), n)):
        if files.read_attribute(sys / "class" / "nvme" / name / "cntrltype") != "discovery":
            yield name


def _first_namespaces(sys: Path, controllers: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for controller in controllers:
        names = files.list_names(sys / "class" / "nvme" / controller)
        namespaces = [match for name in names if (match := _NAMESPACE.fullmatch(name))]
        if namespaces:
            first = min(namespaces, key=lambda match: int(match[2]))
            yield controller, f"{first[1]}n{first[2]}"
