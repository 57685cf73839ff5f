"""The page CAh of Intel and Solidigm, and those of makers that use its items.

An item has 12 bytes: the identifier, 2 reserved, a normalised value, 1 reserved, a raw value of 6
bytes, 1 reserved.
"""

from exporter.drives.nvme_logs.log_items import ItemLayout, items, read_items
from exporter.drives.nvme_logs.log_layout import LogField, Values, require_content
from exporter.runtime.errors import ParseError

#: The unit of the byte counters F4h and F5h, in bytes.
_MIB_32 = 32 << 20

#: The normalised value and the raw value within an item.
_NORMALISED, _RAW = 3, 5

_ERASE_COUNTS = (
    (0xAD, LogField("erase_count_min", 5, 2)),
    (0xAD, LogField("erase_count_max", 7, 2)),
    (0xAD, LogField("erase_count_average", 9, 2)),
)
_COUNTS = (
    (0xAB, LogField("program_failures", _RAW, 6)),
    (0xAC, LogField("erase_failures", _RAW, 6)),
    (0xB8, LogField("end_to_end_detected_errors", _RAW, 6)),
)
_BYTES = (
    (0xF4, LogField("nand_written_bytes", _RAW, 6, _MIB_32)),
    (0xF5, LogField("host_written_bytes", _RAW, 6, _MIB_32)),
)
_UNITS = (
    ("nand_written_bytes", "nand_written_unit_bytes", _MIB_32),
    ("host_written_bytes", "host_written_unit_bytes", _MIB_32),
)
#: A percentage and, in the next 4 bytes, a count.
_THROTTLING = (
    (0xEA, LogField("thermal_throttling_percent", 5, 1, maximum=100)),
    (0xEA, LogField("thermal_throttling_events", 6, 4)),
)

INTEL = ItemLayout(
    page=0xCA,
    size=512,
    name="Intel and Solidigm SMART log (CAh)",
    source="linux-nvme/nvme-cli plugins/intel/intel-nvme.c and plugins/solidigm/solidigm-smart.c; "
    "illumos sys/nvme/solidigm.h; unit of F4h: facebook/CacheLib NandWritesTest (P3600)",
    fields=(
        *_COUNTS,
        *_ERASE_COUNTS,
        *_BYTES,
        *_THROTTLING,
        (0xAE, LogField("unexpected_power_losses", _RAW, 6)),
        (0xC7, LogField("link_crc_errors", _RAW, 6)),
        (0xFE, LogField("xor_recoveries", _RAW, 6)),
    ),
    constants=_UNITS,
)

#: With one of these items, C7h counts bad transaction layer packets, and not CRC errors.
_PCIE_ITEMS = frozenset({0xE7, 0xE8})

DAPUSTOR = ItemLayout(
    page=0xCA,
    size=156,
    name="DapuStor SMART log (CAh)",
    source="linux-nvme/nvme-cli plugins/dapustor/dapustor-nvme.c. It does not state the unit of "
    "the byte counters, which are not used",
    fields=(
        (0, LogField("program_failures", _RAW, 6)),
        (1, LogField("erase_failures", _RAW, 6)),
        (2, LogField("erase_count_min", 5, 2)),
        (2, LogField("erase_count_max", 7, 2)),
        (2, LogField("erase_count_average", 9, 2)),
        (3, LogField("end_to_end_detected_errors", _RAW, 6)),
        (4, LogField("link_crc_errors", _RAW, 6)),
        (8, LogField("thermal_throttling_percent", 5, 1, maximum=100)),
        (8, LogField("thermal_throttling_events", 6, 4)),
    ),
    by_position=True,
)

DAPUSTOR_EXTENDED = ItemLayout(
    page=0xCB,
    size=240,
    name="DapuStor extended SMART log (CBh)",
    source="linux-nvme/nvme-cli plugins/dapustor/dapustor-nvme.c",
    fields=(
        (5, LogField("plp_normalized", _NORMALISED, 1, maximum=100)),
        (6, LogField("uncorrectable_reads", _RAW, 6)),
        (15, LogField("xor_recoveries", _RAW, 6)),
    ),
    by_position=True,
)

