"""Placeholders for identifiers."""

from exporter.capture.redactor import Redactor


def test_equal_serial_numbers_have_equal_placeholders() -> None:
    redactor = Redactor(("AA000000000000000001", "B1"), ())
    assert redactor.serial("AA000000000000000001") == redactor.serial("AA000000000000000001")
    assert redactor.serial("B1") != redactor.serial("AA000000000000000001")


def test_placeholder_is_not_an_identifier() -> None:
    redactor = Redactor(("SN00000001", "SN00000002"), ("5002538000000001",))
    assert "SN00000003" == redactor.serial("SN00000001")
    assert "5002538000000002" == redactor.wwn("5002538000000001")


def test_zeros_are_not_a_wwn() -> None:
    assert "0x0000000000000000" == Redactor((), ()).text("0x0000000000000000")


def test_uuids_and_host_names_are_replaced_everywhere() -> None:
    redactor = Redactor((), (), ("db7.shop.example", "db7"))
    text = "/dev/disk/by-uuid/8C1F7E0A-1111-4222-8333-444455556666 on db7, db7.shop.example, db70"
    expected = "/dev/disk/by-uuid/00000000-0000-4000-8000-000000000001 on host, host, db70"
    assert expected == redactor.text(text)
