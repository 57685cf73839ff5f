"""Device nodes, and the paths below /sys of their devices."""

from pathlib import Path, PurePath

import pytest

from exporter.linux import device_nodes
from exporter.linux.device_nodes import DeviceNodes
from tests.linux import node_trees, trees
from tests.linux.trees import Sys

AHCI = "devices/pci0000:00/0000:00:17.0"


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    # The directories above /sys look like devices, and must not be taken for one.
    return Sys(tmp_path / "0000:07:00.0" / "host9" / "sys")


def read(sys: Sys) -> DeviceNodes:
    return device_nodes.read(sys.root, sys.root.parent)


def test_all_nodes_of_a_drive_have_the_same_path(sys: Sys) -> None:
    target = trees.sata(sys, "sda").removesuffix("/block/sda")
    node_trees.generic(sys, "sg0", target)
    node_trees.host(sys, 1, f"{AHCI}/ata1/host1")
    known = read(sys)
    assert PurePath(target) == known.sysfs_path("/dev/sda") == known.sysfs_path("/dev/sg0")
    assert PurePath(f"{AHCI}/ata1/host1") == known.sysfs_path("/dev/bus/1")
    assert known.sysfs_path("/dev/sdb") is None
    assert frozenset({"sda"}) == known.blocks
    assert frozenset({"sg0"}) == known.present


def test_nvme_namespaces_have_the_path_of_their_controller(sys: Sys) -> None:
    trees.nvme(sys, 0, (3, 2))
    trees.nvme(sys, 10, ())
    trees.nvme(sys, 2)
    known = read(sys)
    assert known.sysfs_path("/dev/nvme0n3") == known.sysfs_path("/dev/nvme0")
    assert ("nvme0", "nvme2", "nvme10") == known.controllers
    assert {"nvme0": "nvme0n2", "nvme2": "nvme2n1"} == known.first_namespaces


def test_multipath_head_is_the_first_namespace_of_each_controller(sys: Sys) -> None:
    """nvme0n1 belongs to nvme1 and nvme3: the number in its name counts subsystems."""
    trees.nvme_multipath(sys, 0, (3, 1))
    assert {"nvme1": "nvme0n1", "nvme3": "nvme0n1"} == read(sys).first_namespaces


def test_discovery_controllers_are_omitted(sys: Sys) -> None:
    place = trees.nvme_controller(sys, 4, "FW000004")
    sys.write(place, {"cntrltype": "discovery"})
    assert () == read(sys).controllers


def test_empty_sys_has_no_nodes(sys: Sys) -> None:
    assert DeviceNodes() == read(sys)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0", "0000:03:00.0"),
        ("devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e1:00.0/nvme/nvme0", "10000:e1:00.0"),
        ("devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host5", "0000:00:14.0"),
        ("devices/virtual/nvme-fabrics/ctl/nvme0", None),
        ("", None),
    ],
)
def test_adapter_is_the_nearest_pci_function(place: str, expected: str | None) -> None:
    assert expected == device_nodes.pci_adapter(PurePath(place))
