"""SCSI vital product data, in which SATA drives say their full names."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import NotAvailable, ParseError, ReadError
from exporter.linux import scsi_sysfs
from exporter.linux.scsi_sysfs import AtaIdentity
from tests.linux import trees


def test_identify() -> None:
    """The byte pairs of IDENTIFY strings are swapped back, and the padding goes."""
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
    """The drive's own best speed is the highest bit of word 76; all ones or none say nothing."""
    page = trees.identify("m", "s", "f", generations=generations)
    assert expected == scsi_sysfs.parse_ata_page(page).max_gigabits


def test_blank_fields_are_unknown() -> None:
    """Fields of nothing but padding are None, and so is a WWN that word 87 does not announce."""
    expected = AtaIdentity(None, None, None, None, 6.0)
    assert expected == scsi_sysfs.parse_ata_page(trees.identify("", "", ""))


def test_serial() -> None:
    """A serial number is unpadded, and odd bytes in it stay visible."""
    assert scsi_sysfs.parse_serial_page(trees.serial_page("  S3Z8NB0K1   ")) == "S3Z8NB0K1"
    assert scsi_sysfs.parse_serial_page(b'\0\x80\0\x04a"\xffb') == 'a"\\xffb'
    assert scsi_sysfs.parse_serial_page(trees.serial_page("    ")) is None


@pytest.mark.parametrize(
    "page", [b"", b"\0", b"\0\x83\0\x01a", b"\0\x80\0\x09short", trees.identify("m", "s", "f")]
)
def test_no_serial_page(page: bytes) -> None:
    """An empty, cut or foreign page is a ParseError."""
    with pytest.raises(ParseError):
        scsi_sysfs.parse_serial_page(page)


@pytest.mark.parametrize("size", [0, 4, 60, 571])
def test_cut_identify(size: int) -> None:
    """IDENTIFY data that is cut short is a ParseError, not half a name."""
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
def test_names_survive(model: str, serial: str) -> None:
    """Whatever printable names a drive has come back whole."""
    found = scsi_sysfs.parse_ata_page(trees.identify(model, serial, "f"))
    assert (model or None, serial or None) == (found.model, found.serial)


def test_read(tmp_path: Path) -> None:
    """A missing page is not there, and what is no file cannot be read."""
    with pytest.raises(NotAvailable):
        scsi_sysfs.read_vpd_page(tmp_path / "vpd_pg80")
    with pytest.raises(ReadError):
        scsi_sysfs.read_vpd_page(tmp_path)
