"""The log pages of the OCP Datacenter NVMe SSD Specification: SMART (C0h) and latency (C3h).

Source: OCP Datacenter NVMe SSD Specification 2.7 (versions 1.0 to 2.7 of the pages differ only by
added fields), sections 4.8.6, 4.8.9 and 22; numbers of versions: illumos sys/nvme/ocp.h, and
linux-nvme/nvme-cli plugins/ocp.
"""

from exporter.drives.nvme_logs.drive_latency import DriveLatency, LatencyBucket, SlowCommands
from exporter.drives.nvme_logs.log_layout import (
    LogField,
    LogLayout,
    Values,
    page_version,
    read_layout,
)
from exporter.runtime.errors import ParseError

#: The version of page C0h by the version of the specification: 1.0 has 2, 2.0 has 3, 2.5 has 4,
#: 2.6 has 5 and 2.7 has 6.
_V2_0, _V2_6, _V2_7 = 3, 5, 6

OCP_SMART = LogLayout(
    page=0xC0,
    size=512,
    name="OCP SMART log (C0h)",
    source="OCP Datacenter NVMe SSD Specification 2.7, 4.8.6, SMART-1 to SMART-52",
    guid=bytes.fromhex("AFD514C97C6F4F9CA4F2BFEA2810AFC5")[::-1],
    version=(494, 2, _V2_7),
    constants=(("nand_written_bytes", "nand_written_unit_bytes", 1),),
    fields=(
        LogField("nand_written_bytes", 0, 16),
        LogField("nand_read_bytes", 16, 16),
        LogField("bad_user_blocks", 32, 6),
        LogField("bad_user_blocks_spare_percent", 38, 2, maximum=100),
        LogField("bad_system_blocks", 40, 6),
        LogField("bad_system_blocks_spare_percent", 46, 2, maximum=100),
        LogField("xor_recoveries", 48, 8),
        LogField("uncorrectable_reads", 56, 8),
        LogField("soft_ecc_errors", 64, 8),
        LogField("end_to_end_detected_errors", 72, 4),
        LogField("end_to_end_corrected_errors", 76, 4),
        LogField("system_area_used_percent", 80, 1, saturates=True),
        LogField("refreshed_blocks", 81, 7),
        LogField("erase_count_max", 88, 4),
        LogField("erase_count_min", 92, 4),
        LogField("thermal_throttling_events", 96, 1, saturates=True),
        LogField("thermal_throttling_level", 97, 1, maximum=3),
        LogField("pcie_correctable_errors", 104, 8),
        LogField("incomplete_shutdowns", 112, 4),
        LogField("free_blocks_percent", 120, 1, maximum=100),
        LogField("capacitor_health_percent", 128, 2),
        LogField("proactive_die_retirements", 134, 2, since=_V2_7),
        LogField("unaligned_writes", 136, 8),
        LogField("plp_starts", 160, 16),
        LogField("endurance_estimate_bytes", 176, 16, absent=0),
        LogField("pcie_link_retrainings", 192, 8, since=_V2_0),
        LogField("power_state_changes", 200, 8, since=_V2_0),
        LogField("media_dies", 216, 2, since=_V2_6, absent=0),
        LogField("die_failure_tolerance", 218, 2, since=_V2_6),
        LogField("media_dies_offline", 220, 2, since=_V2_6),
        LogField("temperature_max_celsius", 222, 1, 1.0, since=_V2_6, maximum=150, absent=0),
        LogField("erase_count_average", 224, 8, since=_V2_6),
        LogField("command_timeouts", 232, 4, since=_V2_6),
        LogField("system_program_failures", 236, 4, since=_V2_6),
        LogField("system_uncorrectable_reads", 244, 4, since=_V2_6),
        LogField("system_erase_failures", 252, 4, since=_V2_6),
    ),
)

#: Version 2.7 of the specification states that the endurance estimate is in bytes. Drives that
#: report it in the unit of page 09h, 10^9 bytes, exist (docs/nvme-logs.md). No drive has an
#: endurance below 10^12 bytes, and none of 10^18 bytes.
_ESTIMATE_GB_LIMIT = 10**9
_ESTIMATE_BYTES_LIMIT = 10**12
_GB = 10**9

#: FFh in all bytes of both fields means that `bad_user_blocks` counts all blocks of the drive.
_BAD_SYSTEM_BLOCKS = slice(40, 48)

