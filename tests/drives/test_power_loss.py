"""The self-check of the power-loss protection of ATA drives."""

import pytest
from hypothesis import given

from exporter.drives.health import AtaAttribute, DriveIdentity
from exporter.drives.power_loss import POWER_LOSS_RULES, ata_power_loss
from tests.drives.ata_reports import drive, drives, row, tables

INTEL = drive("Intel S3520 Series SSDs")


def capacitor(value: int | None, number: int = 175, failed: str = "") -> AtaAttribute:
    """The raw value packs microseconds, minutes since the test, and the number of tests."""
    raw = 9_000 + (120 << 16) + (2_500 << 32)
    return row(
        number,
        "Power_Loss_Cap_Test",
        value,
        raw,
        "9000 (120 2500)",
        threshold=10,
        failed=failed,
        prefailure=True,
    )


@pytest.mark.parametrize("number", [175, 201, 235])
def test_a_capacitor_passes_or_fails_by_the_normalized_value(number: int) -> None:
    assert ata_power_loss(INTEL, [capacitor(100, number)]) is True
    assert ata_power_loss(INTEL, [capacitor(1, number)]) is False
    assert ata_power_loss(INTEL, [capacitor(100, number, failed="now")]) is False
    assert ata_power_loss(INTEL, [capacitor(100, number, failed="past")]) is True


def test_a_test_that_was_too_hot_is_ignored() -> None:
    assert ata_power_loss(INTEL, [capacitor(11)]) is None


@pytest.mark.parametrize("value", [None, 0, 253])
def test_a_value_that_is_not_supported_is_ignored(value: int | None) -> None:
    assert ata_power_loss(INTEL, [capacitor(value)]) is None


def test_one_failed_row_of_two_is_a_failure() -> None:
    assert ata_power_loss(INTEL, [capacitor(100, 175), capacitor(1, 235)]) is False


#: One attribute for each rule: id, name, reading.
NAMED = (
    (175, "Power_Loss_Cap_Test"),
    (235, "PLP_Tests_Min_Us"),
    (201, "Supercap_Status"),
    (235, "SuperCap_Health"),
    (235, "Capacitor_Health"),
    (175, "Capacitor_Life"),
    (175, "PwrLoss_ProtectionFail"),
    (229, "PLP_Failure"),
    (195, "Power_Fail_Health"),
)


@pytest.mark.parametrize(("number", "name"), NAMED)
def test_the_attribute_names_of_each_make_are_recognized(number: int, name: str) -> None:
    identity = drive("Example Flash Works SSDs")
    assert ata_power_loss(identity, [row(number, name, 100, threshold=10)]) is True
    assert ata_power_loss(identity, [row(number, name, 5, threshold=10)]) is False
    assert ata_power_loss(identity, [row(number, name, 100, threshold=0)]) is None


@pytest.mark.parametrize(("raw", "healthy"), [(0, False), (1, True), (2, None), (77, None)])
def test_an_ocz_intrepid_reports_its_charge(raw: int, healthy: bool | None) -> None:
    identity = drive("OCZ Intrepid 3000 SSDs")
    assert healthy is ata_power_loss(identity, [row(230, "SuperCap_Charge_Status", raw=raw)])


def test_every_rule_of_the_table_is_exercised_above() -> None:
    exercised = {number for number, _ in NAMED} | {230}
    assert [] == [rule for rule in POWER_LOSS_RULES if not exercised & set(rule.attributes)]
    assert {"threshold", "intel", "charge"} == {rule.reading for rule in POWER_LOSS_RULES}


def test_the_model_identifies_an_intel_drive_that_the_database_does_not_list() -> None:
    identity = drive(None, "INTEL SSDSC2KB480GZ")
    misnamed = row(175, "Program_Fail_Count_Chip", 1, 1 << 40, threshold=10, prefailure=True)
    assert ata_power_loss(identity, [misnamed]) is False
    failures = row(175, "Program_Fail_Count_Chip", 100, 3, threshold=10)
    assert ata_power_loss(identity, [failures]) is None
    assert ata_power_loss(drive(None, "EXAMPLE"), [misnamed]) is None


def test_a_drive_without_a_capacitor_yields_none() -> None:
    assert ata_power_loss(INTEL, []) is None
    assert ata_power_loss(drive(rotational=True), [capacitor(1)]) is None


@given(drives, tables)
def test_any_table_yields_a_verdict_or_none(
    identity: DriveIdentity, table: tuple[AtaAttribute, ...]
) -> None:
    assert ata_power_loss(identity, table) in {None, True, False}
