"""The wear of ATA drives: the standard's figure, the rule of each make, and known misreadings."""

from collections.abc import Iterator
from inspect import isfunction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives import wear_formulas
from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.controllers import CONTROLLERS
from exporter.drives.fields import Fields, Json
from exporter.drives.health import AtaAttribute, DriveIdentity, Endurance, EnduranceSource
from exporter.drives.makes import MAKES, identify_makes
from exporter.drives.wear_table import WEAR_RULES
from tests.drives.ata_reports import (
    NOTHING,
    drive,
    drives,
    family_endurance,
    row,
    statistics,
    tables,
)
from tests.drives.controller_examples import EXAMPLES

SAMSUNG = drive("Samsung based SSDs", "Samsung SSD 860 EVO 500GB")
INTEL = drive("Intel S3520 Series SSDs", "INTEL SSDSC2BB480G7")
PHISON = drive("Phison Driven SSDs", "KINGSTON SKC400S37256G")
MICRON = drive("Micron 5100 / 52x0 / 5300 / 5400 SSDs", "Micron_5300_MTFDDAK480TDS")
MX500 = drive("Crucial/Micron Client SSDs", "CT500MX500SSD1")
WD = drive("WD Blue / Red / Green SSDs", "WDC WDS100T2B0A-00SM50")
HYNIX = "SK hynix SATA SSDs"
MARVELL_SANDISK = "Marvell based SanDisk SSDs"


def first_make(identity: DriveIdentity) -> str | None:
    return next(iter(identify_makes(identity)), None)


def family_rule(percent: float, step: float = 1.0) -> Endurance:
    ratio: Any = pytest.approx(percent / 100)
    step_ratio: Any = pytest.approx(step / 100)
    return Endurance(ratio, EnduranceSource.FAMILY_RULE, step_ratio)


def ruled(table: str) -> Iterator[tuple[str, DriveIdentity, AtaAttribute, float]]:
    """Yields make, identity, attribute and percent used for each attribute of a table of drives."""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            make, family, *model_and_firmware = line.split(": ")
            identity = drive(None if family == "-" else family, *model_and_firmware)
        else:
            attribute, percent = line.split(" = ")
            number, name, value, raw, *text = attribute.split()
            attribute_row = row(int(number), name, int(value), int(raw, 0), " ".join(text) or None)
            yield make, identity, attribute_row, float(percent.rstrip("%"))


