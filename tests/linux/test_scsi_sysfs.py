"""SCSI generic nodes: which disks have no other."""

from pathlib import Path

import pytest

from exporter.linux import scsi_sysfs
from exporter.linux.scsi_sysfs import ScsiGeneric
from tests.linux import node_trees, trees
from tests.linux.trees import Sys


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    return Sys(tmp_path / "sys")


def test_a_disk_has_a_generic_node_beside_its_own(sys: Sys) -> None:
    place = trees.sata(sys, "sda")
    target = place.removesuffix("/block/sda")
    node_trees.attach(sys, target)
    node_trees.generic(sys, "sg0", target)
    (found,) = scsi_sysfs.read_generic_devices(sys.root)
    expected = ScsiGeneric(
        name="sg0",
        directory=sys.root / target,
        type=0,
        vendor="ATA",
        model="Flashworks S500",
        has_driver=True,
        block="sda",
    )
    assert expected == found
    assert not found.is_hidden_disk


def test_a_member_of_a_volume_is_a_hidden_disk(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 2)
    found = scsi_sysfs.read_generic_devices(sys.root)
    assert [("sg0", False), ("sg1", True), ("sg2", True)] == [
        (each.name, each.is_hidden_disk) for each in found
    ]


@pytest.mark.parametrize(("kind", "what"), [("3", 3), ("12", 12), ("13", 13), ("", None)])
def test_controllers_and_enclosures_are_no_disks(sys: Sys, kind: str, what: int | None) -> None:
    target = "devices/pci0000:00/0000:00:01.0/host4/target4:0:0/4:0:0:0"
    node_trees.generic(sys, "sg0", node_trees.scsi_device(sys, target, {"type": kind}))
    (found,) = scsi_sysfs.read_generic_devices(sys.root)
    assert (what, False) == (found.type, found.is_hidden_disk)


def test_a_disk_of_a_driver_with_slashes_in_its_names(sys: Sys) -> None:
    target = "devices/pci0000:00/0000:00:01.0/host4/target4:0:0/4:0:0:0"
    node_trees.generic(sys, "sg0", node_trees.scsi_device(sys, target, {}, "cciss!c0d0"))
    assert ["cciss/c0d0"] == [each.block for each in scsi_sysfs.read_generic_devices(sys.root)]


def test_nodes_are_in_the_order_of_their_numbers(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 3, first=9)
    assert ["sg0", "sg9", "sg10", "sg11"] == [
        each.name for each in scsi_sysfs.read_generic_devices(sys.root)
    ]


def test_without_the_driver_there_are_none(sys: Sys) -> None:
    assert () == scsi_sysfs.read_generic_devices(sys.root)


def test_a_node_whose_device_has_just_gone_says_nothing(sys: Sys) -> None:
    sys.link("class/scsi_generic/sg7", "devices/gone")
    sys.write("class/scsi_generic/power", {})
    (found,) = scsi_sysfs.read_generic_devices(sys.root)
    assert ("sg7", None, None, False) == (found.name, found.type, found.model, found.is_hidden_disk)