SCALEFLUX = ItemLayout(
    page=0xCA,
    size=276,
    name="ScaleFlux SMART log (CAh)",
    source="linux-nvme/nvme-cli plugins/scaleflux/sfx-types.h and sfx-nvme.c. They do not state "
    "the unit of the byte counters, which are not used",
    fields=(
        (0, LogField("program_failures", _RAW, 6)),
        (1, LogField("erase_failures", _RAW, 6)),
        (2, LogField("erase_count_min", 5, 2)),
        (2, LogField("erase_count_max", 7, 2)),
        (2, LogField("erase_count_average", 9, 2)),
        (3, LogField("end_to_end_detected_errors", _RAW, 6)),
        (4, LogField("link_crc_errors", _RAW, 6)),
        (8, LogField("thermal_throttling_percent", 5, 1, maximum=100)),
        (8, LogField("thermal_throttling_events", 6, 4)),
        (13, LogField("xor_recoveries", _RAW, 6)),
        (17, LogField("soft_ecc_errors", _RAW, 6)),
        (22, LogField("bad_blocks", _RAW, 6)),
    ),
    by_position=True,
)

MEMBLAZE = ItemLayout(
    page=0xCA,
    size=512,
    name="Memblaze SMART log (CAh)",
    source="linux-nvme/nvme-cli plugins/memblaze/memblaze-utils.h (new format) and "
    "memblaze-smart-log-add-x.c, version 0. C7h packs two ports and is not used",
    fields=(
        *_COUNTS,
        *_ERASE_COUNTS,
        *_BYTES,
        *_THROTTLING,
        (0xFA, LogField("nand_read_bytes", _RAW, 6, _MIB_32)),
        (0xF2, LogField("uncorrectable_reads", _RAW, 6)),
    ),
    constants=_UNITS,
)

MEMBLAZE_2 = ItemLayout(
    page=0xCA,
    size=512,
    name="Memblaze SMART log (CAh, version 2)",
    source="linux-nvme/nvme-cli plugins/memblaze/memblaze-smart-log-add-x.c, version 2. It does "
    "not state the unit of the byte counters, which are not used",
    fields=(
        *_COUNTS,
        *_ERASE_COUNTS,
        (0xC7, LogField("link_crc_errors", _RAW, 6)),
        (0xEA, LogField("thermal_throttling_level", 5, 1, maximum=3)),
        (0xEA, LogField("thermal_throttling_events", 6, 4)),
        (0xFE, LogField("xor_recoveries", _RAW, 6)),
    ),
)

MEMBLAZE_OLD = ItemLayout(
    page=0xCA,
    size=512,
    name="Memblaze SMART log (CAh, old format)",
    source="linux-nvme/nvme-cli plugins/memblaze/memblaze-utils.h (old format) and "
    "memblaze-nvme.c. EDh and EEh are the errors of the two ports",
    fields=(
        (0xF5, LogField("host_written_bytes", _RAW, 6, 1 << 30)),
        (0xAD, LogField("erase_count_min", 5, 2)),
        (0xAD, LogField("erase_count_max", 7, 2)),
        (0xAD, LogField("erase_count_average", 9, 2)),
        (0xEB, LogField("thermal_throttling_events", 6, 4)),
        (0xEC, LogField("plp_normalized", _RAW, 1, maximum=100)),
        (0xED, LogField("pcie_correctable_errors", _RAW, 6)),
        (0xEE, LogField("pcie_correctable_errors", _RAW, 6)),
        (0xEF, LogField("end_to_end_detected_errors", _RAW, 6)),
        (0xF0, LogField("erase_failures", _RAW, 6)),
        (0xF1, LogField("program_failures", _RAW, 6)),
        (0xF2, LogField("uncorrectable_reads", _RAW, 6)),
    ),
    constants=(("host_written_bytes", "host_written_unit_bytes", 1 << 30),),
    sums=frozenset({"pcie_correctable_errors"}),
)


#: Models that begin with "P" and sort before this one have the old format
#: (linux-nvme/nvme-cli plugins/memblaze/memblaze-nvme.c).
_MEMBLAZE_NEW = "P5920"
_MEMBLAZE_VERSIONS = {0: MEMBLAZE, 2: MEMBLAZE_2}
_MEMBLAZE_VERSION_OFFSET = 511


def memblaze_smart(data: bytes, model: str) -> Values:
    """Returns the values of page CAh of a Memblaze drive. Model and version select the format.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    if model.startswith("P") and model < _MEMBLAZE_NEW:
        return read_items(MEMBLAZE_OLD, data)
    require_content(data, MEMBLAZE.size, MEMBLAZE.name)
    version = data[_MEMBLAZE_VERSION_OFFSET]
    if version not in _MEMBLAZE_VERSIONS:
        raise ParseError(f"{MEMBLAZE.name}: no layout is known for its version {version}")
    return read_items(_MEMBLAZE_VERSIONS[version], data)


def intel_smart(data: bytes) -> Values:
    """Returns the values of page CAh of an Intel or Solidigm drive.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    values = read_items(INTEL, data)
    if _PCIE_ITEMS & items(INTEL, data).keys():
        values.pop("link_crc_errors", None)
    return values