#: A drive for every row of the table: make, family, model and firmware, then its attributes: id,
#: name, value, raw value, the raw value as text if it is no plain number, and percent used.
RULED = tuple(
    ruled("""
intel_dell: Dell Certified Intel S3520 Series SSDs: SSDSCKJB240G7R
  245 Percent_Life_Remaining 93 93 = 7%
intel_lenovo: Lenovo OEM Intel D3-S4510 Series SSDs: SSDSC2KB480G8L
  233 Media_Wearout_Indicator 88 0 = 12%
intel_540: Intel 540 Series SSDs: INTEL SSDSC2KW240H6
  233 Media_Wearout_Indicator 95 0 = 5%
intel_540: Intel SSD Pro 5400s Series: INTEL SSDSC2KF240H6
  226 Workld_Media_Wear_Indic 100 3584 = 3.5%
intel: Intel S3520 Series SSDs: INTEL SSDSC2BB480G7
  233 Media_Wearout_Indicator 61 0 = 39%
samsung: Samsung based SSDs: Samsung SSD 860 EVO 500GB
  177 Wear_Leveling_Count 83 251 = 17%
samsung: Samsung based SSDs: SAMSUNG MZNLF128HCHP-00004
  173 Wear_Leveling_Count 90 120 = 10%
micron_dell: -: MTFDDAV480TDS: D3DJ010
  245 Unknown_Attribute 100 96 = 4%
micron_m500dc: Micron M500DC/M510DC Enterprise SSDs: Micron_M500DC_MTFDDAK480MBB
  202 Percent_Lifetime_Remain 70 30 = 30%
micron_5000: Micron 5100 / 52x0 / 5300 / 5400 SSDs: Micron_5300_MTFDDAK480TDS
  202 Percent_Lifetime_Remain 96 4 = 4%
micron_client: Crucial/Micron Client SSDs: CT500MX500SSD1
  202 Percent_Lifetime_Remain 79 21 = 21%
micron_m4: Crucial/Micron RealSSD m4/C400/P400: M4-CT256M4SSD2
  202 Perc_Rated_Life_Used 91 9 = 9%
wd: WD Blue / Red / Green SSDs: WDC WDS100T2B0A-00SM50
  230 Media_Wearout_Indicator 7 0x800030742 0x000800030742 = 7.66%
sandisk_hp: Marvell based SanDisk SSDs: SanDisk SD8SN8U-256G-1006
  201 Lifetime_Remaining% 94 6 = 6%
sandisk_lenovo_233: Marvell based SanDisk SSDs: SanDisk SD8SN8U-256G1001
  233 Total_NAND_Writes_GiB 92 4000 = 8%
sandisk_oem: Marvell based SanDisk SSDs: SanDisk SD9SN8W-256G1012
  230 Perc_Write/Erase_Count 89 77 = 11%
sandisk: Marvell based SanDisk SSDs: SanDisk SDSSDHII480G
  230 Perc_Write/Erase_Count 100 1331 0 0 1331 = 5%
sandisk_sdssdp: SanDisk based SSDs: SanDisk SDSSDP128G
  230 Perc_Write/Erase_Count 100 1234 = 12.34%
cloudspeed: Sandisk SATA Cloudspeed Max and GEN2 ESS SSDs: SDLF1CRR-019T-1HA1
  245 Drive_Life_Remaining% 97 97 = 3%
phison_kioxia: Phison Driven SSDs: KIOXIA-EXCERIA SATA SSD
  231 SSD_Life_Left 98 98 = 2%
phison: Phison Driven SSDs: KINGSTON SKC400S37256G
  231 SSD_Life_Left 100 71 = 29%
smi_usb: Silicon Motion based USB SSDs: EXAMPLE USB
  169 Remaining_Lifetime_Perc 100 99 = 1%
  231 SSD_Life_Left 98 98 = 2%
smi: Silicon Motion based SSDs: TS64GMTS400
  169 Remaining_Lifetime_Perc 100 88 = 12%
smi: Silicon Motion based SSDs: KINGSTON SKC600512G
  231 SSD_Life_Left 86 86 = 14%
swissbit_x600: Swissbit X-600m Series Industrial mSATA SSD: SFSA032GU1AA4TO-I-DB-216-STD
  248 Perc_Rated_Life_Remain 95 95 = 5%
swissbit: Swissbit X-7x Family SATA SSD: SFSA120GQ1AK1TA
  248 SSD_Remaining_Life_Perc 100 91 = 9%
  231 Life_Remaining_Percent 90 90 = 10%
atp_value: ATP SATA III Value Line SSDs: ATP SATA III 2.5 inch
  231 Percent_Lifetime_Remain 99 99 = 1%
atp: ATP SATA III Superior Line SSDs: ATP SATA III 2.5 inch SSD
  202 Percent_Lifetime_Used 100 18 = 18%
atp: ATP SATA III aMLC M.2 2242/80 Embedded SSDs: ATP I-Temp M.2 2242
  248 PCT_Life_Remaining 82 82 = 18%
apacer: Apacer AS340/350 SSDs: Apacer AS340 240GB
  231 Lifetime_Left 100 65 = 35%
innodisk: Innodisk 3IE2/3ME2/3MG2/3SE2/3TG6 SSDs: 2.5 SATA SSD 3ME2
  169 Remaining_Lifetime_Perc 80 80 = 20%
innodisk: Innodisk 3IE2/3ME2/3MG2/3SE2/3TG6 SSDs: 2.5 SATA SSD 3TG6-P
  248 Remaining_Life 100 77 = 23%
storfly: StorFly CFast SATA 6Gbps SSDs: StorFly VSFCS2CC060G-100
  248 Lifetime_Remaining% 75 75 = 25%
  169 Lifetime_Remaining% 74 74 = 26%
xmore: Xmore Industrial SATA SSDs: SSD256GXACMTS-256T
  231 Percent_Lifetime_Remain 100 64 = 36%
smart_modular: SMART Modular Technologies mSATA XL+ SLC SSDs: SH9MST6D064GJSI
  202 Perc_Rated_Life_Used 100 6 = 6%
  231 Perc_Rated_Life_Remain 93 93 = 7%
apple: Apple SD/SM/TS...E/F/G SSDs: APPLE SSD SM0256F
  173 Wear_Leveling_Count 176 0x2ff021d01b4 = 24%
toshiba: Toshiba HG6 Series SSD: TOSHIBA THNSNJ256GCST
  173 Erase_Count 181 0 = 19%
hynix_used: SK hynix SATA SSDs: HFS500G32TND-N1A2A
  231 SSD_Life_Left 99 13 = 13%
hynix_left: SK hynix SATA SSDs: HFS256G32TNF-N3A0A
  231 SSD_Life_Left 100 85 = 15%
hynix_sc: SK hynix SATA SSDs: SK hynix SC401 SATA 512GB
  231 SSD_Life_Left 1 94 = 6%
hynix_feh: SK hynix SATA SSDs: HFS960G32FEH-7A10A
  231 SSD_Life_Left 91 0 = 9%
hynix_feh: SK hynix SATA SSDs: HFS960G3EFEH-7A10A
  245 SSD_Life_Left 96 0 = 4%
hynix: SK hynix SATA SSDs: SHGS31-500GS-2
  231 SSD_Life_Left 84 0 = 16%
kingston_uv: Kingston SSDNow UV400/500: KINGSTON SUV500240G
  231 SSD_Life_Left 68 68 = 32%
seagate: Seagate IronWolf 110 SATA SSD: ZA960NM10001
  231 SSD_Life_Left 92 0x102030405005c 0x0102030405005c = 8%
sandforce: SandForce Driven SSDs: ADATA SP900
  231 SSD_Life_Left 90 0 = 12.8%
indilinx: Indilinx Barefoot based SSDs: OCZ-VERTEX
  209 Remaining_Lifetime_Perc 44 44 = 56%
indilinx_everest: Indilinx Barefoot_2/Everest/Martini based SSDs: OCZ-VERTEX4
  233 Media_Wearout_Indicator 59 0 = 41%
barefoot_3: Indilinx Barefoot 3 based SSDs: OCZ-VECTOR150
  233 Remaining_Lifetime_Perc 98 98 = 2%
maxio: Maxio based SSDs (variant 2): EXAMPLE 240GB
  231 SSD_Life_Left 97 97 = 3%
ssstc: SSSTC ERX GD/CD Series SSDs: SSSTC ER2-GD480A
  231 Percent_Lifetime_Remain 96 0 = 4%
  202 Percent_Lifetime_Remain 95 0 = 5%
  233 Percent_Lifetime_Remain 94 0 = 6%
""")
)


