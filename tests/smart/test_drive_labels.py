"""Tests of device labels, and of the block devices in front of hidden drives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveIdentity
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart.drive_labels import blocks_behind, labels
from exporter.smart.smartctl import Address
from tests.linux import node_trees, trees
from tests.linux.trees import Sys

SLOTS = [Address("/dev/bus/6", f"megaraid,{number}") for number in range(3)]


def read(sys: Sys) -> DeviceNodes:
    return device_nodes.read(sys.root, sys.root.parent)


@pytest.mark.parametrize(
    ("address", "label"),
    [
        (Address("/dev/sda", "sat"), "sda"),
        (Address("/dev/sg9", "sat"), "sda"),
        (Address("/dev/nvme0", "nvme"), "nvme0n2"),
        (Address("/dev/nvme0n3", "nvme"), "nvme0n2"),
        (Address("/dev/nvme7", "nvme"), "nvme7"),
        (Address("/dev/bus/0", "megaraid,3"), "bus/0:megaraid,3"),
        (Address("/dev/bus/0", "sat+megaraid,3"), "bus/0:megaraid,3"),
        (Address("/dev/sda", "megaraid,3"), "sda:megaraid,3"),
        (Address("/dev/sg1", "cciss,0"), "sg1:cciss,0"),
        (Address("/dev/sg1", ""), "sg1"),
        (Address("/dev/cciss/c0d0", "cciss,1"), "cciss/c0d0:cciss,1"),
        (Address("/dev/sdz", "scsi"), "sdz"),
    ],
)
def test_the_label_of_a_drive(sys: Sys, address: Address, label: str) -> None:
    target = trees.sata(sys, "sda").removesuffix("/block/sda")
    node_trees.generic(sys, "sg9", target)
    trees.nvme(sys, 0, (3, 2))
    trees.nvme(sys, 7, ())
    assert {address: label} == labels([address], read(sys))


def test_equal_labels_are_made_unique(sys: Sys) -> None:
    """Two controllers of one subsystem, the drives of a dock, one slot by two types."""
    trees.nvme_multipath(sys, 0, (3, 1))
    addresses = [
        *(Address("/dev/nvme1", "nvme"), Address("/dev/nvme3", "nvme")),
        *(Address("/dev/sdd", "usbjmicron,0"), Address("/dev/sdd", "usbjmicron,1")),
        *(Address("/dev/bus/0", "megaraid,3"), Address("/dev/bus/0", "sat+megaraid,3")),
    ]
    expected = [
        *("nvme0n1", "nvme3"),
        *("sdd", "sdd:usbjmicron,1"),
        *("bus/0:megaraid,3", "bus/0:sat+megaraid,3"),
    ]
    assert expected == list(labels(addresses, read(sys)).values())


_NAMES = st.sampled_from(["sda", "sda:sat", "sdb", "sda:sat#2", "bus/0", "nvme0"])
_TYPES = st.sampled_from(["", "sat", "sat#2", "megaraid,1", "sat+megaraid,1", "usbjmicron,1"])


@given(st.lists(st.builds(lambda n, t: Address(f"/dev/{n}", t), _NAMES, _TYPES)))
def test_no_two_addresses_have_one_label(addresses: list[Address]) -> None:
    found = labels(addresses, DeviceNodes())
    assert set(addresses) == found.keys()
    assert len(found) == len(set(found.values()))


def test_a_drive_in_a_slot_stands_under_every_volume_of_its_host(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sda", "sdb")
    trees.sata(sys, "sdc")
    drives = {slot: DriveIdentity(serial=f"S{slot.type}") for slot in SLOTS}
    drives[Address("/dev/sdc", "sat")] = DriveIdentity(serial="S00001")
    disks = dict.fromkeys(("sda", "sdb", "sdc"), DeviceIdentity(transport="scsi"))
    assert dict.fromkeys(SLOTS, ("sda", "sdb")) == blocks_behind(drives, read(sys), disks)


def test_a_drive_passed_through_is_the_disk_of_its_own_name(sys: Sys) -> None:
    """By WWN or serial number; the others stand under what is left."""
    node_trees.raid_volumes(sys, "sda", "sdb", "sdc")
    drives = {
        SLOTS[0]: DriveIdentity(wwn="naa.5002538F00000001"),
        SLOTS[1]: DriveIdentity(serial="S00002"),
        SLOTS[2]: DriveIdentity(),
    }
    disks = {
        "sda": DeviceIdentity(wwn="naa.5002538f00000001", transport="scsi"),
        "sdb": DeviceIdentity(serial="S00002", wwn="naa.5002538f00000002", transport="scsi"),
        "sdc": DeviceIdentity(wwn="naa.600508b1001c0001", transport="scsi"),
    }
    expected = {SLOTS[0]: ("sda",), SLOTS[1]: ("sdb",), SLOTS[2]: ("sdc",)}
    assert expected == blocks_behind(drives, read(sys), disks)


def test_a_serial_number_of_two_drives_names_neither(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sda")
    drives = {slot: DriveIdentity(serial="0000") for slot in SLOTS[:2]}
    disks = {"sda": DeviceIdentity(serial="0000", transport="scsi")}
    assert dict.fromkeys(SLOTS[:2], ("sda",)) == blocks_behind(drives, read(sys), disks)


def test_of_two_drives_with_one_wwn_the_serial_number_names_one(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sda", "sdb")
    wwn = "naa.5002538f00000001"
    drives = {
        slot: DriveIdentity(model="S500 480GB", serial=serial, wwn=wwn)
        for slot, serial in zip(SLOTS, ("S1", "S2"), strict=False)
    }
    disks = {
        name: DeviceIdentity(model="S500", serial=serial, wwn=wwn, transport="scsi")
        for name, serial in (("sda", "S1"), ("sdb", "S2"))
    }
    expected = {SLOTS[0]: ("sda",), SLOTS[1]: ("sdb",)}
    assert expected == blocks_behind(drives, read(sys), disks)


def test_a_drive_is_not_a_volume(sys: Sys) -> None:
    """SATA drives passed through, that no slot says to be its own."""
    node_trees.raid_volumes(sys, "sda", "sdb")
    disks = {
        "sda": DeviceIdentity(transport="scsi"),
        "sdb": DeviceIdentity(transport="sata", protocol="ata"),
    }
    drives = {SLOTS[0]: DriveIdentity(serial="S1")}
    assert {SLOTS[0]: ("sda",)} == blocks_behind(drives, read(sys), disks)


def test_a_hidden_disk_stands_under_its_hosts_volume(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 1)
    address = Address("/dev/sg1")
    found = blocks_behind(
        {address: DriveIdentity()}, read(sys), {"sda": DeviceIdentity(transport="scsi")}
    )
    assert {address: ("sda",)} == found


def test_a_controller_that_sys_does_not_show_carries_nothing_known() -> None:
    address = Address("/dev/twa0", "3ware,0")
    found = blocks_behind({address: DriveIdentity()}, DeviceNodes(), {"sda": DeviceIdentity()})
    assert {address: ()} == found