OCP_LATENCY = LogLayout(
    page=0xC3,
    size=512,
    name="OCP latency log (C3h)",
    source="OCP Datacenter NVMe SSD Specification 2.7, 4.8.9, LMDATA-1 to LMDATA-37",
    guid=bytes.fromhex("85D45E58D4E643709C6C84D08CC07A92")[::-1],
    version=(494, 2, 5),
    fields=(),
)

_BUCKETS = 4
#: Positions of the active and of the static buckets: counters, times, latencies and the bits that
#: state the clock of each time.
_ACTIVE = (32, 96, 192, 216)
_STATIC = (240, 304, 400, 424)
#: In a bucket the deallocate command stands first, and read last. The counters begin with a
#: reserved number and with bucket 0. The times and the latencies begin with bucket 3.
_PLACES = {"deallocate": 0, "write": 1, "read": 2}
#: The bits of `_CONFIGURATION` and of the clocks: three for each bucket, beginning with bucket 0.
_BITS = {"read": 0, "write": 1, "deallocate": 2}
_THRESHOLDS, _CONFIGURATION = 6, 10
_MINUTES_5 = 300.0
#: The first 48 bits of a time are milliseconds (NVMe base specification, Timestamp).
_TIME_BYTES = 6


def ocp_smart(data: bytes) -> Values:
    """Returns the values of page C0h, keyed by the field of `NvmeLogValues`.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    values = read_layout(OCP_SMART, data)
    if data[_BAD_SYSTEM_BLOCKS] == bytes([0xFF] * 8) and "bad_user_blocks" in values:
        values["bad_blocks"] = values.pop("bad_user_blocks")
        percent = values.pop("bad_user_blocks_spare_percent", None)
        if percent is not None:
            values["bad_blocks_spare_percent"] = percent
    estimate = values.get("endurance_estimate_bytes", _ESTIMATE_BYTES_LIMIT)
    if estimate < _ESTIMATE_GB_LIMIT:
        values["endurance_estimate_bytes"] = estimate * _GB
    elif estimate < _ESTIMATE_BYTES_LIMIT:
        del values["endurance_estimate_bytes"]
    return values


def ocp_latency(data: bytes) -> DriveLatency:
    """Returns the buckets of page C3h.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    page_version(OCP_LATENCY, data)
    has_latencies = bool(data[0] & 4)
    if not data[0] & 1:
        return DriveLatency(enabled=False, has_latencies=has_latencies)
    thresholds = data[_THRESHOLDS : _THRESHOLDS + _BUCKETS]
    if list(thresholds) != sorted(set(thresholds)):
        raise ParseError(f"{OCP_LATENCY.name}: its thresholds do not increase: {thresholds.hex()}")
    window = _number(data, 4, 2)
    return DriveLatency(
        enabled=True,
        has_latencies=has_latencies,
        active=_buckets(data, _ACTIVE),
        static=_buckets(data, _STATIC) if window else (),
        active_seconds=_number(data, 2, 2) * _MINUTES_5,
        window_seconds=window * _MINUTES_5 if window else None,
    )


def _buckets(data: bytes, place: tuple[int, int, int, int]) -> tuple[LatencyBucket, ...]:
    # A threshold of n means n + 1 steps of 5 ms.
    bounds = [(data[_THRESHOLDS + bucket] + 1) * 5 / 1000 for bucket in range(_BUCKETS)]
    ends = [*bounds[1:], None]
    return tuple(
        LatencyBucket(
            bounds[bucket],
            ends[bucket],
            _commands(data, place, bucket, "read"),
            _commands(data, place, bucket, "write"),
            _commands(data, place, bucket, "deallocate"),
        )
        for bucket in range(_BUCKETS)
    )


def _commands(
    data: bytes, place: tuple[int, int, int, int], bucket: int, operation: str
) -> SlowCommands:
    counters, times, latencies, clocks = place
    position = _PLACES[operation]
    reverse = 3 * (_BUCKETS - 1 - bucket) + position
    bit = 3 * bucket + _BITS[operation]
    count = _number(data, counters + 16 * bucket + 4 * (position + 1), 4)
    milliseconds = _number(data, latencies + 2 * reverse, 2)
    if not milliseconds:
        return SlowCommands(count)
    stamp = data[times + 8 * reverse :][:8]
    is_valid = stamp != bytes([0xFF] * 8)
    return SlowCommands(
        count,
        latency_seconds=milliseconds / 1000,
        is_worst=bool(_number(data, _CONFIGURATION, 2) >> bit & 1),
        at_seconds=_number(stamp, 0, _TIME_BYTES) / 1000 if is_valid else None,
        has_wall_clock=is_valid and bool(_number(data, clocks, 2) >> bit & 1),
    )


def _number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")
