"""Lists the ATA attributes that contain the wear of an SSD, and the formula for each of them.

The module contains only data. `ata_endurance` applies the rules. A make is a group of models whose
attributes have the same meaning; see `makes` and `controllers`.

The sources of the rules are named as follows: "drivedb" is drivedb.h of smartmontools with its
comments. "CrystalDiskInfo" is the file AtaSmart.cpp of that program. "captures" are outputs of
smartctl that owners of drives published.

To extend the table, add a row for a make of `makes.MAKES`. The rows of one make are tried in order
until a formula returns a value. A new formula is a function of `wear_formulas`. `make drives`
prints how many real drives confirm each row.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from exporter.drives.wear_formulas import (
    Formula,
    confirmed_left,
    erases,
    hundreds,
    intel_media_wear,
    late_left,
    low_word_erases,
    maxio_erases,
    maxio_packed_erases,
    raw_left,
    raw_percent,
    raw_used,
    second_byte,
    smi_erases,
    stuck_left,
    two_gauges,
    unknown,
    value_from_200,
    value_left,
    workload_1024ths,
    worn_out,
)


@dataclass(frozen=True, slots=True)
class WearRule:
    """States how the wear of the drives of one make is computed.

    make: the name of the make.
    attribute: the id of the attribute that contains the wear.
    formula: the function that computes the wear from the attribute.
    source: the document, program or smartctl outputs that show this meaning.
    parameter: for formulas that count erase cycles, the rated number of erase cycles; for formulas
        of a normalized value, the used endurance per unit of the value, in hundredths of a percent.
    """

    make: str
    attribute: int
    formula: Formula
    source: str
    parameter: int = 100


_INTEL = "Intel DC S3500, S3610, S3700 specifications, 5.4; 20 captures agree with 226"
_CDI = "CrystalDiskInfo: the normalized value is the life left"
_SMI = "capture of a TS32GMTS400: normalized stuck at 100, raw 96, 132 of 3000 erases"
_NAME = "drivedb: the attribute's name in this family means life left"

#: Device statistics of the captured drives (see docs/drives.md), which are the reason for the rule.
_DS = "device statistics of captured drives"
_NONE = "captures: no attribute agrees with the device statistics"
_ERASES = "captures: erase cycles per percent of the device statistics"

WEAR_RULES: tuple[WearRule, ...] = (
    WearRule("hynix_168", 177, value_left, _DS),
    WearRule("hynix_168", 168, value_left, _DS),
    WearRule("hynix_168", 233, raw_left, _DS),
    WearRule(
        "hynix_231", 231, value_left, "CrystalDiskInfo: the normalized value is the life left"
    ),
    WearRule("smi_167", 167, smi_erases, _DS),
    WearRule("smi_1500", 167, erases, _ERASES, 1500),
    WearRule("smi_left", 169, raw_left, _DS),
    WearRule("smi_left", 169, worn_out, "captures: 0 left on 3 drives after 2,004 to 3,577", 2000),
    WearRule("superdom", 167, erases, _ERASES, 3000),
    WearRule("phison_hdfe", 167, erases, _ERASES, 1000),
    WearRule("phison_s11", 167, erases, _ERASES, 1000),
    WearRule("phison_a400", 231, raw_left, _DS),
    WearRule(
        "phison_a400",
        231,
        worn_out,
        "captures: 6 drives, 0 left after 1,005 to 1,405 cycles",
        1000,
    ),
    WearRule("phison_a400", 244, unknown, "captures: 20 of 192 contradict 1,000 rated cycles"),
    WearRule(
        "phison_a400_other",
        231,
        raw_left,
        "captures: 231, 244 and the device statistics agree up to 12 %",
        12,
    ),
    WearRule("phison_a400_other", 231, worn_out, "captures: 0 left on 1 drive after 1,360", 1000),
    WearRule("phison_a400_other", 231, unknown, "captures: 15 of 91 contradict 231 and 244"),
    WearRule(
        "phison_stuck", 231, confirmed_left, "captures: 173 agrees on all 18 with SAFM0", 3000
    ),
    WearRule("phison_stuck", 231, unknown, "captures: 14 of 18 with other firmware contradict"),
    WearRule("phison", 231, stuck_left, "captures: SKC400 100/74 (26 % by erases), A400 14/86"),
    WearRule("phison", 173, low_word_erases, _ERASES, 3000),
    WearRule("phison_tlc", 231, stuck_left, "as for phison"),
    WearRule(
        "phison_tlc",
        173,
        low_word_erases,
        "captures: 1,008 to 1,086 cycles per 100 % of 231",
        1000,
    ),
    WearRule("phison_sqf", 231, stuck_left, "as for phison"),
    WearRule("phison_sqf", 173, unknown, "captures: the low word is 72 % and the drive says 39 %"),
    WearRule("phison_s9", 231, stuck_left, _DS),
    WearRule("phison_s9", 173, low_word_erases, _ERASES, 3000),
    WearRule("phison_dc", 244, erases, _ERASES, 3000),
    WearRule("phison_173", 173, low_word_erases, _ERASES, 3000),
    WearRule("sandisk_173", 173, erases, _ERASES, 3000),
    WearRule("sandisk_173", 173, value_left, "captures: of a packed count, only the value is wear"),
    WearRule("sandisk_value", 173, value_left, _DS),
    WearRule("liteon_left", 173, value_left, "4 captures: 96 for 94 to 98 erase cycles, 100 for 2"),
    WearRule("marvell_value", 173, value_left, _DS),
    WearRule("micron_old", 202, raw_used, "captures: equals erase cycles of 173 / 3000"),
    WearRule("smi_ve0r", 207, unknown, "captures: 4 of 18 contradict 2,350 rated cycles"),
    WearRule("sandisk_x41", 173, erases, _ERASES, 650),
    WearRule("apacer_sfd", 163, erases, _ERASES, 2500),
    WearRule("apacer_left", 231, raw_left, _DS),
    WearRule("apacer_163", 163, unknown, "captures: 2 of 29 contradict 3,000 rated cycles"),
    WearRule("intel_530", 233, late_left, _DS, 88),
    WearRule("intel_530", 233, unknown, "captures: 3 of 5 contradict the rule of intel"),
    WearRule("intel_535_late", 233, late_left, _DS, 140),
    WearRule("intel_535_late", 233, unknown, "captures: the rule of intel is contradicted"),
    WearRule("intel_226", 226, workload_1024ths, _DS),
    WearRule("toshiba_tr200", 173, unknown, "captures: 2 of 7 contradict it"),
    WearRule("toshiba_ksg60", 177, late_left, _DS, 95),
    WearRule("toshiba_ksg60", 173, unknown, "as for toshiba_203"),
    WearRule("toshiba_203", 173, unknown, "captures: 1 of 11 contradicts it"),
    WearRule("phison_s11_mlc", 167, erases, _ERASES, 3000),
    WearRule("intel_545_1500", 252, erases, _ERASES, 1500),
    WearRule("seagate_low", 231, raw_left, "captures: 5 agree; larger raw values are packed"),
    WearRule("maxio_231", 173, maxio_packed_erases, _ERASES),
    WearRule("micron_m6cr013", 202, raw_left, "device statistics of captures; stops at 10 %", 9),
    WearRule("sandforce_231", 231, late_left, _DS, 93),
    WearRule("sandforce_525", 231, unknown, "captures: 1 of 2 contradicts late_left"),
    WearRule("smi_3000", 167, erases, _ERASES, 3000),
    WearRule("smi_1000", 167, erases, _ERASES, 1000),
    WearRule("micron_238", 238, raw_used, _DS),
    WearRule("micron_c400", 178, raw_percent, _DS),
    WearRule("liteon_177", 177, erases, _ERASES, 3000),
    WearRule("liteon_173", 173, erases, _ERASES, 3000),
    WearRule("liteon_hp", 173, erases, _ERASES, 3000),
    WearRule("attribute_245", 245, value_left, _DS),
    WearRule("maxio_165_3000", 165, erases, _ERASES, 1500),
    WearRule("maxio_165_1500", 165, erases, _ERASES, 750),
    WearRule("smi_hp", 167, smi_erases, _DS),
    WearRule("hynix_512", 177, value_left, _DS),
    WearRule("hynix_512", 168, unknown, "captures: 2 drives without 177 contradict it"),
    WearRule("samsung_hp", 173, value_left, _DS),
    WearRule("samsung_gib", 177, value_left, _DS),
    WearRule("samsung_gib", 173, value_left, _DS),
    WearRule("sandisk_dell", 230, two_gauges, _DS),
    WearRule("sandisk_512", 173, erases, _ERASES, 3000),
    WearRule("phison_s11_32mib", 167, erases, "as for phison_s11", 1000),
    WearRule("phison_s11_0200", 167, unknown, "captures: 1 of 2 contradicts 1,000 rated cycles"),
    WearRule("maxio_165_lexar", 165, erases, _ERASES, 750),
    WearRule("toshiba_sbf", 173, unknown, _NONE),
    WearRule("micron_m6cr030", 202, unknown, _NONE),
    WearRule("smi_islc", 167, unknown, "captures: flash in SLC mode, of an unknown rating"),
    WearRule("smi_ts", 169, unknown, "captures: the rated number is too high"),
    WearRule("smi_xd0r", 169, unknown, _NONE),
    WearRule("smi_v8x", 169, unknown, _NONE),
    WearRule("smi_167", 169, unknown, "captures: 47 of 425 report up to ten times the erase share"),
    WearRule("smi_hp", 169, unknown, "as for smi"),
    WearRule("smi_hp_pro", 169, unknown, _NONE),
    WearRule("smi_sm2236", 169, unknown, _NONE),
    WearRule("phison_saf12", 173, unknown, _NONE),
    WearRule("sandisk_x35", 173, unknown, _NONE),
    WearRule("apacer_sfdn", 163, erases, _ERASES, 2500),
    WearRule("micron_m6cr013", 202, unknown, _NONE),
    WearRule("intel_535", 233, unknown, _NONE),
    WearRule("intel_545_hp", 233, unknown, _NONE),
    WearRule("maxio_231", 231, unknown, _NONE),
    WearRule("phison_a400_0307", 231, value_left, "captures: 74/26 with 194 erase cycles"),
    WearRule("atp_248", 248, raw_left, _DS),
    WearRule("apacer_mlc", 231, raw_left, _DS),
    WearRule("intel_545", 252, erases, _ERASES, 1000),
    WearRule("marvell_201", 173, value_left, _DS),
    WearRule("sandforce_244", 244, low_word_erases, _ERASES, 3200),
    WearRule("jmicron_im2s", 173, value_from_200, _DS, 60),
    WearRule("jmicron", 173, value_from_200, _DS),
    WearRule("maxio_207", 207, maxio_erases, _ERASES),
    WearRule("hp_oem", 173, value_left, _DS),
    WearRule("apple", 173, value_from_200, _DS),
    WearRule("intel_dell", 245, raw_left, "drivedb Percent_Life_Remaining; two captures"),
    WearRule("intel_lenovo", 233, value_left, _INTEL),
    WearRule("intel_540", 233, intel_media_wear, _INTEL),
    WearRule(
        "intel_540", 226, workload_1024ths, "drivedb: no 233 in this family; unit as of intel"
    ),
    WearRule("intel", 233, intel_media_wear, _INTEL),
    WearRule("samsung_8x0", 177, value_left, "captures: the value is 4 to 6 % too low", 104),
    WearRule("samsung", 177, value_left, "device statistics of an 860 EVO agree: 81 and 19 %"),
    WearRule("samsung", 173, value_left, "drivedb: Wear_Leveling_Count of CM871; PM871, SM951"),
    WearRule("micron_dell", 245, raw_left, "capture of an MTFDDAV240TDU: Dell's own table"),
    WearRule("micron_m500dc", 202, raw_used, "Micron TN-FD-23; drivedb: value is 100 - raw"),
    WearRule("micron_5000", 202, raw_used, "Micron TN-FD-23; captures of 5200 and 5300"),
    WearRule("micron_client", 202, raw_used, "Micron TN-FD-22; drivedb: value is 100 - raw"),
    WearRule("micron_m4", 202, raw_used, "drivedb Perc_Rated_Life_Used; a capture, 98 and 2"),
    WearRule("wd", 230, two_gauges, "smartmontools-support 2021-03, checked with WD Dashboard"),
    WearRule("sandisk_hp", 201, value_left, "CrystalDiskInfo, HP's models; drivedb's name"),
    WearRule("sandisk_lenovo_233", 233, value_left, "CrystalDiskInfo, Lenovo's models"),
    WearRule("sandisk_oem", 230, value_left, "CrystalDiskInfo, Lenovo's and Dell's models"),
    WearRule("sandisk", 230, second_byte, "CrystalDiskInfo: 100 - the second raw byte"),
    WearRule("sandisk_sdssdp", 230, hundreds, "CrystalDiskInfo: percent times 100"),
    WearRule("cloudspeed", 245, value_left, "drivedb Drive_Life_Remaining%; CrystalDiskInfo"),
    WearRule("phison_kioxia", 231, stuck_left, "as for phison"),
    WearRule("smi_usb", 169, stuck_left, _SMI),
    WearRule("smi_usb", 231, value_left, _NAME),
    WearRule("smi", 169, raw_left, _SMI),
    WearRule("smi", 231, value_left, "CrystalDiskInfo, Kingston KC600"),
    WearRule("swissbit_x600", 248, stuck_left, _NAME),
    WearRule("swissbit", 248, stuck_left, _NAME),
    WearRule("swissbit", 231, stuck_left, _NAME),
    WearRule("atp_value", 231, stuck_left, _NAME),
    WearRule("atp", 202, raw_percent, "drivedb: the attribute's name means life used"),
    WearRule("atp", 248, stuck_left, _NAME),
    WearRule("apacer", 231, raw_left, "CrystalDiskInfo: raw is the life left"),
    WearRule("innodisk", 169, stuck_left, _NAME),
    WearRule("innodisk", 248, stuck_left, _NAME),
    WearRule("storfly", 248, stuck_left, _NAME),
    WearRule("storfly", 169, stuck_left, _NAME),
    WearRule("xmore", 231, stuck_left, _NAME),
    WearRule("smart_modular", 202, raw_percent, "drivedb Perc_Rated_Life_Used"),
    WearRule("smart_modular", 231, stuck_left, _NAME),
    WearRule("toshiba", 173, value_from_200, "CrystalDiskInfo: value - 100 is the life left"),
    WearRule("hynix_used", 231, raw_percent, "CrystalDiskInfo, models with MND and TND"),
    WearRule("hynix_left", 231, raw_left, "CrystalDiskInfo, models with TNF"),
    WearRule("hynix_sc", 231, raw_left, "CrystalDiskInfo, SC311 and SC401"),
    WearRule("hynix_feh", 231, value_left, _CDI),
    WearRule("hynix_feh", 245, value_left, _NAME),
    WearRule("hynix", 231, value_left, _CDI),
    WearRule("kingston_uv", 231, raw_used, "captures: raw is 100 - value, and stops at 100"),
    WearRule("kingston_uv", 231, value_left, _CDI),
    WearRule("seagate", 231, value_left, "drivedb: raw value is packed; value is life left"),
    WearRule("sandforce", 231, late_left, _DS, 93),
    WearRule("plextor", 173, unknown, "captures: 1 of 3 contradicts 3,000 rated cycles"),
    WearRule("indilinx", 209, value_left, _CDI),
    WearRule("indilinx_everest", 233, value_left, _CDI),
    WearRule("barefoot_3", 233, value_left, _CDI),
    WearRule("maxio", 231, value_left, "CrystalDiskInfo; drivedb: 173 is a count"),
    WearRule("ssstc", 231, value_left, _CDI),
    WearRule("ssstc", 202, value_left, _NAME),
    WearRule("ssstc", 233, value_left, _NAME),
)


#: How the device statistics of a make are used. "ignored": never. "life_left": they contain the
#: remaining life. "less": a value is used only if no rule contradicts it. "agree": a value is used
#: only if a rule confirms it, and otherwise neither is used. "larger": the larger of the value and
#: the result of the rule is used.
StatisticsUse: TypeAlias = Literal["ignored", "life_left", "less", "agree", "larger"]


@dataclass(frozen=True, slots=True)
class StatisticsRule:
    """States how the Percentage Used Endurance Indicator of a make is used.

    All other makes are assumed to report it as the standard defines it.

    make: the name of the make.
    use: how the value is used.
    source: the smartctl outputs that show this.
    """

    make: str
    use: StatisticsUse
    source: str


STATISTICS_RULES: tuple[StatisticsRule, ...] = (
    StatisticsRule("phison_hdfe", "ignored", "24 captures: every page has random values"),
    StatisticsRule("phison_stuck", "ignored", "17 captures: the value is always 5"),
    StatisticsRule("phison_a400", "agree", "captures: 231 agrees on 144 of 144 drives"),
    StatisticsRule("phison_a400_other", "ignored", "captures: 24 to 216 %, erases 15 to 136 %"),
    StatisticsRule("micron_m4", "less", "131 captures: 2 to 40 %, erase cycles say up to 355 %"),
    StatisticsRule("micron_old", "less", "131 captures: 2 to 40 %, erase cycles say up to 355 %"),
    StatisticsRule("wd", "larger", "410 of 412 captures: the value counts only the TLC flash"),
    StatisticsRule("sandisk_dell", "larger", "as for wd"),
    StatisticsRule("apple", "less", "captures: 0 %, attribute 173 says 8 to 92 %"),
    StatisticsRule("liteon_left", "life_left", "13 captures: 100 - the value of attribute 173"),
)
