"""SMART, one meaning on NVMe, SATA and SAS; and how the asking went.

What the drive itself counts or says carries its serial number: a replaced drive is a new series.
"""

from exporter.metrics.desc import MetricDesc

_DRIVE = ("device", "serial")
_ATTRIBUTE = (*_DRIVE, "id", "attribute")

UP = MetricDesc(
    "ssd_device_up",
    "1 if the drive answered when it was last asked for SMART, also to say that it sleeps; 0 if "
    "it did not, or has vanished. Forget one that was removed: ssd-exporter forget SERIAL.",
    _DRIVE,
)
BLOCK_INFO = MetricDesc(
    "ssd_device_block_info",
    "A block device that a drive behind a controller stands under. Where the controller keeps to "
    "itself which drive is in which volume, it is every volume of the controller.",
    ("device", "block"),
)
AVAILABLE = MetricDesc(
    "ssd_smart_available",
    "1 if the drive tells of its health; 0 if it answers and SMART is not to be had: it has none, "
    "a bridge or controller hides it, or smartctl lacks a right (ssd-exporter check says which).",
    _DRIVE,
)
HEALTHY = MetricDesc(
    "ssd_smart_healthy",
    "The drive's own verdict, 0 is failing (ATA SMART status, NVMe critical warning, SCSI "
    "informational exceptions). Most drives that fail never say so.",
    _DRIVE,
)
ENDURANCE_USED = MetricDesc(
    "ssd_smart_endurance_used_ratio",
    "How much of its rated endurance the drive has used, by its own count. It may exceed 1, and no "
    "failure follows from 1; no sample where the drive does not say.",
    _DRIVE,
)
ENDURANCE_SOURCE = MetricDesc(
    "ssd_smart_endurance_source_info",
    "Where the wear level comes from: a standard log (nvme_log, scsi_log, ata_devstat), a rule for "
    "the drive's family (family_rule), or the mere name of an attribute (name_guess).",
    (*_DRIVE, "source"),
)
SPARE = MetricDesc(
    "ssd_smart_spare_ratio", "Spare blocks that are left, of those that the drive had.", _DRIVE
)
SPARE_THRESHOLD = MetricDesc(
    "ssd_smart_spare_threshold_ratio",
    "The spare at which the drive itself warns. It differs from maker to maker.",
    _DRIVE,
)
TEMPERATURE = MetricDesc(
    "ssd_smart_temperature_celsius",
    "Temperature. sensor='drive' is what the drive's limits are about; 1 to 8 are NVMe's further "
    "sensors, which may sit in the hottest chip.",
    (*_DRIVE, "sensor"),
)
TEMPERATURE_WARNING = MetricDesc(
    "ssd_smart_temperature_warning_celsius",
    "The drive's own limit for sensor='drive' above which it may slow down (NVMe WCTEMP).",
    _DRIVE,
)
TEMPERATURE_CRITICAL = MetricDesc(
    "ssd_smart_temperature_critical_celsius",
    "The drive's own limit for sensor='drive' above which it may stop (NVMe CCTEMP).",
    _DRIVE,
)
OVER_TEMPERATURE = MetricDesc(
    "ssd_smart_over_temperature_seconds_total",
    "Time that the drive has spent above its warning or critical temperature. Counted in minutes.",
    (*_DRIVE, "level"),
    "counter",
)
CRITICAL_WARNING = MetricDesc(
    "ssd_smart_critical_warning",
    "The bits of NVMe's critical warning, each 1 or 0. warning='temperature' is heat alone and "
    "goes away with it; any bit makes ssd_smart_healthy 0.",
    (*_DRIVE, "warning"),
)
HOST_READ = MetricDesc(
    "ssd_smart_host_read_bytes_total",
    "Bytes that hosts have read over the drive's life, in steps of the drive's unit.",
    _DRIVE,
    "counter",
)
HOST_WRITTEN = MetricDesc(
    "ssd_smart_host_written_bytes_total",
    "Bytes that hosts have written over the drive's life, in steps of the drive's unit.",
    _DRIVE,
    "counter",
)
NAND_WRITTEN = MetricDesc(
    "ssd_smart_nand_written_bytes_total",
    "Bytes that the drive has written to its flash. Over a day or more, divided by what hosts "
    "wrote, it is the write amplification.",
    _DRIVE,
    "counter",
)
MEDIA_ERRORS = MetricDesc(
    "ssd_smart_media_errors_total",
    "Errors that the drive could not correct: data lost, or not readable. Watch growth.",
    _DRIVE,
    "counter",
)
REALLOCATED = MetricDesc(
    "ssd_smart_reallocated_sectors_total",
    "Sectors or blocks replaced by spare ones (SCSI: the grown defect list). Some are usual on "
    "flash; growth that speeds up is not.",
    _DRIVE,
    "counter",
)
PENDING = MetricDesc(
    "ssd_smart_pending_sectors",
    "Sectors that could not be read and wait to be written anew. Some Crucial drives step to 1 "
    "and back without meaning it.",
    _DRIVE,
)
PROGRAM_FAILURES = MetricDesc(
    "ssd_smart_program_failures_total", "Flash programs that failed.", _DRIVE, "counter"
)
ERASE_FAILURES = MetricDesc(
    "ssd_smart_erase_failures_total", "Flash erases that failed.", _DRIVE, "counter"
)
INTERFACE_ERRORS = MetricDesc(
    "ssd_smart_interface_errors_total",
    "Transfers that failed their check on the way (SATA CRC): the cable or backplane, not the "
    "flash. It never falls, so only growth counts.",
    _DRIVE,
    "counter",
)
ERROR_LOG_ENTRIES = MetricDesc(
    "ssd_smart_error_log_entries_total",
    "Entries that the drive has ever made in its error log. Commands that it does not know make "
    "entries too: no ground for an alert.",
    _DRIVE,
    "counter",
)
POWER_ON = MetricDesc(
    "ssd_smart_power_on_seconds_total",
    "Time that the drive has been powered. Counted in hours by most.",
    _DRIVE,
    "counter",
)
POWER_CYCLES = MetricDesc(
    "ssd_smart_power_cycles_total", "Times that the drive was switched on.", _DRIVE, "counter"
)
UNSAFE_SHUTDOWNS = MetricDesc(
    "ssd_smart_unsafe_shutdowns_total",
    "Times that power went without the drive being told first.",
    _DRIVE,
    "counter",
)
CONTROLLER_BUSY = MetricDesc(
    "ssd_smart_controller_busy_seconds_total",
    "Time with a command outstanding, as the NVMe controller counts it, in minutes.",
    _DRIVE,
    "counter",
)
SELF_TEST_PASSED = MetricDesc(
    "ssd_smart_self_test_passed", "1 if the last self-test that ended found nothing.", _DRIVE
)
SELF_TEST_COMPLETED = MetricDesc(
    "ssd_smart_self_test_completed_power_on_seconds",
    "The drive's power-on time when the last self-test ended. ATA drives count 65,536 hours and "
    "begin anew.",
    _DRIVE,
)
EXIT_BIT = MetricDesc(
    "ssd_smart_exit_bit",
    "The bits of smartctl's exit status at the last poll that the drive answered. "
    "bit='error_log_entries' stays 1 for ever once there is one.",
    (*_DRIVE, "bit"),
)
WEAROUT_ETA = MetricDesc(
    "ssd_smart_wearout_eta_seconds",
    "Time until the rated endurance is used up if the load stays as it is: the estimate (mid) and "
    "how soon and how late it may be. Capped at ten years; no date of failure.",
    (*_DRIVE, "bound"),
)
WEAROUT_METHOD = MetricDesc(
    "ssd_smart_wearout_method_info",
    "How the wear-out is estimated, best first: steps, fraction, lifetime_ratio, rated_tbw.",
    (*_DRIVE, "method"),
)
FIRMWARE_ISSUE = MetricDesc(
    "ssd_smart_firmware_issue",
    "1 for a defect that this model with this firmware is known for. "
    "ssd-exporter check says what to do.",
    (*_DRIVE, "issue"),
)
FIRMWARE_ISSUE_LEFT = MetricDesc(
    "ssd_smart_firmware_issue_left_seconds",
    "Power-on time until the defect strikes, for those that strike at a certain age.",
    (*_DRIVE, "issue"),
)
POWER_MODE = MetricDesc(
    "ssd_smart_power_mode",
    "1 for the power mode in which the drive was found; the others have no series. One found in "
    "standby is not woken, and says no more than this.",
    (*_DRIVE, "mode"),
)
PLP_HEALTHY = MetricDesc(
    "ssd_smart_plp_healthy",
    "1 if the power-loss protection passes the drive's own check, 0 if not: what is in the write "
    "cache is lost with the power. No sample where the drive does not say.",
    _DRIVE,
)
ATTRIBUTE_RAW = MetricDesc(
    "ssd_ata_attribute_raw",
    "The raw number of an ATA attribute, all 48 bits. The maker alone knows its meaning, and some "
    "pack several numbers into one.",
    _ATTRIBUTE,
)
ATTRIBUTE_VALUE = MetricDesc(
    "ssd_ata_attribute_value",
    "The normalised value of an ATA attribute. Most fall from 100, some rise from 0.",
    _ATTRIBUTE,
    optional=True,
)
ATTRIBUTE_WORST = MetricDesc(
    "ssd_ata_attribute_worst",
    "The lowest normalised value that the attribute ever had.",
    _ATTRIBUTE,
    optional=True,
)
ATTRIBUTE_THRESHOLD = MetricDesc(
    "ssd_ata_attribute_threshold",
    "The normalised value at which the attribute has failed. 0 means that it never does.",
    _ATTRIBUTE,
    optional=True,
)
LAST_SUCCESS = MetricDesc(
    "ssd_smart_last_success_timestamp_seconds",
    "Unix time at which the drive last answered. Its values are those of then, and are shown no "
    "longer once they are too old.",
    _DRIVE,
)
POLL_DURATION = MetricDesc(
    "ssd_smart_poll_duration_seconds", "How long the last smartctl took for this drive.", _DRIVE
)
POLLS = MetricDesc(
    "ssd_smart_polls_total",
    "Polls of the drive since the poller began, by how they ended.",
    (*_DRIVE, "result"),
    "counter",
)
AGENT_HEARTBEAT = MetricDesc(
    "ssd_smart_agent_heartbeat_timestamp_seconds",
    "Unix time at which the smart-agent last said that it lives. No sample where there is no agent "
    "and the exporter asks the drives itself.",
)
COMMAND_STUCK = MetricDesc(
    "ssd_command_stuck",
    "Processes of a program that cannot be ended, for they wait within the kernel for a device. "
    "They are left alone, and no other one is started on the same device.",
    ("command",),
)
