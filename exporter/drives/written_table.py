"""Lists the ATA attributes that count bytes read and written, with the unit of each of them.

The module contains only data. `written_bytes` applies the rules. A make is a group of models whose
attributes have the same meaning; see `makes`. The sources are named as in `wear_table`.

To extend the table, add a row for a make of `makes.MAKES`. The rows of one make and counter are
tried in order. If a make has no row for a counter, its attributes are not read: the name of an
attribute does not show its unit. `make drives` prints how many real drives confirm each row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

#: The fields of `written_bytes.AtaWritten` that the rules fill.
WrittenCounter: TypeAlias = Literal["host_read", "host_written", "nand_written"]

# Units in bytes.
SECTOR = 512
MIB = 1 << 20
MIB_32 = 32 * MIB
GIB = 1 << 30
GB = 10**9
#: Means that the unit is the logical sector size of the drive (ACS).
LOGICAL_BLOCK = -1
#: Means GiB if the count is below `written_bytes.MIN_SECTORS`, otherwise sectors. Firmware versions
#: of these makes differ.
GIB_OR_SECTOR = -2
#: Means that the unit is unknown, because the sources contradict each other, or because the count
#: is split over several attributes. The count is then not read.
UNKNOWN = 0


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """States which attributes contain one counter on the drives of one make, and in which unit.

    make: the name of the make.
    counter: the field of `written_bytes.AtaWritten` that the rule fills.
    attributes: the attribute ids. The counter is the sum of their raw values. The rule applies only
        if the drive has all of these attributes.
    unit: the unit of the raw values in bytes, LOGICAL_BLOCK, GIB_OR_SECTOR or UNKNOWN.
    source: the document, program or smartctl outputs that show this meaning.
    """

    make: str
    counter: WrittenCounter
    attributes: tuple[int, ...]
    unit: int
    source: str


def _host(make: str, unit: int, source: str) -> tuple[WrittenRule, WrittenRule]:
    """Returns the two rows for attributes 241 (written) and 242 (read) of one make.

    Nearly all makes count the bytes that the host writes and reads in these attributes.
    """
    return (
        WrittenRule(make, "host_written", (241,), unit, source),
        WrittenRule(make, "host_read", (242,), unit, source),
    )


_INTEL = "Intel DC S3500 specification, E1h; drivedb *_32MiB"
_DELL = "captures: 241 equals 225 Host_Writes_32MiB, although named LBAs; 242 as of intel"
_SANDISK = "drivedb Total_Writes_GiB"
_SPLIT = "drivedb: low and high words, or mantissa and exponent, in separate attributes"

#: Device statistics of the captured drives (see docs/drives.md).
_DS = "device statistics of captured drives count the same bytes"
_BY_UNIT: Mapping[int, tuple[str, ...]] = {
    MIB_32: (
        *(
            "smi_167",
            "smi_left",
            "smi_1500",
            "smi_xd0r",
            "smi_sm2236",
            "smi_ts",
            "smi_islc",
            "smi_1000",
            "smi_3000",
            "toshiba_sbf",
            "toshiba_ksg60",
            "phison_hdfe",
            "liteon_177",
        ),
        *("toshiba_203", "toshiba_tr200", "intel_lenovo", "intel_226"),
        *("intel_535", "intel_535_late"),
        *("intel_545", "intel_545_1500", "phison_kioxia", "phison_s11_32mib", "maxio_165_lexar"),
    ),
    GIB: (
        *("smi_hp", "smi_v8x", "smi_ve0r", "superdom", "phison_s11", "phison_s11_mlc"),
        *("phison_a400", "phison_stuck", "phison_dc", "phison_saf12", "phison_tlc"),
        *("phison_s11_0200", "sandforce_525"),
        *("seagate_low", "sandisk_x41", "sandisk_x35", "liteon_173"),
        *("maxio_165_3000", "maxio_165_1500", "sandforce_244"),
        *("sandforce_231", "samsung_gib", "intel_545_hp"),
    ),
    GIB_OR_SECTOR: ("maxio_207", "maxio_231", "sandisk_173"),
    16 * MIB: ("samsung_hp", "apacer_sfdn"),
    GB: ("hynix_168",),
    SECTOR: (
        *("jmicron_im2s", "apacer_163", "apacer_sfd", "apacer_left", "apacer_mlc"),
        *("hynix_512", "sandisk_dell", "micron_238", "micron_c400"),
        "liteon_left",
        "sandisk_512",
    ),
}

WRITTEN_RULES: tuple[WrittenRule, ...] = (
    *(
        rule
        for unit, makes in _BY_UNIT.items()
        for make in makes
        for rule in _host(make, unit, _DS)
    ),
    *(
        WrittenRule(make, "host_written", (246,), LOGICAL_BLOCK, "as for micron_client")
        for make in ("micron_m6cr013", "micron_m6cr030", "micron_old")
    ),
    *_host("phison_s9", UNKNOWN, "captures: GiB would be up to 16,000 times the capacity"),
    *_host("phison_sqf", UNKNOWN, "as for phison_s9"),
    *_host("intel_530", UNKNOWN, "captures: 18 of 97 are 5 to 55 % below the statistics"),
    *_host("smi_hp_pro", UNKNOWN, "captures: 1 of 2 contradicts 32 MiB, and 1 of 1 GiB"),
    *_host("liteon_hp", UNKNOWN, "captures: about 2 MiB, which no document confirms"),
    *_host("jmicron", UNKNOWN, "captures: 1 of 3 contradicts 32 MiB"),
    *_host("innodisk", MIB_32, "drivedb Host_Writes_32MiB"),
    WrittenRule("apple", "host_written", (175,), MIB, _DS),
    WrittenRule("apple", "host_read", (174,), MIB, _DS),
    WrittenRule("atp_248", "host_written", (235,), SECTOR, "drivedb Sectors_Written_to_SSD"),
    WrittenRule("atp_248", "nand_written", (241,), SECTOR, "drivedb Sectors_Written_to_NAND"),
    *_host("intel_dell", MIB_32, _DELL),
    WrittenRule("intel_dell", "host_written", (233,), MIB_32, _DELL),
    *(
        rule
        for make in ("intel", "intel_540")
        for rule in (
            *_host(make, MIB_32, _INTEL),
            WrittenRule(make, "host_written", (225,), MIB_32, _INTEL),
            WrittenRule(
                make, "nand_written", (243,), MIB_32, "drivedb NAND_Writes_32MiB, S3510 on"
            ),
            WrittenRule(make, "nand_written", (249,), GIB, "drivedb NAND_Writes_1GiB, 520 to 545s"),
        )
    ),
    *_host("samsung", LOGICAL_BLOCK, "captures: 241 fits the erasures that 177 counts"),
    WrittenRule(
        "samsung", "nand_written", (251,), SECTOR, "captures: WAF 1.02 to 1.5 of PM883, PM893"
    ),
    WrittenRule("samsung", "nand_written", (249,), GIB, "drivedb NAND_Writes_1GiB, CM871a, PM871"),
    WrittenRule("micron_dell", "host_written", (233,), SECTOR, "capture: equals 247 x 16 KiB"),
    WrittenRule(
        "micron_dell", "nand_written", (241,), SECTOR, "capture: equals (247+248) x 16 KiB"
    ),
    WrittenRule("micron_5000", "host_written", (246,), LOGICAL_BLOCK, "Micron TN-FD-23"),
    WrittenRule("micron_client", "host_written", (246,), LOGICAL_BLOCK, "Micron TN-FD-22"),
    *_host("wd", GIB, "drivedb Host_Writes_GiB"),
    WrittenRule("wd", "nand_written", (233, 234), GIB, "drivedb: one counts TLC writes, one SLC"),
    *_host("sandisk_hp", UNKNOWN, "CrystalDiskInfo: 16 MiB, drivedb: GiB"),
    *_host("sandisk_lenovo_233", GIB, _SANDISK),
    *_host("sandisk_oem", GIB, _SANDISK),
    WrittenRule("sandisk_oem", "nand_written", (233,), UNKNOWN, "CrystalDiskInfo: MiB or GiB"),
    *_host("sandisk", GIB, _SANDISK),
    WrittenRule("sandisk", "nand_written", (233,), GIB, "drivedb Total_NAND_Writes_GiB"),
    *_host("sandisk_sdssdp", SECTOR, "CrystalDiskInfo; drivedb's default"),
    *_host("sandisk_small", SECTOR, "CrystalDiskInfo; drivedb's default"),
    WrittenRule("phison_kioxia", "nand_written", (233,), UNKNOWN, "as for 241"),
    *_host("phison", GIB, "drivedb Lifetime_Writes_GiB; CrystalDiskInfo"),
    WrittenRule("phison", "nand_written", (233,), GIB, "captures: WAF 2.14 KC400, 2.46 A400"),
    *_host("smi_usb", MIB_32, "drivedb Host_Writes_32MiB"),
    WrittenRule("smi_usb", "nand_written", (233,), MIB_32, "drivedb NAND_Writes_32MiB"),
    *_host("smi", MIB_32, "drivedb Host_Writes_32MiB; CrystalDiskInfo"),
    WrittenRule("smi", "host_written", (225,), MIB_32, "drivedb: firmware of 2014"),
    WrittenRule("smi", "nand_written", (245, 246), MIB_32, "drivedb TLC_ and SLC_Writes_32MiB"),
    WrittenRule("smi", "nand_written", (245,), MIB_32, "capture of a TS32GMTS400: WAF 4.5"),
    *_host("swissbit_x600", UNKNOWN, _SPLIT),
    *_host("swissbit", UNKNOWN, _SPLIT),
    WrittenRule("atp", "host_written", (235,), SECTOR, "drivedb Sectors_Written_to_SSD"),
    WrittenRule(
        "atp", "host_read", (242,), UNKNOWN, "drivedb: sectors in one family, bytes in another"
    ),
    WrittenRule("atp", "nand_written", (241,), SECTOR, "drivedb Sectors_Written_to_NAND"),
    *_host("toshiba", MIB_32, "smartmontools issue 312: HK4R; CrystalDiskInfo: THNSNJ, KSG60"),
    *(
        rule
        for make in ("hynix", "hynix_used", "hynix_left")
        for rule in (
            *_host(make, GB, "smartmontools ticket 1517: about 10^9 bytes"),
            WrittenRule(make, "nand_written", (249,), GIB, "drivedb NAND_Writes_GiB, SC313"),
        )
    ),
    *_host("hynix_sc", SECTOR, "CrystalDiskInfo; 52 captures with device statistics"),
    WrittenRule("hynix_feh", "host_written", (235,), GIB, "drivedb Lifetime_Writes_GiB"),
    WrittenRule(
        "hynix_feh", "host_written", (241,), UNKNOWN, "drivedb: host on old drives, NAND on new"
    ),
    WrittenRule("hynix_feh", "host_read", (242,), GIB, "drivedb Lifetime_Reads_GiB"),
    *_host("kingston_uv", GIB, "drivedb Host_Writes_GiB; CrystalDiskInfo"),
    *_host("seagate", GIB, "drivedb Host_Writes_GiB, Lifetime_Wts_Frm_Hst_GB"),
    WrittenRule("seagate", "nand_written", (233,), GIB, "drivedb Flash_Writes_GiB"),
    *_host("sandforce", GIB, "drivedb Lifetime_Writes_GiB"),
    WrittenRule("sandforce", "nand_written", (233,), GIB, "drivedb NAND_GiB_Written"),
    *_host("plextor", MIB_32, "drivedb Host_Writes_32MiB"),
    WrittenRule("plextor", "nand_written", (233,), GIB, "CrystalDiskInfo: 233 is GiB to the NAND"),
    WrittenRule("indilinx", "host_written", (199,), SECTOR, "drivedb Write_Sectors_Tot_Ct"),
    WrittenRule("indilinx", "host_read", (198,), SECTOR, "drivedb Read_Sectors_Tot_Ct"),
    *_host("barefoot_3", GIB, "drivedb Host_Writes_GiB, firmware M00 and M10"),
    WrittenRule("barefoot_3", "host_written", (199,), GIB, "drivedb Host_Writes_GiB"),
    WrittenRule("barefoot_3", "host_read", (198,), GIB, "drivedb Host_Reads_GiB"),
    WrittenRule("barefoot_3", "nand_written", (249,), GIB, "drivedb Total_NAND_Prog_Ct_GiB"),
)
