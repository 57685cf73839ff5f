"""Bytes read and written: the unit, its source, and its check against the kernel."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives import smart_report
from exporter.drives.controllers import CONTROLLERS
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    DriveIdentity,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.makes import MAKES
from exporter.drives.written_bytes import ata_written, unit_matches_kernel
from exporter.drives.written_table import (
    GIB,
    GIB_OR_SECTOR,
    LOGICAL_BLOCK,
    MIB_32,
    SECTOR,
    UNKNOWN,
    WRITTEN_RULES,
    WrittenRule,
)
from tests.drives.ata_reports import NOTHING, drive, drives, row, statistics, tables
from tests.drives.controller_examples import controller_drive

#: Seconds.
HOUR = 3600.0

SAMSUNG = drive("Samsung based SSDs")
MICRON = drive("Micron 5100 / 52x0 / 5300 / 5400 SSDs")

#: A drive for each make that has rules.
DRIVES = {
    "intel_dell": drive("Dell Certified Intel S3520 Series SSDs"),
    "intel": drive("Intel 730 and DC S35x0/3610/3700 Series SSDs"),
    "intel_540": drive("Intel 540 Series SSDs"),
    "samsung": SAMSUNG,
    "micron_dell": drive(None, "MTFDDAV240TDU", "D3DJ004"),
    "micron_5000": MICRON,
    "micron_client": drive("Crucial/Micron Client SSDs"),
    "wd": drive("WD Blue / Red / Green SSDs"),
    "sandisk_hp": drive("Marvell based SanDisk SSDs", "SanDisk SD8SB8U-256G-1006"),
    "sandisk_lenovo_233": drive("Marvell based SanDisk SSDs", "SanDisk SD8SB8U256G1001"),
    "sandisk_oem": drive("Marvell based SanDisk SSDs", "SanDisk SD9SB8W256G1012"),
    "sandisk": drive("Marvell based SanDisk SSDs", "SanDisk SDSSDXPS480G"),
    "sandisk_sdssdp": drive("SanDisk based SSDs", "SanDisk SDSSDP064G"),
    "sandisk_small": drive("SanDisk based SSDs", "SanDisk SSD U110 16GB"),
    "phison_kioxia": drive("Phison Driven SSDs", "KIOXIA-EXCERIA SATA SSD"),
    "phison": drive("Phison Driven OEM SSDs"),
    "smi_usb": drive("Silicon Motion based USB SSDs"),
    "smi": drive("Silicon Motion based OEM SSDs"),
    "swissbit_x600": drive("Swissbit X-600m Series Industrial mSATA SSD"),
    "swissbit": drive("Swissbit X-8x Family SATA SSD"),
    "atp": drive("ATP SATA III Superior Line SSDs"),
    "toshiba": drive("Toshiba HK4R Series SSD"),
    "hynix": drive("SK hynix SATA SSDs", "SHGS31-500GS-2"),
    "hynix_used": drive("SK hynix SATA SSDs", "HFS256G39MND-3510A"),
    "hynix_left": drive("SK hynix SATA SSDs", "HFS256G32TNF-N3A0A"),
    "hynix_sc": drive("SK hynix SATA SSDs", "SK hynix SC311 SATA 512GB"),
    "hynix_feh": drive("SK hynix SATA SSDs", "HFS480G32FEH-7410A"),
    "kingston_uv": drive("Kingston SSDNow UV400/500"),
    "seagate": drive("Seagate IronWolf (Pro) 125 SSDs"),
    "sandforce": drive("SandForce Driven SSDs"),
    "plextor": drive("Plextor M3/M5/M6/M7/S2G Series SSDs"),
    "indilinx": drive("Indilinx Barefoot based SSDs"),
    "apple": drive("Apple SD/SM/TS...E/F/G SSDs"),
    "innodisk": drive("Innodisk 3IE2/3ME2/3MG2/3SE2/3TG6 SSDs"),
    "barefoot_3": drive("Indilinx Barefoot 3 based SSDs"),
}


def counted(written: DriveHealth, counter: str) -> WrittenBytes | None:
    found = getattr(written, counter)
    assert found is None or isinstance(found, WrittenBytes)
    return found


@pytest.mark.parametrize(
    "rule", WRITTEN_RULES, ids=lambda r: f"{r.make}-{r.counter}-{r.attributes}"
)
def test_each_rule_reads_its_make(rule: WrittenRule) -> None:
    """The rows are named as LBAs, so that a read by name would yield another number."""
    table = [row(number, "Total_LBAs_Written", 100, 1_000) for number in rule.attributes]
    identity = DRIVES.get(rule.make)
    if identity is None:
        identity, others = controller_drive(rule.make)
        table += [other for other in others if other.id not in rule.attributes]
    found = counted(ata_written(NOTHING, identity, table), rule.counter)
    if rule.unit == UNKNOWN:
        assert found is None
        return
    unit = {LOGICAL_BLOCK: 512, GIB_OR_SECTOR: GIB}.get(rule.unit, rule.unit)
    total = 1_000 * len(rule.attributes) * unit
    assert WrittenBytes(total, unit, UnitSource.FAMILY_RULE) == found


def test_the_table_is_consistent() -> None:
    makes = {make.name for make in (*MAKES, *CONTROLLERS)}
    assert set() == {rule.make for rule in WRITTEN_RULES} - makes
    assert {"host_read", "host_written", "nand_written"} == {r.counter for r in WRITTEN_RULES}
    assert [] == [rule for rule in WRITTEN_RULES if len(rule.source) < 6]


def test_device_statistics_are_used_first() -> None:
    table = [row(241, "Total_LBAs_Written", 100, 5)]
    four_k = drive("Samsung based SSDs", block=4096)
    written = ata_written(statistics((1, 0x18, 1_000), (1, 0x28, 2_000)), four_k, table)
    assert WrittenBytes(4_096_000, 4096, UnitSource.STANDARD) == written.host_written
    assert WrittenBytes(8_192_000, 4096, UnitSource.STANDARD) == written.host_read


def test_the_attribute_is_used_if_statistics_are_not_valid() -> None:
    table = [row(241, "Total_LBAs_Written", 100, 5)]
    written = ata_written(statistics((1, 0x18, 1_000), valid=False), SAMSUNG, table)
    assert WrittenBytes(5 * 512, 512, UnitSource.FAMILY_RULE) == written.host_written


def test_intel_drives_of_dell_count_32_mib_despite_their_lba_name() -> None:
    written = ata_written(
        NOTHING, DRIVES["intel_dell"], [row(241, "Total_LBAs_Written", 100, 1_000)]
    )
    assert WrittenBytes(1_000 * MIB_32, MIB_32, UnitSource.FAMILY_RULE) == written.host_written


def test_slc_and_tlc_writes_of_wd_are_added() -> None:
    table = [row(233, "NAND_GB_Written_TLC", 100, 70), row(234, "NAND_GB_Written_SLC", 100, 30)]
    written = ata_written(NOTHING, DRIVES["wd"], table)
    assert WrittenBytes(100 * GIB, GIB, UnitSource.FAMILY_RULE) == written.nand_written


# Micron's pages.


def micron_rows(sectors: int, host_pages: int, own_pages: int) -> list[AtaAttribute]:
    return [
        row(246, "Total_LBAs_Written", 100, sectors),
        row(247, "Host_Program_Page_Count", 100, host_pages),
        row(248, "Bckgnd_Program_Page_Cnt", 100, own_pages),
    ]


@pytest.mark.parametrize("make", ["micron_5000", "micron_client"])
def test_host_and_internal_pages_of_micron_are_added(make: str) -> None:
    written = ata_written(NOTHING, DRIVES[make], micron_rows(32_000, 1_000, 2_170))
    assert WrittenBytes(3_170 << 14, 1 << 14, UnitSource.FAMILY_RULE) == written.nand_written
    assert WrittenBytes(32_000 * SECTOR, SECTOR, UnitSource.FAMILY_RULE) == written.host_written


def test_pages_of_another_size_are_not_used() -> None:
    assert ata_written(NOTHING, MICRON, micron_rows(60_000, 1_000, 10)).nand_written is None


def test_pages_without_sectors_to_check_them_are_not_used() -> None:
    assert ata_written(NOTHING, MICRON, micron_rows(32_000, 1_000, 10)[1:]).nand_written is None
    assert ata_written(NOTHING, SAMSUNG, micron_rows(32_000, 1_000, 10)).nand_written is None


# Device statistics that restart at 2^32 sectors, and other contradictions.

RESTART = 1 << 32


def test_a_count_of_sectors_that_restarted_is_replaced_by_the_attribute() -> None:
    """The drive has written 5 TB, but its count of sectors restarted at 2.2 TB and at 4.4 TB."""
    smi, table = controller_drive("smi_167")
    sectors = 5 * 10**12 // 512
    table = (*table, row(241, "Total_LBAs_Written", 100, 5 * 10**12 // MIB_32))
    fields = statistics((1, 0x18, sectors % RESTART))
    written = ata_written(fields, smi, table)
    assert written.host_written is not None
    assert UnitSource.FAMILY_RULE is written.host_written.source
    assert pytest.approx(5e12, rel=1e-4) == written.host_written.bytes
    assert ["host_written_bytes_total"] == [rejected.metric for rejected in fields.rejected]


def test_a_count_of_sectors_beyond_the_restart_is_used() -> None:
    """The attribute of Intel's 530 lags behind the sectors."""
    intel, table = controller_drive("intel_530")
    table = (*table, row(241, "Total_LBAs_Written", 100, 140_000))
    written = ata_written(statistics((1, 0x18, 9_843_750_000)), intel, table)
    assert WrittenBytes(9_843_750_000 * 512, 512, UnitSource.STANDARD) == written.host_written


