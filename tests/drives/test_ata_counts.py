"""Event counters and spare blocks of ATA drives."""

import re

import pytest
from hypothesis import given

from exporter.drives.ata import ata_counts, event_count
from exporter.drives.ata_count_table import COUNT_RULES, COUNTERS
from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity
from exporter.drives.makes import MAKES
from tests.drives.ata_reports import NOTHING, drive, drives, row, statistics, tables

INTEL = drive("Intel S3520 Series SSDs")
SAMSUNG = drive("Samsung based SSDs")
MICRON = drive("Micron 5100 / 52x0 / 5300 / 5400 SSDs")
PHISON = drive("Phison Driven SSDs", "KINGSTON SA400S37240G")
_FIELDS = (*COUNTERS, "spare_ratio", "spare_threshold_ratio")
DISK = drive("Example Barracuda 9", "ST9000EX001", rotational=True)


def counted(identity: DriveIdentity, *table: AtaAttribute) -> DriveHealth:
    return ata_counts(NOTHING, identity, table)


#: Every spelling of the attributes of each rule: counter, then id and names.
SPELLINGS = """
media_errors:
  187 Reported_Uncorrect Reported_Uncorr_Errors Reported_UE_Counts Uncorrectable_Error_Cnt
  187 Uncorrectable_ECC_Ct
  160 Uncorrectable_Error_Cnt Uncorrectable_Sectors UECC_Sector_Count
  13 Lifetime_UECC_Ct
  1 Uncorrectable_ECC_Cnt
  195 Uncorrectable_Error_Cnt Uncorrectable_Err_Ct
  197 Total_Unc_Read_Failures
  198 Offline_Uncorrectable Offline_UErr_Media_Scan Uncor_Read_Error_Ct
reallocated_sectors:
  5 Reallocated_Sector_Ct Reallocate_NAND_Blk_Cnt Reallocated_Block_Count Realloc_Flash_Blocks_Ct
  5 Retired_Block_Count New_Bad_Blk_Count New_Bad_Block_Count Later_Bad_Block Runtime_Bad_Block
  166 Grown_Bad_Block_Count Total_Later_Bad_Blk_Ct
  170 Grown_Failing_Block_Ct Grown_Bad_Blocks
  178 Runtime_Invalid_Blk_Cnt
  183 Runtime_Bad_Block
  196 Lifetime_Retried_Blk_Ct
  235 Later_Bad_Block
pending_sectors:
  197 Current_Pending_Sector Current_Pending_ECC_Cnt Pending_Sector_Count
program_failures:
  171 Program_Fail_Count
  181 Program_Fail_Cnt_Total Block_Program_Failures
  175 Program_Fail_Cnt
  195 Program_Failure_Blk_Ct
erase_failures:
  172 Erase_Fail_Count Erase_Fail_Ct Block_Erase_Failure
  182 Erase_Fail_Count_Total
  176 Erase_Fail_Cnt
  196 Erase_Failure_Blk_Ct
interface_errors:
  199 UDMA_CRC_Error_Count SATA_FIS_CRC_Errors
  218 CRC_Error_Count
  210 SATA_CRC_Error_Count
  168 SATA_Phy_Error_Count SATA_PHY_Err_Ct
unsafe_shutdowns:
  174 Unexpect_Power_Loss_Ct Unsafe_Shutdown_Count Pwr_Cycle_Ct_Unplanned
  192 Unexpect_Power_Loss_Cnt Unclean_Shutdown_Ct
  235 POR_Recovery_Count
  236 Unstable_Power_Count
"""
NAMED = tuple(
    (counter, int(number), name)
    for counter, attributes in re.findall(r"^(\w+):\n((?: .*\n)+)", SPELLINGS, re.MULTILINE)
    for number, *names in map(str.split, attributes.splitlines())
    for name in names
)


@pytest.mark.parametrize(("counter", "number", "name"), NAMED)
def test_an_attribute_that_the_database_names_is_counted(
    counter: str, number: int, name: str
) -> None:
    counts = counted(drive("Example Flash Works SSDs"), row(number, name, raw=7))
    assert {counter: 7} == {
        field: getattr(counts, field) for field in _FIELDS if getattr(counts, field) is not None
    }


#: Drives that an old database does not list: counter, id, model.
UNNAMED = (
    ("media_errors", 187, "SAMSUNG MZ7L3480HCHQ-00A07"),
    ("media_errors", 187, "INTEL SSDSC2KB480GZ"),
    ("reallocated_sectors", 183, "SAMSUNG MZ7L3480HCHQ-00A07"),
    ("program_failures", 171, "Micron_5400_MTFDDAK480TGA"),
    ("erase_failures", 172, "INTEL SSDSC2KB480GZ"),
    ("unsafe_shutdowns", 174, "Micron_5400_MTFDDAK480TGA"),
    ("unsafe_shutdowns", 235, "SAMSUNG MZ7L3480HCHQ-00A07"),
)


