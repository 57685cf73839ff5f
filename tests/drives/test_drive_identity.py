"""The identity that a drive reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.drive_identity import (
    identity_key,
    identity_keys,
    is_same_identity,
    usable_wwn,
)
from exporter.drives.health import DriveIdentity, Protocol
from exporter.drives.smart_report import parse_report
from tests.drives.reports import ata, nvme, scsi, with_value, without


@pytest.mark.parametrize("protocol", ["NVMe", "nvme", "NVME"])
def test_the_protocol_name_is_case_insensitive(protocol: str) -> None:
    report = with_value(nvme(), ("device", "protocol"), protocol)
    assert Protocol.NVME is parse_report(report).identity.protocol


@pytest.mark.parametrize("protocol", [None, "", "Unknown", 7, ["ATA"]])
def test_the_logs_show_the_protocol_if_it_is_not_named(protocol: object) -> None:
    found = [
        parse_report(with_value(report, ("device", "protocol"), protocol)).identity.protocol
        for report in (nvme(), ata(), scsi())
    ]
    assert [Protocol.NVME, Protocol.ATA, Protocol.SCSI] == found


@pytest.mark.parametrize("type_", ["nvme", "sat", "scsi", "sntrealtek", "megaraid,0"])
def test_the_device_type_does_not_show_the_protocol(type_: str) -> None:
    assert parse_report({"device": {"type": type_}}).identity.protocol is None


@pytest.mark.parametrize(
    ("printed", "serial"),
    [
        ("EXS480B0002", "EXS480B0002"),
        ("  EXS480  B0002 ", "EXS480 B0002"),
        ("0", None),
        ("000000000000", None),
        ("0000 0000", None),
        ("", None),
        ("   ", None),
        ("....", None),
        ("\0\0\0\0", None),
        ("AA000000000000000001", "AA000000000000000001"),
        (None, None),
        (12, None),
    ],
)
def test_placeholders_are_not_serial_numbers(printed: object, serial: str | None) -> None:
    assert serial == parse_report(with_value(ata(), ("serial_number",), printed)).identity.serial


@pytest.mark.parametrize(
    ("wwn", "text"),
    [
        ({"naa": 5, "oui": 0x00A1B2, "id": 1}, "naa.500a1b2000000001"),
        ({"naa": 5, "oui": 0, "id": 0}, None),
        ({"naa": 0, "oui": 0, "id": 0}, None),
        ({"naa": 16, "oui": 1, "id": 1}, None),
        ({"naa": 5, "oui": 1 << 24, "id": 1}, None),
        ({"naa": 5, "oui": 1, "id": 1 << 36}, None),
        ({"naa": 5, "oui": 1}, None),
        (None, None),
        ("0x500a1b2000000001", None),
    ],
)
def test_an_ata_wwn_has_the_notation_of_sysfs(wwn: object, text: str | None) -> None:
    assert text == parse_report(with_value(ata(), ("wwn",), wwn)).identity.wwn


@given(st.integers(0, (1 << 24) - 1), st.integers(1, (1 << 36) - 1))
def test_every_ata_wwn_has_16_digits(oui: int, unique: int) -> None:
    wwn = parse_report(
        with_value(ata(), ("wwn",), {"naa": 5, "oui": oui, "id": unique})
    ).identity.wwn
    assert wwn is not None
    assert (5 << 60 | oui << 36 | unique) == int(wwn.removeprefix("naa."), 16)
    assert len("naa.") + 16 == len(wwn)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("0x500A1B2C03040506", "naa.500a1b2c03040506"),
        ("0x3333333000000001", "naa.3333333000000001"),
        (f"0x6{'0' * 30}1", f"naa.6{'0' * 30}1"),
        ("0x00a1b20c0d0e0f10", "eui.00a1b20c0d0e0f10"),
        ("0x0000000000000000", None),
        ("0x500A1B2C", None),
        ("error: bad structure", None),
        ("iqn.2001-04.com.example:one", None),
        ("", None),
    ],
)
def test_a_scsi_wwn_has_the_notation_of_sysfs(printed: str, text: str | None) -> None:
    assert text == parse_report(with_value(scsi(), ("logical_unit_id",), printed)).identity.wwn


def test_the_wwn_of_an_nvme_drive_is_that_of_its_lowest_namespace() -> None:
    namespaces = [
        {"id": 3, "eui64": {"oui": 1, "ext_id": 3}},
        {"id": 1},
        {"id": 2, "eui64": {"oui": 1, "ext_id": 2}},
        None,
    ]
    report = with_value(nvme(), ("nvme_namespaces",), namespaces)
    assert "eui.0000010000000002" == parse_report(report).identity.wwn


def test_an_eui_64_of_zeros_is_none() -> None:
    report = with_value(nvme(), ("nvme_namespaces", 0, "eui64"), {"oui": 0, "ext_id": 0})
    assert parse_report(report).identity.wwn is None


def test_the_capacity_of_an_nvme_drive_is_that_of_the_whole_drive() -> None:
    """`user_capacity` is the capacity of one namespace."""
    assert 960_197_124_096 == parse_report(nvme()).identity.capacity_bytes
    namespace = parse_report(without(nvme(), "nvme_total_capacity")).identity
    assert 480_000_000_000 == namespace.capacity_bytes


@pytest.mark.parametrize("nothing", [0, None, -1, "?"])
def test_a_capacity_of_0_is_none(nothing: object) -> None:
    report = with_value(ata(), ("user_capacity", "bytes"), nothing)
    assert parse_report(report).identity.capacity_bytes is None


def test_the_block_size_of_the_namespace_is_the_fallback() -> None:
    assert 4096 == parse_report(without(nvme(), "logical_block_size")).identity.logical_block_bytes


@pytest.mark.parametrize(
    ("rate", "rotational"), [(0, False), (1, False), (5400, True), (None, None), ("?", None)]
)
def test_rotation_rate_distinguishes_hard_disks_from_ssds(
    rate: object, rotational: bool | None
) -> None:
    assert (
        rotational is parse_report(with_value(ata(), ("rotation_rate",), rate)).identity.rotational
    )


def test_every_nvme_drive_is_an_ssd() -> None:
    assert parse_report(nvme()).identity.rotational is False


def test_the_vendor_of_sat_is_not_part_of_the_model() -> None:
    report = scsi() | {
        "scsi_vendor": "ATA",
        "scsi_product": "EXAMPLE SATA SSD",
        "scsi_model_name": "ATA EXAMPLE SATA SSD",
    }
    assert "EXAMPLE SATA SSD" == parse_report(report).identity.model


def test_vendor_and_product_are_the_model_if_there_is_none() -> None:
    assert "EXAMPLE SASSSD800" == parse_report(without(scsi(), "scsi_model_name")).identity.model


WWN_1, WWN_2 = "naa.5002538f00000001", "naa.5002538f00000002"


def named(serial: str | None = None, wwn: str | None = None, model: str = "X700") -> DriveIdentity:
    return DriveIdentity(model=model, serial=serial, wwn=wwn)


def test_an_unset_wwn_is_none() -> None:
    for text in ("", "naa.5000000000000000", "eui.0000000000000000", "naa.ffffffffffffffff", "0"):
        assert usable_wwn(text) is None
    assert "naa.5002538f00000001" == usable_wwn("NAA.5002538F00000001 ")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (named("S1", WWN_1), named("S1", WWN_1), True),
        (named("S1", WWN_1), named("S2", WWN_1), False),
        (named("S1", WWN_1), named("S1", WWN_2), False),
        (named("S1", WWN_1), named(None, WWN_1.upper()), True),
        (named("S1", WWN_1), named("S1"), True),
        (named("S1", WWN_1), named("S1", "naa.5000000000000000"), True),
        (named("S1"), named("S1", model="Y"), False),
        (named("S1234", WWN_1), named("S12", WWN_1), True),
        (named("S1234"), named("S12"), False),
        (named("S1"), named("S2"), False),
        (named(), named(), False),
        (named("S1"), named(), False),
    ],
)
def test_serial_number_then_wwn_then_model_tell_drives_apart(
    one: DriveIdentity, other: DriveIdentity, is_same: bool
) -> None:
    assert is_same == is_same_identity(one, other) == is_same_identity(other, one)


def test_drives_that_share_a_wwn_have_keys_with_their_serial_numbers() -> None:
    drives = {
        "sda": named("S1", WWN_1),
        "sdb": named("S2", WWN_1),
        "sdc": named("S3", WWN_2),
        "sdd": named("S4"),
        "sde": named(),
    }
    assert {
        "sda": f"{WWN_1} S1",
        "sdb": f"{WWN_1} S2",
        "sdc": WWN_2,
        "sdd": "X700 S4",
    } == identity_keys(drives)


def test_two_paths_to_one_drive_have_one_key() -> None:
    drives = {"sda": named("S1", WWN_1), "sdb": named("S1", WWN_1)}
    assert {WWN_1} == set(identity_keys(drives).values())


_NAMES = st.none() | st.sampled_from(["S1", "S2", WWN_1, WWN_2])


@given(st.lists(st.builds(named, _NAMES, _NAMES), max_size=6))
def test_different_drives_never_share_a_key_with_their_serial_numbers(
    drives: list[DriveIdentity],
) -> None:
    keys = identity_keys(dict(enumerate(drives)))
    for i, one in enumerate(drives):
        assert (i in keys) == (identity_key(one) is not None)
        for k, other in enumerate(drives):
            if one.serial and other.serial and one.serial != other.serial:
                assert i not in keys or keys[i] != keys.get(k)
