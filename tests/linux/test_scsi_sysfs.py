"""SCSI generic nodes, and the vital product data pages 0x80 and 0x89."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import scsi_sysfs
from exporter.linux.scsi_sysfs import AtaIdentity, ScsiGeneric
from exporter.runtime.errors import NotAvailable, ParseError, ReadError
from tests.linux import node_trees, trees
from tests.linux.trees import Sys


def test_disk_with_generic_node(sys: Sys) -> None:
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


def test_member_of_a_raid_volume_is_a_hidden_disk(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 2)
    found = scsi_sysfs.read_generic_devices(sys.root)
    assert [("sg0", False), ("sg1", True), ("sg2", True)] == [
        (each.name, each.is_hidden_disk) for each in found
    ]


@pytest.mark.parametrize(("kind", "what"), [("3", 3), ("12", 12), ("13", 13), ("", None)])
def test_controllers_and_enclosures_are_not_disks(sys: Sys, kind: str, what: int | None) -> None:
    target = "devices/pci0000:00/0000:00:01.0/host4/target4:0:0/4:0:0:0"
    node_trees.generic(sys, "sg0", node_trees.scsi_device(sys, target, {"type": kind}))
    (found,) = scsi_sysfs.read_generic_devices(sys.root)
    assert (what, False) == (found.type, found.is_hidden_disk)


def test_disk_name_with_slash(sys: Sys) -> None:
    target = "devices/pci0000:00/0000:00:01.0/host4/target4:0:0/4:0:0:0"
    node_trees.generic(sys, "sg0", node_trees.scsi_device(sys, target, {}, "cciss!c0d0"))
    assert ["cciss/c0d0"] == [each.block for each in scsi_sysfs.read_generic_devices(sys.root)]


def test_nodes_are_ordered_by_number(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 3, first=9)
    assert ["sg0", "sg9", "sg10", "sg11"] == [
        each.name for each in scsi_sysfs.read_generic_devices(sys.root)
    ]


def test_no_nodes_without_the_sg_driver(sys: Sys) -> None:
    assert () == scsi_sysfs.read_generic_devices(sys.root)


def test_node_without_device_is_unknown(sys: Sys) -> None:
    sys.link("class/scsi_generic/sg7", "devices/gone")
    sys.write("class/scsi_generic/power", {})
    (found,) = scsi_sysfs.read_generic_devices(sys.root)
    assert ("sg7", None, None, False) == (found.name, found.type, found.model, found.is_hidden_disk)


def test_identify() -> None:
    """The swapped bytes of IDENTIFY strings are reordered, and padding is removed."""
    page = trees.identify(
        "Flashworks S500 Enterprise 480GB", "S00001", "SVT07B6Q", wwn=0x5002538F00000001
    )
    expected = AtaIdentity(
        model="Flashworks S500 Enterprise 480GB",
        serial="S00001",
        firmware="SVT07B6Q",
        wwn="naa.5002538f00000001",
        max_gigabits=6.0,
    )
    assert expected == scsi_sysfs.parse_ata_page(page)


@pytest.mark.parametrize(
    ("generations", "expected"),
    [(0b1110, 6.0), (0b0110, 3.0), (0b0010, 1.5), (0, None), (0xFFFF, None)],
)
def test_generations(generations: int, expected: float | None) -> None:
    """The highest bit of word 76 is the drive's maximum; all ones or all zeros mean unknown."""
    page = trees.identify("m", "s", "f", generations=generations)
    assert expected == scsi_sysfs.parse_ata_page(page).max_gigabits


def test_blank_fields_are_unknown() -> None:
    """Fields with only padding are None, and so is a WWN that word 87 does not declare."""
    expected = AtaIdentity(None, None, None, None, 6.0)
    assert expected == scsi_sysfs.parse_ata_page(trees.identify("", "", ""))


def test_serial() -> None:
    """Padding is removed, and bytes that are not ASCII become escapes."""
    assert scsi_sysfs.parse_serial_page(trees.serial_page("  S3Z8NB0K1   ")) == "S3Z8NB0K1"
    assert scsi_sysfs.parse_serial_page(b'\0\x80\0\x04a"\xffb') == 'a"\\xffb'
    assert scsi_sysfs.parse_serial_page(trees.serial_page("    ")) is None


@pytest.mark.parametrize(
    "page", [b"", b"\0", b"\0\x83\0\x01a", b"\0\x80\0\x09short", trees.identify("m", "s", "f")]
)
def test_invalid_serial_page(page: bytes) -> None:
    """An empty, truncated or different page is a ParseError."""
    with pytest.raises(ParseError):
        scsi_sysfs.parse_serial_page(page)


@pytest.mark.parametrize("size", [0, 4, 60, 571])
def test_truncated_identify(size: int) -> None:
    """Truncated IDENTIFY data is a ParseError, not a partial name."""
    with pytest.raises(ParseError):
        scsi_sysfs.parse_ata_page(trees.identify("m", "s", "f")[:size])


@given(st.binary(max_size=700) | st.binary(max_size=600).map(lambda b: b"\0\x89\x02\x38" + b))
def test_any_bytes(page: bytes) -> None:
    """Any bytes are a record or a ParseError."""
    for parse in (scsi_sysfs.parse_ata_page, scsi_sysfs.parse_serial_page):
        with suppress(ParseError):
            parse(page)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
)
def test_printable_names_are_unchanged(model: str, serial: str) -> None:
    """Any printable model and serial number are returned unchanged."""
    found = scsi_sysfs.parse_ata_page(trees.identify(model, serial, "f"))
    assert (model or None, serial or None) == (found.model, found.serial)


def test_missing_and_unreadable_page(tmp_path: Path) -> None:
    """A missing page is not available, and a directory is a read error."""
    with pytest.raises(NotAvailable):
        scsi_sysfs.read_vpd_page(tmp_path / "vpd_pg80")
    with pytest.raises(ReadError):
        scsi_sysfs.read_vpd_page(tmp_path)