@pytest.mark.parametrize(("counter", "number", "model"), UNNAMED)
def test_an_attribute_without_a_name_is_counted_by_make(
    counter: str, number: int, model: str
) -> None:
    attribute = row(number, "Unknown_Attribute", raw=9)
    assert 9 == getattr(counted(drive(None, model), attribute), counter)
    assert getattr(counted(drive(None, "EXAMPLE"), attribute), counter) is None


def test_every_rule_of_the_table_is_exercised_above() -> None:
    exercised = {(counter, number) for counter, number, _ in (*NAMED, *UNNAMED)}
    exercised.add(("reallocated_sectors", 170))  # tested below, with its pair of counts
    unexercised = [
        rule
        for rule in COUNT_RULES
        if not any((rule.counter, number) in exercised for number in rule.attributes)
    ]
    assert [] == unexercised
    makes = {make.name for make in MAKES}
    assert set() == {m for rule in COUNT_RULES for m in (*rule.makes, *rule.not_makes)} - makes


def test_device_statistics_are_used_before_attributes() -> None:
    fields = statistics((4, 0x08, 3), (6, 0x18, 12))
    counts = ata_counts(
        fields,
        SAMSUNG,
        [row(187, "Uncorrectable_Error_Cnt", raw=1), row(199, "CRC_Error_Count", raw=2)],
    )
    assert 3 == counts.media_errors
    assert 12 == counts.interface_errors


def test_a_device_statistic_of_zero_is_a_count() -> None:
    assert 0 == ata_counts(statistics((4, 0x08, 0)), SAMSUNG, []).media_errors


# Known misreadings, by number (p1 to p8).


@pytest.mark.parametrize(
    ("raw", "text", "expected"),
    [
        (12, "12", 12),
        (12, "", 12),
        (12 + (3 << 16), "12 (3 0)", 12),
        (0, "0 (0 2)", 0),
        (4_294_993_511_000, "1000 400 600", None),
        (4_294_993_511_000, "4294993511000", None),
        (4_294_993_511_000, "", None),
        (5 << 32, "5/0", None),
        (1, "0x000000000001", None),
        (0xFFFF_FFFF, "4294967295", None),
        (0xFFFF_FFFE, "4294967294", 0xFFFF_FFFE),
        (7, "seven", None),
    ],
)
def test_p4_a_packed_raw_value_yields_its_first_number_or_none(
    raw: int, text: str, expected: int | None
) -> None:
    assert expected == event_count(row(5, "Reallocated_Sector_Ct", raw=raw, text=text))


def test_p4_phison_pairs_yield_the_later_bad_blocks() -> None:
    pair = row(170, "Bad_Blk_Ct_Lat/Erl", raw=(3 << 24) + 40, text="3/40")
    assert 3 == counted(PHISON, pair).reallocated_sectors


def test_p4_unaligned_accesses_are_not_program_failures() -> None:
    packed = row(181, "Program_Fail_Cnt_Total", raw=4_294_993_511_000)
    assert counted(drive(None, "M4-CT256M4SSD2"), packed).program_failures is None
    named = row(181, "Non4k_Aligned_Access", raw=12, text="0 4 8")
    m4 = drive("Crucial/Micron RealSSD m4/C400/P400")
    assert counted(m4, named).program_failures is None


@pytest.mark.parametrize(
    ("identity", "attribute", "counter"),
    [
        (
            drive("Indilinx Barefoot based SSDs"),
            row(199, "Write_Sectors_Tot_Ct", raw=9_000),
            "interface_errors",
        ),
        (
            drive("Indilinx Barefoot based SSDs"),
            row(197, "Read_Failure_Blk_Ct", raw=3),
            "pending_sectors",
        ),
        (INTEL, row(175, "Power_Loss_Cap_Test", raw=640), "program_failures"),
        (INTEL, row(175, "Power_Loss_Cap_Test", raw=640), "unsafe_shutdowns"),
        (
            drive("StorFly CFast SATA 6Gbps SSDs"),
            row(160, "Uncorrectable_Error_Cnt", raw=98),
            "media_errors",
        ),
        (SAMSUNG, row(195, "ECC_Error_Rate", 200, 12), "media_errors"),
        (MICRON, row(171, "Avail_OP_Block_Count", raw=80), "program_failures"),
        (SAMSUNG, row(1, "Raw_Read_Error_Rate", raw=12), "media_errors"),
    ],
)
def test_p2_an_id_with_another_name_is_not_counted(
    identity: DriveIdentity, attribute: AtaAttribute, counter: str
) -> None:
    assert getattr(counted(identity, attribute), counter) is None


def test_p8_error_log_entries_are_not_media_errors() -> None:
    """Harmless commands add entries, and so does a command that the drive does not support."""
    log = {"ata_smart_error_log": {"summary": {"count": 4_711, "logged_count": 5}}}
    assert DriveHealth() == ata_counts(Fields(log), SAMSUNG, [])


def test_head_retracts_are_not_unsafe_shutdowns() -> None:
    retract = row(192, "Power-Off_Retract_Count", raw=87)
    assert counted(DISK, retract).unsafe_shutdowns is None
    assert counted(drive("Silicon Motion based SSDs"), retract).unsafe_shutdowns is None


