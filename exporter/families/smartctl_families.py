"""Defines the metric families of smartctl_exporter, for dashboards made for it.

Names, labels and units are those of smartctl_exporter 0.9 and later. All types are gauge.
smartctl_exporter exports 0 for a value that a drive does not report; this exporter exports no
sample. Families whose meaning could differ are omitted: docs/from-smartctl-exporter.md lists them.
"""

from exporter.families.desc import MetricDesc

_DEVICE = ("device",)


def _gauge(suffix: str, text: str, *labels: str) -> MetricDesc:
    return MetricDesc(f"smartctl_device{suffix}", text, (*_DEVICE, *labels))


VERSION = MetricDesc(
    "smartctl_version",
    "Shows that these metrics are exported; the value is always 1, and the labels are empty. "
    "ssd_exporter_build_info contains the version of smartctl.",
    ("json_format_version", "smartctl_version", "svn_revision", "build_info"),
)
DEVICE = _gauge(
    "",
    "Identity of a drive; the value is always 1 (smartctl). Labels that are not known are empty.",
    "interface",
    "protocol",
    "model_family",
    "model_name",
    "serial_number",
    "ata_additional_product_id",
    "firmware_version",
    "ata_version",
    "sata_version",
    "form_factor",
)
ATTRIBUTE = _gauge(
    "_attribute",
    "ATA attribute: raw value, normalized value, worst value or threshold (smartctl).",
    "attribute_name",
    "attribute_flags_short",
    "attribute_flags_long",
    "attribute_value_type",
    "attribute_id",
)
BLOCK_SIZE = _gauge(
    "_block_size", "Logical or physical block size in bytes (smartctl).", "blocks_type"
)
CAPACITY_BLOCKS = _gauge("_capacity_blocks", "Capacity in logical blocks (smartctl).")
CAPACITY_BYTES = _gauge("_capacity_bytes", "Capacity in bytes (smartctl).")
TEMPERATURE = _gauge(
    "_temperature",
    "Temperature in degrees Celsius, and for SAS its warning limit drive_trip (smartctl).",
    "temperature_type",
)
SMART_STATUS = _gauge("_smart_status", "1 if the drive assesses itself as healthy (smartctl).")
STATUS = _gauge("_status", "The same as smartctl_device_smart_status (smartctl).")
EXIT_STATUS = _gauge("_smartctl_exit_status", "Exit status of smartctl, a bit field.")
PERCENTAGE_USED = _gauge("_percentage_used", "Used endurance in percent (NVMe SMART log).")
AVAILABLE_SPARE = _gauge("_available_spare", "Remaining spare in percent (NVMe SMART log).")
AVAILABLE_SPARE_THRESHOLD = _gauge(
    "_available_spare_threshold", "Limit of the spare in percent (NVMe SMART log)."
)
CRITICAL_WARNING = _gauge("_critical_warning", "Critical warning, a bit field (NVMe SMART log).")
MEDIA_ERRORS = _gauge("_media_errors", "Unrecovered data integrity errors (NVMe SMART log).")
ERROR_LOG_ENTRIES = _gauge("_num_err_log_entries", "Entries of the error log (NVMe SMART log).")
ERROR_LOG_COUNT = _gauge(
    "_error_log_count",
    "Errors that a SATA drive has ever logged (ATA error log).",
    "error_log_type",
)
POWER_ON = _gauge("_power_on_seconds", "Power-on time in seconds (smartctl).")
POWER_CYCLES = _gauge("_power_cycle_count", "Power cycles (smartctl).")
BYTES_READ = _gauge("_bytes_read", "Bytes that the host has read (smartctl).")
BYTES_WRITTEN = _gauge("_bytes_written", "Bytes that the host has written (smartctl).")
GROWN_DEFECTS = MetricDesc(
    "smartctl_scsi_grown_defect_list",
    "Entries of the grown defect list of a SAS drive (smartctl).",
    ("device", "model_family", "model_name", "serial_number"),
)