@pytest.mark.parametrize(
    ("make", "identity", "attribute", "percent"),
    RULED,
    ids=[f"{make}-{attribute.id}" for make, _, attribute, _ in RULED],
)
def test_each_rule_reads_its_make(
    make: str, identity: DriveIdentity, attribute: AtaAttribute, percent: float
) -> None:
    assert make == first_make(identity)
    found = family_endurance(identity, [attribute])
    assert found is not None
    assert EnduranceSource.FAMILY_RULE == found.source
    assert pytest.approx(percent / 100) == found.used_ratio


def test_every_rule_of_the_table_is_exercised() -> None:
    """The rules of controllers are tested in test_controllers."""
    exercised = {(make, attribute.id) for make, _, attribute, _ in RULED}
    exercised |= {(example.make, number) for example in EXAMPLES for number in example.attributes}
    used = (rule for rule in WEAR_RULES if rule.formula is not wear_formulas.unknown)
    assert set() == {(rule.make, rule.attribute) for rule in used} - exercised


def test_the_table_is_consistent() -> None:
    """Makes and formulas exist, each row has a source, and no make lacks a rule by mistake."""
    makes = {make.name for make in (*MAKES, *CONTROLLERS)}
    ruled = {rule.make for rule in WEAR_RULES}
    assert {"sandisk_small", "warpdrive"} == makes ^ ruled
    own = {each for each in vars(wear_formulas).values() if isfunction(each)} - {NamedTuple}
    formulas = {each.__name__ for each in own if not each.__name__.startswith("_")}
    assert set() == {rule.formula.__name__ for rule in WEAR_RULES} ^ formulas
    assert [] == [rule for rule in WEAR_RULES if len(rule.source) < 10]
    assert len({make.name for make in MAKES}) == len(MAKES)


