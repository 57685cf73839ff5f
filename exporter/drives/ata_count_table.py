"""Lists the ATA attributes that count errors and failures, or contain the share of spare blocks.

The module contains only data. `ata` applies the rules.

An attribute has an id and a name. The name is from smartctl's drive database and shows the meaning
that the vendor has defined. So a rule matches the id and the name. An old database has no name for
some attributes ("Unknown_Attribute"). For these a rule with `makes` matches the id and the make of
the drive. A make is a group of models whose attributes have the same meaning; see `makes`.

To extend the table, add a rule after the other rules of the same counter. The rules are tried in
order, and the first matching attribute that contains a valid count is used.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

#: The fields of `DriveHealth` that the rules fill.
Counter: TypeAlias = Literal[
    "media_errors",
    "reallocated_sectors",
    "pending_sectors",
    "program_failures",
    "erase_failures",
    "interface_errors",
    "unsafe_shutdowns",
]
COUNTERS: tuple[Counter, ...] = get_args(Counter)

#: Groups of makes. All makes of a group use the same attribute ids, for which old databases have no
#: names.
_INTEL = ("intel", "intel_540", "intel_lenovo")
_MICRON = ("micron_5000", "micron_client", "micron_m500dc", "micron_m4")


@dataclass(frozen=True, slots=True)
class CountRule:
    """Names the attributes that may contain the value of one counter.

    counter: the field of `DriveHealth` that the rule fills.
    attributes: the attribute ids, tried in this order.
    name: a regular expression that matches the whole name of the attribute. If it is empty, the
        rule matches only attributes without a name, on drives of `makes`.
    makes: on drives of these makes, an attribute without a name matches too.
    not_makes: the rule is not used for drives of these makes, because their attributes with these
        ids have another meaning.
    """

    counter: Counter
    attributes: tuple[int, ...]
    name: str
    makes: tuple[str, ...] = ()
    not_makes: tuple[str, ...] = ()


COUNT_RULES: tuple[CountRule, ...] = (
    CountRule(
        "media_errors",
        (187,),
        r"Reported_(Uncorrect|Uncorr_Errors|UE_Counts)|Uncorrectable_(Error_Cnt|ECC_Cn?t)",
        makes=(*_INTEL, *_MICRON, "samsung"),
    ),
    CountRule(
        "media_errors",
        (160, 13, 1),
        r"Uncorrectable_(Error_Cnt|Sectors|ECC_Cnt)|UECC_Sector_Count|(Lifetime_)?UECC_Ct",
        not_makes=("storfly",),  # on its older firmware one of these ids is the remaining life
    ),
    CountRule("media_errors", (195,), r"Uncorrectable_Err(or)?_Cn?t"),
    CountRule("media_errors", (197,), r"Total_Unc_Read_Failures"),
    CountRule(
        "media_errors", (198,), r"Offline_(Uncorrectable|UErr_Media_Scan)|Uncor_Read_Error_Ct"
    ),
    CountRule(
        "reallocated_sectors",
        (5,),
        r"Reallocated?_(Sector|Block|NAND_Blk)_C(oun|n)?t|Realloc_Flash_Blocks_Ct"
        r"|Retired_Block_Count|Retried_Blk_Ct|New_Bad_Bl(oc)?k_Count|Later_Bad_Block"
        r"|Runtime_Bad_Block",
    ),
    CountRule(
        "reallocated_sectors", (166,), r"(Grown|Later)_Bad_Block_Count|Total_Later_Bad_Blk_Ct"
    ),
    CountRule(
        "reallocated_sectors", (170,), r"Bad_Blk_Ct_Lat/Erl|Grown_(Bad|Failing)_Block(s|_Ct)"
    ),
    CountRule("reallocated_sectors", (183,), r"Runtime_Bad_Block", makes=("samsung",)),
    CountRule("reallocated_sectors", (178,), r"Runtime_Invalid_Blk_Cnt"),
    CountRule("reallocated_sectors", (235,), r"Later_Bad_Block"),
    CountRule("reallocated_sectors", (196,), r"Lifetime_Retried_Blk_Ct"),
    CountRule("pending_sectors", (197,), r"(Current_)?Pending_(Sector|ECC)(_Cnt|_Count)?"),
    CountRule(
        "program_failures",
        (171, 181),
        r"Program_Fail(_Count|_Cn?t|_Cnt_Total|_Blocks)?|Block_Program_Failures?",
        makes=(*_INTEL, *_MICRON),
    ),
    CountRule("program_failures", (175,), r"Program_Fail_C(n|oun)t"),
    CountRule("program_failures", (195,), r"Program_Failure_Blk_Ct|Total_Prog_Failures"),
    CountRule(
        "erase_failures",
        (172, 182),
        r"Erase_Fail(_Count|_Cn?t|_Count_Total)?|Block_Erase_Failures?",
        makes=(*_INTEL, *_MICRON),
    ),
    CountRule("erase_failures", (176, 180), r"Erase_Fail_C(n|oun)t"),
    CountRule("erase_failures", (196,), r"Erase_Failure_Blk_Ct"),
    CountRule("interface_errors", (199, 218, 210, 211), r".*CRC.*"),
    CountRule("interface_errors", (168,), r"SATA_(PHY|Phy)_Err(or)?_C(oun)?t"),
    CountRule(
        "unsafe_shutdowns",
        (174, 192, 235, 228, 236),
        r"Unexp(ect|ected)?_(Power|Pwr).*|Unsafe_Shutdown_Count|Unclean_Shutdown_Ct"
        r"|Pwr_Cycle_Ct_Unplanned|POR_Recovery_Count|Unstable_Power_Count|Sudden_Power.*",
    ),
    CountRule("unsafe_shutdowns", (174,), "", makes=(*_INTEL, *_MICRON, "micron_dell")),
    CountRule("unsafe_shutdowns", (235,), "", makes=("samsung",)),
)


@dataclass(frozen=True, slots=True)
class SpareRule:
    """Names the attributes whose normalized value is the percentage of spare blocks that is left.

    The threshold of the attribute is a percentage too. The drive reports a failure if the value is
    at or below the threshold.

    attributes: the attribute ids, tried in this order.
    name: a regular expression that matches the whole name of the attribute.
    """

    attributes: tuple[int, ...]
    name: str


SPARE_RULES: tuple[SpareRule, ...] = (
    SpareRule((232, 170, 202), r"(Perc_Avail|Available)_Res(er|r)vd_Space"),
    SpareRule((232,), r"Spares_Remaining_Perc"),
    SpareRule((249,), r"Spares_Remaining_Perc"),
    SpareRule((170,), r"Reserved?_(Block|Blk)_(Pct|Count|Remaining)"),
    SpareRule((180, 176, 170), r"Unused_R(sv|srv|es)d_Blk_Cn?t_(Tot|Chip)|Unused_Reserve_NAND_Blk"),
    SpareRule((179,), r"Used_Rsr?vd_Blk_Cnt_Tot"),
)
