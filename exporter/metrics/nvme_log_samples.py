"""Returns the samples of the log pages of an NVMe drive. Imported only if a drive has some."""

from collections.abc import Iterator

from exporter.drives.nvme_logs.drive_latency import OPERATIONS, DriveLatency
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.families import nvme_log_families as metrics
from exporter.families.desc import MetricDesc, Sample

#: The families with one number per drive, and the field of `NvmeLogValues` that contains it.
NUMBERS: tuple[tuple[MetricDesc, str], ...] = (
    (metrics.THROTTLING, "thermal_throttling_level"),
    (metrics.INCOMPLETE_SHUTDOWNS, "incomplete_shutdowns"),
    (metrics.UNALIGNED_WRITES, "unaligned_writes"),
    (metrics.DIES_OFFLINE, "media_dies_offline"),
)

#: The same for ratios, of which the drive reports percents.
PERCENTS: tuple[tuple[MetricDesc, str], ...] = (
    (metrics.CAPACITOR_HEALTH, "capacitor_health_percent"),
    (metrics.SYSTEM_AREA_USED, "system_area_used_percent"),
)

#: The families with several series per drive: the last label, the field, and the unit of the field.
LABELLED: tuple[tuple[MetricDesc, str, str, float], ...] = (
    (metrics.BAD_BLOCK_SPARE, "drive", "bad_blocks_spare_percent", 0.01),
    (metrics.BAD_BLOCK_SPARE, "user", "bad_user_blocks_spare_percent", 0.01),
    (metrics.BAD_BLOCK_SPARE, "system", "bad_system_blocks_spare_percent", 0.01),
    (metrics.END_TO_END, "detected", "end_to_end_detected_errors", 1),
    (metrics.END_TO_END, "corrected", "end_to_end_corrected_errors", 1),
    (metrics.PCIE_ERRORS, "correctable", "pcie_correctable_errors", 1),
    (metrics.PCIE_ERRORS, "uncorrectable", "pcie_uncorrectable_errors", 1),
    (metrics.THROTTLING_EVENTS, "any", "thermal_throttling_events", 1),
    (metrics.THROTTLING_EVENTS, "light", "thermal_management_1_transitions", 1),
    (metrics.THROTTLING_EVENTS, "heavy", "thermal_management_2_transitions", 1),
    (metrics.THROTTLING_SECONDS, "light", "thermal_management_1_seconds", 1),
    (metrics.THROTTLING_SECONDS, "heavy", "thermal_management_2_seconds", 1),
)

#: The name of an operation of the drive in the label `op`.
_OPS = {"read": "read", "write": "write", "deallocate": "discard"}


def log_samples(logs: ParsedLogs, labels: tuple[str, str]) -> Iterator[Sample]:
    """Yields the samples of the log pages of a drive.

    labels: its device name and serial number.
    """
    for number in logs.missing:
        yield metrics.LOG_MISSING(1, *labels, f"{number:#04x}", logs.reason(number).value)
    yield from _values(logs.values, labels)
    if logs.latency is not None:
        yield from _latency(logs.latency, labels)


def _values(values: NvmeLogValues, labels: tuple[str, str]) -> Iterator[Sample]:
    for desc, field in NUMBERS:
        if (number := getattr(values, field)) is not None:
            yield desc(number, *labels)
    if values.thermal_throttling_level is None and values.thermal_throttling_percent is not None:
        yield metrics.THROTTLING(int(values.thermal_throttling_percent > 0), *labels)
    for desc, field in PERCENTS:
        if (percent := getattr(values, field)) is not None:
            yield desc(percent / 100, *labels)
    for desc, label, field, factor in LABELLED:
        if (number := getattr(values, field)) is not None:
            yield desc(number * factor, *labels, label)


def _latency(latency: DriveLatency, labels: tuple[str, str]) -> Iterator[Sample]:
    for operation in OPERATIONS:
        op = _OPS[operation]
        slowest = latency.slowest(operation)
        if slowest is not None and slowest.latency_seconds is not None:
            yield metrics.SLOWEST_REQUEST(slowest.latency_seconds, *labels, op)
        for bucket in latency.active:
            count = bucket.commands(operation).count
            yield metrics.SLOW_REQUESTS(count, *labels, op, f"{bucket.min_seconds:g}")