@pytest.mark.parametrize(
    ("model", "make"),
    [
        ("INTEL SSDSC2KB480G8", "intel"),
        ("SOLIDIGM SSDSC2KB960GZ", "intel"),
        ("SSDSC2KB480G8R", "intel_dell"),
        ("SAMSUNG MZ7L3960HCJR-00A07", "samsung"),
        ("MZ7LH480HAHQ-00005", "samsung"),
        ("Samsung SSD 870 QVO 4TB", "samsung"),
        ("Micron_5400_MTFDDAK960TGA", "micron_5000"),
        ("MTFDDAK3T8TDT", "micron_5000"),
        ("MTFDDAK512TBN", "micron_client"),
        ("CT1000MX500SSD1", "micron_client"),
        ("WDC WDS500G2B0A-00SM50", "wd"),
        ("KINGSTON SEDC600M960G", "phison"),
        ("KINGSTON SA400S37240G", "phison"),
        ("KINGSTON SKC600256G", "smi"),
        ("HFS512G39TND-N210A", "hynix_used"),
        ("TOSHIBA THNSNK256GVN8", "toshiba"),
        ("ST4000NM000A-2HZ100", None),
        ("WDC WD40EFRX-68N32N0", None),
        ("QEMU HARDDISK", None),
    ],
)
def test_the_model_identifies_a_drive_that_an_old_database_does_not_list(
    model: str, make: str | None
) -> None:
    assert make == first_make(drive(None, model))


def test_old_and_new_names_of_a_family_are_the_same_make() -> None:
    for family in (
        "Micron 5100 Pro / 5200 SSDs",
        "Micron 5100 Pro / 52x0 / 5300 SSDs",
        "Micron 5100 / 52x0 / 5300 / 5400 SSDs",
    ):
        assert "micron_5000" == first_make(drive(family, "Micron_5200_MTFDDAK960TDN"))
    for family in ("WD Blue and Green SSDs", "WD Blue / Red / Green SSDs"):
        assert "wd" == first_make(drive(family))
    for family in (
        "Intel S4510/S4610/S4500/S4600 Series SSDs",
        "Intel/Solidigm S46x0/S45x0 Series SSDs",
    ):
        assert "intel" == first_make(drive(family))


# The figure of the standard.


def test_the_percentage_used_indicator_is_used_first() -> None:
    worn = [row(177, "Wear_Leveling_Count", 83)]
    assert Endurance(0.19, EnduranceSource.ATA_DEVSTAT) == ata_endurance(
        statistics((7, 8, 19)), SAMSUNG, worn
    )


def test_a_statistic_marked_invalid_is_not_used() -> None:
    worn = [row(177, "Wear_Leveling_Count", 83)]
    assert family_rule(17) == ata_endurance(statistics((7, 8, 0), valid=False), SAMSUNG, worn)


def test_used_endurance_can_exceed_100_percent() -> None:
    worn_out = [row(177, "Wear_Leveling_Count", 1, 4_000)]
    found = ata_endurance(statistics((7, 8, 255)), SAMSUNG, worn_out)
    assert Endurance(2.55, EnduranceSource.ATA_DEVSTAT) == found


def test_a_percentage_above_one_byte_is_a_fault() -> None:
    fields = statistics((7, 8, 256))
    assert ata_endurance(fields, SAMSUNG, []) is None
    assert 1 == len(fields.faults)


def test_a_hard_disk_has_no_wear() -> None:
    turning = drive("Samsung based SSDs", rotational=True)
    worn = [row(177, "Wear_Leveling_Count", 83)]
    assert ata_endurance(statistics((7, 8, 19)), turning, worn) is None
    assert family_endurance(turning, worn) is None


# Intel's finer attribute, 226.


@pytest.mark.parametrize(
    ("value", "raw", "percent", "step"),
    [
        (43, 58_880, 57.5, 1 / 1024),  # the two agree: 57 and 57.5
        (22, 80_640, 78.75, 1 / 1024),  # above 65535
        (85, 65_535, 15, 1),  # not valid
        (80, 2_048, 20, 1),  # the workload timer started later
        (80, 18_000, 20, 1),  # slightly later: 17.6
        (100, 102_400, 0, 1),  # 100 % on a new drive, as with Dell's firmware
        (99, 0, 1, 1),  # no count
        (1, 112_640, 110, 1 / 1024),  # 233 stops at 1
        (1, 40_000, 99, 1),
    ],
)
def test_intel_wear_is_finer_if_both_attributes_agree(
    value: int, raw: int, percent: float, step: float
) -> None:
    found = family_endurance(
        INTEL,
        [
            row(226, "Workld_Media_Wear_Indic", 100, raw),
            row(233, "Media_Wearout_Indicator", value),
        ],
    )
    assert found is not None
    assert pytest.approx(percent / 100, abs=1e-5) == found.used_ratio
    assert pytest.approx(step / 100) == found.step_ratio


