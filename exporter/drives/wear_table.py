"""Lists the ATA attributes that contain the wear of an SSD, and the formula for each of them.

The module contains only data. `ata_endurance` applies the rules. A make is a group of models whose
attributes have the same meaning; see `makes`.

The sources of the rules are named as follows: "drivedb" is drivedb.h of smartmontools with its
comments. "CrystalDiskInfo" is the file AtaSmart.cpp of that program. "captures" are outputs of
smartctl that owners of drives published.

To extend the table, add a row for a make of `makes.MAKES`. The rows of one make are tried in order
until a formula returns a value. For a new formula, add a name to `Formula` and a function to
`ata_endurance.FORMULAS`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: The names of the formulas, which `ata_endurance.FORMULAS` implements.
Formula: TypeAlias = Literal[
    "value_left",
    "value_from_200",
    "raw_percent",
    "raw_used",
    "raw_left",
    "stuck_left",
    "intel_media_wear",
    "workload_1024ths",
    "hundredths",
    "second_byte",
    "hundreds",
]


@dataclass(frozen=True, slots=True)
class WearRule:
    """States how the wear of the drives of one make is computed.

    make: the name of the make.
    attribute: the id of the attribute that contains the wear.
    formula: the formula that computes the wear from the attribute.
    source: the document, program or smartctl outputs that show this meaning.
    """

    make: str
    attribute: int
    formula: Formula
    source: str


_INTEL = "Intel DC S3500, S3610, S3700 specifications, 5.4; 20 captures agree with 226"
_CDI = "CrystalDiskInfo: the normalized value is the life left"
_SMI = "capture of a TS32GMTS400: normalized stuck at 100, raw 96, 132 of 3000 erases"
_NAME = "drivedb: the attribute's name in this family means life left"

WEAR_RULES: tuple[WearRule, ...] = (
    WearRule("intel_dell", 245, "raw_left", "drivedb Percent_Life_Remaining; two captures"),
    WearRule("intel_lenovo", 233, "value_left", _INTEL),
    WearRule("intel_540", 233, "intel_media_wear", _INTEL),
    WearRule(
        "intel_540", 226, "workload_1024ths", "drivedb: no 233 in this family; unit as of intel"
    ),
    WearRule("intel", 233, "intel_media_wear", _INTEL),
    WearRule("samsung", 177, "value_left", "device statistics of an 860 EVO agree: 81 and 19 %"),
    WearRule("samsung", 173, "value_left", "drivedb: Wear_Leveling_Count of CM871; PM871, SM951"),
    WearRule("micron_dell", 245, "raw_left", "capture of an MTFDDAV240TDU: Dell's own table"),
    WearRule("micron_m500dc", 202, "raw_used", "Micron TN-FD-23; drivedb: value is 100 - raw"),
    WearRule("micron_5000", 202, "raw_used", "Micron TN-FD-23; captures of 5200 and 5300"),
    WearRule("micron_client", 202, "raw_used", "Micron TN-FD-22; drivedb: value is 100 - raw"),
    WearRule("micron_m4", 202, "raw_used", "drivedb Perc_Rated_Life_Used; a capture, 98 and 2"),
    WearRule("wd", 230, "hundredths", "smartmontools-support 2021-03, checked with WD Dashboard"),
    WearRule("sandisk_hp", 201, "value_left", "CrystalDiskInfo, HP's models; drivedb's name"),
    WearRule("sandisk_lenovo_233", 233, "value_left", "CrystalDiskInfo, Lenovo's models"),
    WearRule("sandisk_oem", 230, "value_left", "CrystalDiskInfo, Lenovo's and Dell's models"),
    WearRule("sandisk", 230, "second_byte", "CrystalDiskInfo: 100 - the second raw byte"),
    WearRule("sandisk_sdssdp", 230, "hundreds", "CrystalDiskInfo: percent times 100"),
    WearRule("cloudspeed", 245, "value_left", "drivedb Drive_Life_Remaining%; CrystalDiskInfo"),
    WearRule("phison_kioxia", 231, "stuck_left", "as for phison"),
    WearRule("phison", 231, "stuck_left", "captures: SKC400 100/74 (26 % by erases), A400 14/86"),
    WearRule("smi_usb", 169, "stuck_left", _SMI),
    WearRule("smi_usb", 231, "value_left", _NAME),
    WearRule("smi", 169, "stuck_left", _SMI),
    WearRule("smi", 231, "value_left", "CrystalDiskInfo, Kingston KC600"),
    WearRule("swissbit_x600", 248, "stuck_left", _NAME),
    WearRule("swissbit", 248, "stuck_left", _NAME),
    WearRule("swissbit", 231, "stuck_left", _NAME),
    WearRule("atp_value", 231, "stuck_left", _NAME),
    WearRule("atp", 202, "raw_percent", "drivedb: the attribute's name means life used"),
    WearRule("atp", 248, "stuck_left", _NAME),
    WearRule("apacer", 231, "raw_left", "CrystalDiskInfo: raw is the life left"),
    WearRule("innodisk", 169, "stuck_left", _NAME),
    WearRule("innodisk", 248, "stuck_left", _NAME),
    WearRule("storfly", 248, "stuck_left", _NAME),
    WearRule("storfly", 169, "stuck_left", _NAME),
    WearRule("xmore", 231, "stuck_left", _NAME),
    WearRule("smart_modular", 202, "raw_percent", "drivedb Perc_Rated_Life_Used"),
    WearRule("smart_modular", 231, "stuck_left", _NAME),
    WearRule("toshiba", 173, "value_from_200", "CrystalDiskInfo: value - 100 is the life left"),
    WearRule("hynix_used", 231, "raw_percent", "CrystalDiskInfo, models with MND and TND"),
    WearRule("hynix_left", 231, "raw_left", "CrystalDiskInfo, models with TNF"),
    WearRule("hynix_sc", 231, "raw_left", "CrystalDiskInfo, SC311 and SC401"),
    WearRule("hynix_feh", 231, "value_left", _CDI),
    WearRule("hynix_feh", 245, "value_left", _NAME),
    WearRule("hynix", 231, "value_left", _CDI),
    WearRule("kingston_uv", 231, "value_left", _CDI),
    WearRule("seagate", 231, "value_left", "drivedb: raw value is packed; value is life left"),
    WearRule("sandforce", 231, "value_left", "drivedb SSD_Life_Left; raw 1 is a log ratio"),
    WearRule("plextor", 232, "value_left", _CDI),
    WearRule("indilinx", 209, "value_left", _CDI),
    WearRule("indilinx_everest", 233, "value_left", _CDI),
    WearRule("barefoot_3", 233, "value_left", _CDI),
    WearRule("maxio", 231, "value_left", "CrystalDiskInfo; drivedb: 173 is a count"),
    WearRule("ssstc", 231, "value_left", _CDI),
    WearRule("ssstc", 202, "value_left", _NAME),
    WearRule("ssstc", 233, "value_left", _NAME),
)