def test_a_hard_disk_has_no_flash_counters_and_no_spare() -> None:
    counts = counted(
        DISK,
        row(5, "Reallocated_Sector_Ct", raw=8),
        row(181, "Program_Fail_Cnt_Total", raw=3),
        row(182, "Erase_Fail_Count_Total", raw=3),
        row(197, "Current_Pending_Sector", raw=2),
        row(198, "Offline_Uncorrectable", raw=1),
        row(199, "UDMA_CRC_Error_Count", 200, 6),
        row(232, "Available_Reservd_Space", 100),
    )
    expected = DriveHealth(
        media_errors=1, reallocated_sectors=8, pending_sectors=2, interface_errors=6
    )
    assert expected == counts


def test_the_next_attribute_is_used_if_a_count_cannot_be_read() -> None:
    counts = counted(
        MICRON,
        row(187, "Reported_Uncorrect", raw=1 << 40),
        row(198, "Offline_Uncorrectable", raw=5),
    )
    assert 5 == counts.media_errors


# Spare blocks.


@pytest.mark.parametrize(
    ("identity", "attribute", "ratio", "limit"),
    [
        (INTEL, row(232, "Available_Reservd_Space", 99, threshold=10), 0.99, 0.1),
        (INTEL, row(170, "Available_Reservd_Space", 97, threshold=10), 0.97, 0.1),
        (
            drive("Marvell based SanDisk SSDs"),
            row(232, "Perc_Avail_Resrvd_Space", 100, 100, threshold=5),
            1.0,
            0.05,
        ),
        (drive("StorFly CFast SATA 6Gbps SSDs"), row(249, "Spares_Remaining_Perc", 88), 0.88, None),
        (MICRON, row(170, "Reserved_Block_Pct", 96, threshold=10), 0.96, 0.1),
        (
            drive("Crucial/Micron Client SSDs"),
            row(180, "Unused_Reserve_NAND_Blk", 94, 4_000),
            0.94,
            None,
        ),
        (SAMSUNG, row(179, "Used_Rsvd_Blk_Cnt_Tot", 95, 56, threshold=10), 0.95, 0.1),
        (SAMSUNG, row(180, "Unused_Rsvd_Blk_Cnt_Tot", 93, 220, threshold=10), 0.93, 0.1),
    ],
)
def test_spare_is_read_from_the_normalized_value(
    identity: DriveIdentity, attribute: AtaAttribute, ratio: float, limit: float | None
) -> None:
    counts = counted(identity, attribute)
    assert (ratio, limit) == (counts.spare_ratio, counts.spare_threshold_ratio)


def test_p5_a_spare_value_of_zero_is_not_supported() -> None:
    """On Micron drives, 180 has value 0 with thousands of spare blocks in the raw value."""
    unused = row(180, "Unused_Rsvd_Blk_Cnt_Tot", 0, 12_000, prefailure=True)
    assert counted(MICRON, unused).spare_ratio is None
    both = counted(MICRON, unused, row(170, "Reserved_Block_Pct", 100, threshold=10))
    assert 1.0 == both.spare_ratio


def test_a_default_name_of_an_unknown_drive_is_not_spare() -> None:
    attribute = row(232, "Available_Reservd_Space", 100)
    assert counted(drive(None, "EXAMPLE SATA 480"), attribute).spare_ratio is None


@given(drives, tables)
def test_any_table_yields_counts_in_range(
    identity: DriveIdentity, table: tuple[AtaAttribute, ...]
) -> None:
    counts = ata_counts(NOTHING, identity, table)
    for field in _FIELDS:
        found = getattr(counts, field)
        most = 1 if field.endswith("_ratio") else (1 << 32) - 2
        assert found is None or 0 <= found <= most


# Counts that are not plausible.


@pytest.mark.parametrize(
    ("number", "name", "raw", "counter"),
    [
        (197, "Current_Pending_Sector", 0x6464_6464, "pending_sectors"),
        (181, "Program_Fail_Cnt_Total", 53_389_293, "program_failures"),
        (182, "Erase_Fail_Count_Total", 100_001, "erase_failures"),
        (5, "Reallocated_Sector_Ct", 10_000_001, "reallocated_sectors"),
    ],
)
def test_a_count_that_no_drive_can_reach_is_rejected(
    number: int, name: str, raw: int, counter: str
) -> None:
    fields = Fields({})
    counts = ata_counts(fields, SAMSUNG, [row(number, name, 100, raw)])
    assert getattr(counts, counter) is None
    (rejected,) = fields.rejected
    assert raw == rejected.value
    assert rejected.metric.startswith(counter)


def test_counts_of_100_are_percentages_if_all_failures_are_100() -> None:
    """Toshiba's KSG60 and THNSNK report 100 (%) in attributes 5, 180, 181 and 182."""
    table = [
        row(5, "Reallocated_Sector_Ct", 100, 100),
        row(181, "Program_Fail_Cnt_Total", 100, 100),
        row(182, "Erase_Fail_Count_Total", 100, 100),
    ]
    assert DriveHealth() == ata_counts(NOTHING, SAMSUNG, table)
    counts = ata_counts(NOTHING, SAMSUNG, table[:1])
    assert 100 == counts.reallocated_sectors