def test_an_invalid_workload_value_yields_no_wear() -> None:
    intel_540 = drive("Intel 540 Series SSDs")
    assert family_endurance(intel_540, [row(226, "Workld_Media_Wear_Indic", 100, 65_535)]) is None


# Known misreadings of wear on SATA, by number (p1 to p7).


def test_p1_endurance_used_of_smartctl_is_not_used() -> None:
    """smartctl 7.5 reports 0 % for a normalized value that is stuck at 100."""
    report: Json = {
        "endurance_used": {"current_percent": 0},
        "spare_available": {"current_percent": 100},
    }
    found = ata_endurance(Fields(report), PHISON, [row(231, "SSD_Life_Left", 100, 70)])
    assert family_rule(30) == found
    assert ata_endurance(Fields(report), drive("Apple SD/SM/TS...E/F/G SSDs"), []) is None


@pytest.mark.parametrize(
    ("identity", "attribute"),
    [
        (WD, row(233, "NAND_GB_Written_TLC", 100, 5_000)),
        (INTEL, row(231, "Temperature_Celsius", 40, 40)),
        (PHISON, row(233, "Flash_Writes_GiB", 100, 9_000)),
        (SAMSUNG, row(245, "Timed_Workld_Media_Wear", 100, 65_535)),
        (SAMSUNG, row(233, "Media_Wearout_Indicator", 50, 0)),
        (
            drive("Dell Certified Intel S3520 Series SSDs", "SSDSCKJB240G7R"),
            row(233, "Total_LBAs_Written", 100, 120_000),
        ),
        (
            drive("Lenovo OEM Intel D3-S4510 Series SSDs"),
            row(231, "SATA_Phy_Error_Count", 100, 3),
        ),
        (drive("Silicon Motion based SSDs"), row(177, "Wear_Leveling_Count", 100, 350)),
    ],
)
def test_p2_the_meaning_of_an_id_depends_on_the_make(
    identity: DriveIdentity, attribute: AtaAttribute
) -> None:
    assert family_endurance(identity, [attribute]) is None


def test_p3_a_value_that_counts_up_is_not_remaining_life() -> None:
    """A new WD drive has value 1. The raw value of Micron's *Remain attribute is used life."""
    new = row(230, "Media_Wearout_Indicator", 1, 0x0001_0001_0015)
    assert family_rule(0.21, step=0.01) == family_endurance(WD, [new])
    assert family_rule(19) == family_endurance(MX500, [row(202, "Percent_Lifetime_Remain", 81, 19)])
    assert family_rule(80) == family_endurance(PHISON, [row(231, "SSD_Life_Left", 20, 80)])


def test_p4_packed_raw_values_are_unpacked() -> None:
    packed = 0x1907_0001_1907
    assert family_rule(25.07, step=0.01) == family_endurance(
        WD, [row(230, "Media_Wearout_Indicator", 25, packed, "0x190700011907")]
    )
    bad_hundredths = row(230, "Media_Wearout_Indicator", 25, 0x19FF)
    assert family_endurance(WD, [bad_hundredths]) is None
    seagate = drive("Seagate Nytro SATA SSD", "XA960LE10063")
    assert family_rule(3) == family_endurance(
        seagate, [row(231, "SSD_Life_Left", 97, 0x61_0000_0000_61)]
    )


@pytest.mark.parametrize("value", [None, 0, 101, 200, 253, 255])
def test_p5_a_value_that_is_not_supported_yields_no_wear(value: int | None) -> None:
    assert family_endurance(SAMSUNG, [row(177, "Wear_Leveling_Count", value, 300)]) is None
    assert family_endurance(INTEL, [row(233, "Media_Wearout_Indicator", value)]) is None
    assert family_endurance(PHISON, [row(231, "SSD_Life_Left", value, 0)]) is None


def test_p5_toshiba_counts_down_from_200_and_100_is_not_supported() -> None:
    toshiba = drive("Toshiba HG6 Series SSD")
    assert family_rule(0) == family_endurance(toshiba, [row(173, "Erase_Count", 200)])
    assert family_endurance(toshiba, [row(173, "Erase_Count", 100)]) is None


