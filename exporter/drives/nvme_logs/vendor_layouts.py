"""Pages of vendors with fixed positions: Micron, Toshiba, Western Digital, ScaleFlux, Seagate."""

from exporter.drives.nvme_logs.log_items import ItemLayout, read_items
from exporter.drives.nvme_logs.log_layout import LogField, LogLayout, Values, read_layout
from exporter.runtime.errors import ParseError

#: Offsets of fields that only Micron's 7400 and later have; they are reserved before.
_MICRON_COMMON = (
    LogField("bad_blocks", 12, 4),
    LogField("erase_count_min", 244, 4),
    LogField("erase_count_average", 248, 4),
    LogField("erase_count_max", 252, 4),
)

MICRON_7300 = LogLayout(
    page=0xD0,
    size=256,
    name="Micron SMART log (D0h)",
    source="illumos sys/nvme/micron.h and micron_7300.h. Program and erase failures and the bytes "
    "are reserved before the 7400, although nvme-cli prints them",
    fields=_MICRON_COMMON,
)

MICRON_7400 = LogLayout(
    page=0xE1,
    size=256,
    name="Micron SMART log (E1h)",
    source="illumos sys/nvme/micron.h and micron_74x0.h; positions as in linux-nvme/nvme-cli "
    "plugins/micron/micron-nvme.c, init_d0_log_page",
    fields=(
        *_MICRON_COMMON,
        LogField("erase_failures", 96, 8),
        LogField("uncorrectable_reads", 112, 8),
        LogField("program_failures", 144, 16),
        LogField("nand_read_bytes", 160, 16, absent=0),
        LogField("nand_written_bytes", 176, 16, absent=0),
    ),
    constants=(("nand_written_bytes", "nand_written_unit_bytes", 1),),
)

TOSHIBA = LogLayout(
    page=0xCA,
    size=512,
    name="Toshiba SMART log (CAh)",
    source="linux-nvme/nvme-cli, commit 3d52c76a7, toshiba-nvme.c",
    fields=(
        LogField("nand_written_bytes", 0, 16, absent=0),
        LogField("nand_read_bytes", 16, 16, absent=0),
        LogField("bad_blocks_spare_percent", 32, 2, maximum=100),
        LogField("bad_blocks", 34, 6),
        LogField("uncorrectable_reads", 40, 8),
        LogField("soft_ecc_errors", 48, 8),
        LogField("end_to_end_detected_errors", 56, 4),
        LogField("end_to_end_corrected_errors", 60, 4),
        LogField("system_area_used_percent", 64, 1, saturates=True),
        LogField("erase_count_max", 65, 4),
        LogField("erase_count_min", 69, 4),
        LogField("refreshed_blocks", 73, 8),
        LogField("program_failures", 83, 6),
        LogField("erase_failures", 91, 6),
        LogField("system_erase_failures", 99, 6),
        LogField("thermal_throttling_level", 105, 1, maximum=3),
        LogField("thermal_throttling_events", 106, 1, saturates=True),
        LogField("pcie_correctable_errors", 107, 8),
        LogField("incomplete_shutdowns", 115, 4),
        LogField("free_blocks_percent", 119, 1, maximum=100),
    ),
    constants=(("nand_written_bytes", "nand_written_unit_bytes", 1),),
)

WDC_SN840 = LogLayout(
    page=0xC0,
    size=118,
    name="Western Digital end-of-life log (C0h)",
    source="illumos sys/nvme/wdc_sn840.h",
    fields=(
        LogField("bad_blocks", 76, 4),
        LogField("program_failures", 96, 4),
        LogField("erase_failures", 100, 4),
    ),
)

SCALEFLUX_HEALTH = LogLayout(
    page=0xC2,
    size=148,
    name="ScaleFlux extended health log (C2h)",
    source="linux-nvme/nvme-cli plugins/scaleflux/sfx-types.h, extended_health_info_myrtle, and "
    "sfx-nvme.c: capacities in sectors of 512 bytes, ratio in percent",
    fields=(
        LogField("soft_ecc_errors", 0, 4),
        LogField("xor_recoveries", 4, 4),
        LogField("pcie_correctable_errors", 8, 4),
        LogField("pcie_uncorrectable_errors", 12, 4),
        LogField("physical_capacity_bytes", 80, 8, 512, absent=0),
        LogField("physical_free_bytes", 88, 8, 512),
        LogField("compression_ratio", 100, 4, 0.01, maximum=10_000, absent=0),
    ),
)
#: Bit 0 is set while the drive throttles. The other bits count since power-on.
_SCALEFLUX_THROTTLING = 24

SEAGATE = ItemLayout(
    page=0xC4,
    size=512,
    name="Seagate extended SMART log (C4h)",
    source="linux-nvme/nvme-cli plugins/seagate/seagate-diag.h, vendor_smart_attribute_data. "
    "Units: facebook/CacheLib NandWritesTest (Nytro XM1441), nvme-cli prints temperatures in K",
    start=2,
    fields=(
        (1, LogField("soft_ecc_errors", 4, 6)),
        (40, LogField("bad_blocks", 4, 6)),
        (42, LogField("erase_count_min", 4, 4)),
        (42, LogField("erase_count_max", 8, 4)),
        (43, LogField("refreshed_blocks", 4, 6)),
        (44, LogField("erase_failures", 4, 6)),
        (45, LogField("system_erase_failures", 4, 6)),
        (47, LogField("pcie_correctable_errors", 4, 6)),
        (48, LogField("pcie_uncorrectable_errors", 4, 6)),
        (49, LogField("incomplete_shutdowns", 4, 6)),
        (171, LogField("program_failures", 4, 6)),
        (174, LogField("unexpected_power_losses", 4, 6)),
        (188, LogField("uncorrectable_reads", 4, 6)),
        (233, LogField("nand_written_bytes", 4, 8, 512_000, absent=0)),
        (241, LogField("host_written_bytes", 4, 8, 512_000, absent=0)),
    ),
    constants=(
        ("nand_written_bytes", "nand_written_unit_bytes", 512_000),
        ("host_written_bytes", "host_written_unit_bytes", 512_000),
    ),
)
#: The only version of the page whose items have 8 bytes of data.
_SEAGATE_VERSION = 2


def scaleflux_health(data: bytes) -> Values:
    """Returns the values of page C2h of a ScaleFlux drive.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    values = read_layout(SCALEFLUX_HEALTH, data)
    throttling = data[_SCALEFLUX_THROTTLING : _SCALEFLUX_THROTTLING + 4]
    if throttling != bytes([0xFF] * 4):
        values["thermal_throttling_level"] = throttling[0] & 1
    return values


def seagate_smart(data: bytes) -> Values:
    """Returns the values of page C4h of a Seagate drive.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    values = read_items(SEAGATE, data)
    version = int.from_bytes(data[:2], "little")
    if version != _SEAGATE_VERSION:
        raise ParseError(
            f"{SEAGATE.name}: version {version} has another layout than {_SEAGATE_VERSION}"
        )
    return values