def test_a_count_in_units_of_the_attribute_is_no_count_of_sectors() -> None:
    """SanDisk's SDSSDA Z22000RL reports the raw value of the attribute, which counts GiB."""
    sandisk, table = controller_drive("sandisk_173")
    table = (*table, row(241, "Total_LBAs_Written", 100, 15_824))
    written = ata_written(statistics((1, 0x18, 15_824)), sandisk, table)
    assert WrittenBytes(15_824 * GIB, GIB, UnitSource.FAMILY_RULE) == written.host_written


def test_a_random_count_of_sectors_and_the_attribute_are_not_published() -> None:
    """SanDisk's Ultra II has reported 20 PB of sectors and 31 TB in the attribute."""
    sandisk = DRIVES["wd"]
    table = [row(241, "Total_LBAs_Written", 100, 28_711)]
    fields = statistics((1, 0x18, 39_590_840_820_000))
    assert ata_written(fields, sandisk, table).host_written is None
    assert 2 == len(fields.rejected)


@pytest.mark.parametrize(
    ("make", "unit"),
    [("smi", "32 MiB"), ("phison", "GiB"), ("hynix", "10^9 bytes"), ("samsung", "512 bytes")],
)
def test_the_rule_of_a_count_names_the_attribute_and_the_unit(make: str, unit: str) -> None:
    written = ata_written(NOTHING, DRIVES[make], [row(241, "x", 100, 1_000)])
    assert written.host_written is not None
    assert f"{make}: attribute 241, in units of {unit}" == written.host_written.rule