@pytest.mark.parametrize(
    "identity",
    [
        drive("Apple SD/SM/TS...E/F/G SSDs", "APPLE SSD SM0256G"),
        drive("JMicron/Maxiotek based SSDs", "TOSHIBA THNSNC128GMLJ"),
        drive("Seagate Nytro WarpDrive and Nytro XP6000"),
        drive("SanDisk based SSDs", "SanDisk SSD U100 16GB"),
        drive("Hosin Global HG2258 based SSDs"),
        drive(None, "EXAMPLE SATA 480"),
    ],
)
def test_p6_a_make_without_a_wear_attribute_has_no_wear(identity: DriveIdentity) -> None:
    table = [
        row(5, "Reallocated_Sector_Ct"),
        row(173, "Erase_Count", 100, 12),
        row(177, "Wear_Leveling_Count", 100, 4),
        row(230, "Perc_Write/Erase_Count", 100, 900),
        row(231, "Temperature_Celsius", 35, 35),
        row(233, "Media_Wearout_Indicator", 100, 0),
    ]
    assert ata_endurance(NOTHING, identity, table) is None


def test_p7_wear_is_not_calculated_from_written_bytes() -> None:
    """A drive can wear with time: little was written, and 2 % is used."""
    table = [
        row(177, "Wear_Leveling_Count", 98, 99),
        row(241, "Total_LBAs_Written", 99, 600_000_000),
    ]
    assert family_rule(2.08) == family_endurance(SAMSUNG, table)


# Attributes with another meaning than usual for the make.


def test_micron_attributes_whose_values_disagree_are_not_used() -> None:
    """With Dell's firmware 202 has another meaning: value 100 with raw 444."""
    table = [row(202, "Percent_Lifetime_Remain", 100, 44), row(245, "Unknown_Attribute", 100, 98)]
    assert family_endurance(MICRON, table) is None
    dell = drive("Micron 5100 / 52x0 / 5300 / 5400 SSDs", "MTFDDAV240TDU", "D3DJ004")
    assert family_rule(2) == family_endurance(dell, table)


def test_a_micron_drive_can_be_fully_worn() -> None:
    worn_out = row(202, "Percent_Lifetime_Remain", 0, 112)
    assert family_rule(112) == family_endurance(MICRON, [worn_out])


# Names.


@pytest.mark.parametrize(
    ("attribute", "percent"),
    [
        (row(231, "SSD_Life_Left_Perc", 91, 91), 9),
        (row(248, "Percent_Lifetime_Remain", 100, 100), 0),
        (row(173, "Drive_Life_Used%", 100, 23), 23),
    ],
)
def test_an_unknown_make_is_read_by_an_attribute_name_with_life(
    attribute: AtaAttribute, percent: float
) -> None:
    found = family_endurance(drive("Example Flash Works SSDs"), [attribute])
    assert Endurance(percent / 100, EnduranceSource.NAME_GUESS) == found


@pytest.mark.parametrize(
    "attribute",
    [
        row(231, "SSD_Life_Left", 100, 70),  # stuck, or another meaning
        row(248, "Percent_Lifetime_Remain", 100, 0),  # new, or stuck at the end of its life
        row(231, "SSD_Life_Left", 0, 74),
        row(173, "Percent_Life_Used", 100, 101),
        row(178, "SSD_LifeLeft(0.01%)", 97, 9_700),
        row(180, "Unused_Rsvd_Blk_Cnt_Tot", 95, 95),
        row(179, "Used_Rsvd_Blk_Cnt_Tot", 95, 5),
        row(17, "Spare_Blocks_Remaining", 95, 95),
        row(177, "Wear_Leveling_Count", 95, 95),
    ],
)
def test_an_ambiguous_attribute_yields_no_wear(attribute: AtaAttribute) -> None:
    assert family_endurance(drive("Example Flash Works SSDs"), [attribute]) is None


@given(drives, tables, st.integers(-1, 300))
def test_any_table_yields_a_ratio_in_range_or_none(
    identity: DriveIdentity, table: tuple[AtaAttribute, ...], standard: int
) -> None:
    for found in (
        ata_endurance(NOTHING, identity, table),
        ata_endurance(statistics((7, 8, standard)), identity, table),
    ):
        assert found is None or (0 <= found.used_ratio <= 20 and 0 < found.step_ratio <= 0.01)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda children: (
            st.lists(children, max_size=3)
            | st.dictionaries(
                st.sampled_from(("pages", "number", "table", "offset", "value", "flags", "valid")),
                children,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_any_device_statistics_yield_a_value_or_a_fault(log: object) -> None:
    fields = Fields({"ata_device_statistics": log})
    found = ata_endurance(fields, SAMSUNG, [])
    assert found is None or EnduranceSource.ATA_DEVSTAT == found.source
