"""Builds attribute rows, identities and device statistics of fictitious ATA drives.

Structure and names are those of smartctl's documented output and of its drive database. All
numbers are made up.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveIdentity, Endurance, Protocol

NOTHING = Fields({})


def family_endurance(identity: DriveIdentity, table: Sequence[AtaAttribute]) -> Endurance | None:
    return ata_endurance(NOTHING, identity, table)


def drive(
    family: str | None = None,
    model: str = "EXAMPLE SATA 480",
    firmware: str = "EX01",
    *,
    rotational: bool | None = False,
    block: int | None = 512,
) -> DriveIdentity:
    return DriveIdentity(
        protocol=Protocol.ATA,
        model=model,
        family=family,
        firmware=firmware,
        logical_block_bytes=block,
        rotational=rotational,
    )


def row(
    number: int,
    name: str = "Unknown_Attribute",
    value: int | None = 100,
    raw: int = 0,
    text: str | None = None,
    *,
    threshold: int | None = 0,
    failed: str = "",
    prefailure: bool = False,
) -> AtaAttribute:
    """text: the raw value as smartctl formats it; by default the plain number."""
    return AtaAttribute(
        id=number,
        name=name,
        raw=raw,
        raw_text=str(raw) if text is None else text,
        value=value,
        worst=value,
        threshold=threshold,
        failed=failed,
        prefailure=prefailure,
    )


def statistics(*statistics: tuple[int, int, int], valid: bool = True) -> Fields:
    """A report with device statistics, each a tuple (page, offset, value)."""
    pages = sorted({page for page, _, _ in statistics})
    return Fields(
        {
            "ata_device_statistics": {
                "pages": [
                    {
                        "number": page,
                        "name": "Statistics",
                        "revision": 1,
                        "table": [
                            {
                                "offset": offset,
                                "name": "Statistic",
                                "size": 4,
                                "value": value,
                                "flags": {"value": 192, "string": "---", "valid": valid},
                            }
                            for its_page, offset, value in statistics
                            if its_page == page
                        ],
                    }
                    for page in pages
                ]
            }
        }
    )


#: Names and families that rules match, and others.
_NAMES = (
    "Unknown_Attribute",
    "Wear_Leveling_Count",
    "Media_Wearout_Indicator",
    "SSD_Life_Left",
    "Percent_Lifetime_Remain",
    "Percent_Life_Used",
    "Total_LBAs_Written",
    "Host_Writes_32MiB",
    "NAND_Writes_1GiB",
    "Reallocated_Sector_Ct",
    "Bad_Blk_Ct_Lat/Erl",
    "Uncorrectable_Error_Cnt",
    "Available_Reservd_Space",
    "Power_Loss_Cap_Test",
    "SuperCap_Charge_Status",
)
_FAMILIES = (
    None,
    "Samsung based SSDs",
    "Intel S3520 Series SSDs",
    "Intel 540 Series SSDs",
    "Crucial/Micron Client SSDs",
    "Micron 5100 / 52x0 / 5300 / 5400 SSDs",
    "WD Blue / Red / Green SSDs",
    "Marvell based SanDisk SSDs",
    "SanDisk based SSDs",
    "Phison Driven SSDs",
    "Silicon Motion based SSDs",
    "SK hynix SATA SSDs",
    "Toshiba HG6 Series SSD",
    "ATP SATA III Superior Line SSDs",
)

_WHOLE = st.integers(0, (1 << 64) - 1) | st.integers(0, 300)
_NORMALIZED = st.none() | st.integers(0, 255)

rows = st.builds(
    AtaAttribute,
    id=st.integers(1, 255),
    name=st.sampled_from(_NAMES) | st.text(max_size=24),
    raw=_WHOLE,
    raw_text=st.just("") | st.text(max_size=24) | _WHOLE.map(str),
    value=_NORMALIZED,
    worst=_NORMALIZED,
    threshold=_NORMALIZED,
    failed=st.sampled_from(("", "now", "past")),
    prefailure=st.booleans(),
)
tables = st.lists(rows, max_size=30, unique_by=lambda attribute: attribute.id).map(tuple)

drives = st.builds(
    drive,
    family=st.sampled_from(_FAMILIES) | st.text(max_size=24),
    model=st.sampled_from(("SanDisk SDSSDP064G", "HFS256G32TND-N1A2A")) | st.text(max_size=24),
    firmware=st.text(max_size=8),
    rotational=st.sampled_from((None, False, True)),
    block=st.sampled_from((None, 512, 4096)),
)