def test_two_counters_that_agree_confirm_each_other() -> None:
    table = [row(241, "Total_LBAs_Written", 100, 1_001_000)]
    written = ata_written(statistics((1, 0x18, 1_000_000)), SAMSUNG, table)
    assert written.host_written is not None
    assert written.host_written.is_confirmed


@given(st.integers(1, 10**14), st.integers(0, 10**14), st.sampled_from(["smi_167", "phison"]))
def test_any_pair_of_counts_yields_one_of_them(sectors: int, raw: int, make: str) -> None:
    identity, table = controller_drive(make)
    written = ata_written(
        statistics((1, 0x18, sectors)), identity, (*table, row(241, "x", 100, raw))
    )
    units = {"smi_167": MIB_32, "phison": GIB}
    assert written.host_written is None or written.host_written.bytes in {
        sectors * 512,
        raw * units[make],
    }


def test_a_make_that_counts_sectors_or_gib_is_read_by_its_size() -> None:
    maxio, table = controller_drive("maxio_207")
    for raw, unit in ((5_334, GIB), (1_177_832_520, SECTOR)):
        rows = (*table, row(241, "Total_LBAs_Written", 100, raw))
        assert WrittenBytes(raw * unit, unit, UnitSource.FAMILY_RULE) == (
            ata_written(NOTHING, maxio, rows).host_written
        )


def test_more_than_the_flash_can_endure_is_rejected() -> None:
    identity = replace(SAMSUNG, capacity_bytes=10**9)
    fields = statistics((1, 0x18, 10**12))
    assert ata_written(fields, identity, []).host_written is None
    assert "capacity" in fields.rejected[0].reason


# Names.


@pytest.mark.parametrize(
    "name",
    [
        "Total_LBAs_Written",
        "Host_Writes_32MiB",
        "Lifetime_Writes_GiB",
        "NAND_Writes_1GiB",
        "Unknown_Attribute",
    ],
)
@pytest.mark.parametrize("number", [200, 241, 242])
def test_a_name_alone_yields_no_bytes(name: str, number: int) -> None:
    """smartctl gives attribute 241 of an unknown drive the name Total_LBAs_Written."""
    identity = drive("Example Flash Works SSDs")
    assert DriveHealth() == ata_written(NOTHING, identity, [row(number, name, raw=7)])


def test_a_hard_disk_counts_logical_sectors() -> None:
    disk = drive("Seagate Exos X18", "ST18000NM000J", rotational=True)
    written = ata_written(NOTHING, disk, [row(241, "Total_LBAs_Written", 100, 2_000)])
    assert WrittenBytes(2_000 * 512, 512, UnitSource.NAME) == written.host_written


# Absent is not zero.


@pytest.mark.parametrize("raw", [0, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF, 1 << 63])
def test_an_invalid_count_is_none(raw: int) -> None:
    assert DriveHealth() == ata_written(NOTHING, SAMSUNG, [row(241, "Total_LBAs_Written", raw=raw)])


def test_the_attribute_is_used_if_the_statistic_is_0() -> None:
    table = [row(241, "Total_LBAs_Written", 100, 5)]
    written = ata_written(statistics((1, 0x18, 0)), SAMSUNG, table)
    assert WrittenBytes(5 * 512, 512, UnitSource.FAMILY_RULE) == written.host_written


@given(drives, tables)
def test_any_table_yields_positive_bytes_or_none(
    identity: DriveIdentity, table: tuple[AtaAttribute, ...]
) -> None:
    written = ata_written(NOTHING, identity, table)
    for found in (written.host_read, written.host_written, written.nand_written):
        assert found is None or (0 < found.bytes <= 1 << 62 and found.unit_bytes >= 1)


def test_more_bytes_than_the_link_can_carry_are_rejected() -> None:
    """31 PB in 10,645 hours would be 813 MB/s over a link of 600 MB/s."""
    rows = [
        {"id": 9, "name": "Power_On_Hours", "value": 88, "worst": 88, "thresh": 0,
         "raw": {"value": 10_645, "string": "10645"}},
        {"id": 242, "name": "Total_LBAs_Read", "value": 100, "worst": 100, "thresh": 0,
         "raw": {"value": 60_841_830_311_016, "string": "60841830311016"}},
        {"id": 241, "name": "Total_LBAs_Written", "value": 100, "worst": 100, "thresh": 0,
         "raw": {"value": 60_841_830, "string": "60841830"}},
    ]  # fmt: skip
    speed = {"units_per_second": 60, "bits_per_unit": 100_000_000, "string": "6.0 Gb/s"}
    found = smart_report.parse_report(
        {
            "device": {"protocol": "ATA"},
            "model_name": "Samsung SSD 870 EVO 500GB",
            "logical_block_size": 512,
            "power_on_time": {"hours": 10_645},
            "interface_speed": {"max": speed, "current": speed},
            "ata_smart_attributes": {"table": rows},
        }
    ).health
    assert found.host_read is None
    assert found.host_written is not None


# The check of the unit against the count of the kernel.


@pytest.mark.parametrize(
    ("smart", "unit", "kernel", "expected"),
    [
        (100 * GIB, GIB, 100 * GIB, True),
        (99 * GIB, GIB, 100 * GIB, True),
        (50 * GIB, GIB, 100 * GIB, True),
        (200 * GIB, GIB, 100 * GIB, True),
        (49 * GIB, GIB, 100 * GIB, False),
        (201 * GIB, GIB, 100 * GIB, False),
    ],
)
def test_counts_within_a_factor_of_two_match(
    smart: int, unit: int, kernel: int, expected: bool
) -> None:
    assert expected is unit_matches_kernel(smart, unit, kernel, HOUR)


@pytest.mark.parametrize(
    ("true_unit", "believed_unit"), [(MIB_32, GIB), (GIB, MIB_32), (512, GIB), (GIB, 512)]
)
def test_a_wrong_unit_is_detected(true_unit: int, believed_unit: int) -> None:
    """Either count may be the larger one."""
    kernel = 100 * GIB
    counted = kernel // true_unit
    assert unit_matches_kernel(counted * believed_unit, believed_unit, kernel, HOUR) is False
    assert unit_matches_kernel(counted * true_unit, true_unit, kernel, HOUR) is True


@pytest.mark.parametrize(
    ("smart", "kernel", "seconds"),
    [
        (100 * GIB, 100 * GIB, HOUR - 1),  # some drives update their counters once an hour
        (19 * GIB, 19 * GIB, HOUR),  # the rounding error is too large
        (0, 0, HOUR),
        (100 * GIB, 0, HOUR),  # others wrote
        (-GIB, 100 * GIB, HOUR),  # the counter went backward
        (100 * GIB, -GIB, HOUR),
    ],
)
def test_too_little_growth_is_undecided(smart: int, kernel: int, seconds: float) -> None:
    assert unit_matches_kernel(smart, GIB, kernel, seconds) is None


@given(st.integers(), st.integers(), st.integers(), st.floats(allow_nan=False))
def test_any_numbers_yield_a_result(smart: int, unit: int, kernel: int, seconds: float) -> None:
    assert unit_matches_kernel(smart, unit, kernel, seconds) in (True, False, None)


@given(st.integers(21, 10**6), st.sampled_from([512, 512_000, MIB_32, GIB]), st.floats(0, 0.99))
def test_the_right_unit_is_never_rejected(units: int, unit: int, begun: float) -> None:
    """The counter may start anywhere within a step."""
    kernel = units * unit
    counted = int(begun + units)
    assert unit_matches_kernel(counted * unit, unit, kernel, HOUR) is True
