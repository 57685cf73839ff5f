"""Defines the metric families of SMART data and of SMART polls.

A family has the same meaning for NVMe, SATA and SAS. Values that the drive itself counts have the
label `serial`. So a new drive with the same device name has new series.
"""

from exporter.families.desc import MetricDesc

_DRIVE = ("device", "serial")
_ATTRIBUTE = (*_DRIVE, "id", "attribute")

UP = MetricDesc(
    "ssd_device_up",
    "1 if the drive answered its last poll; standby counts as an answer (smartctl). 0 also if "
    "the drive has disappeared: if you removed it, run ssd-exporter forget SERIAL. An address "
    "that only the settings name has no sample before a drive has answered there. An "
    "eMMC is not polled: it is 1 while the kernel lists it.",
    _DRIVE,
)
BLOCK_INFO = MetricDesc(
    "ssd_device_block_info",
    "A block device on top of a drive behind a RAID controller; the value is always 1 "
    "(sysfs). If the controller does not report which volume contains the drive, all its "
    "volumes are listed.",
    ("device", "block"),
)
AVAILABLE = MetricDesc(
    "ssd_smart_available",
    "1 if the drive reports SMART data, 0 if it answers but reports none (smartctl). Possible "
    "causes are a drive without SMART, a bridge or controller that hides it, a missing "
    "privilege, or an invalid log: ssd-exporter check shows the cause.",
    _DRIVE,
)
HEALTHY = MetricDesc(
    "ssd_smart_healthy",
    "1 if the drive assesses itself as healthy, 0 if as failing (ATA SMART status, NVMe "
    "critical warning, SCSI informational exceptions). Most drives that fail never report it.",
    _DRIVE,
)
FAILURE_CAUSE = MetricDesc(
    "ssd_smart_failure_cause",
    "Why the drive reports a failure (ssd_smart_healthy 0), from its other values; the value is "
    "always 1. cause='failing': it fails; 'worn_out': only its rated endurance is used up; "
    "'temperature': only its temperature; 'no_failure': a flag that does not concern its data. "
    "No series if it reports no failure.",
    (*_DRIVE, "cause"),
)
REJECTED = MetricDesc(
    "ssd_smart_rejected_values",
    "Values of the last report that are not used, by reason (smartctl). 'contradicted': by another "
    "value of the drive; 'impossible': for its age, capacity or link; 'fell' and 'jumped': since "
    "the previous report; 'log_invalid': the whole log. No series if all are used.",
    (*_DRIVE, "reason"),
)
ENDURANCE_USED = MetricDesc(
    "ssd_smart_endurance_used_ratio",
    "Share of its rated endurance that the drive has used, by its own count "
    "(ssd_smart_endurance_source_info). It may exceed 1, and 1 does not mean failure. An eMMC "
    "reports ranges of 0.1, of which this is the lower bound. Some SATA drives stop counting at "
    "0.99 or 1: they have used at least that much.",
    _DRIVE,
)
ENDURANCE_SOURCE = MetricDesc(
    "ssd_smart_endurance_source_info",
    "Source of ssd_smart_endurance_used_ratio; the value is always 1. It is a standard log "
    "(nvme_log, scsi_log, ata_devstat), a rule for the drive family (family_rule), or a guess "
    "from an attribute's name (name_guess). mmc_life_time is the register of an eMMC, which the "
    "kernel reads only at boot.",
    (*_DRIVE, "source"),
)
SPARE = MetricDesc(
    "ssd_smart_spare_ratio",
    "Remaining share of the drive's spare blocks (NVMe available spare, ATA attributes, eMMC "
    "pre_eol_info). An eMMC reports only that at most 0.2 or at most 0.1 remain.",
    _DRIVE,
)
SPARE_THRESHOLD = MetricDesc(
    "ssd_smart_spare_threshold_ratio",
    "Value of ssd_smart_spare_ratio below which the drive itself warns (NVMe available spare "
    "threshold, ATA attributes; 0.1 for eMMC). It differs between makers.",
    _DRIVE,
)
TEMPERATURE = MetricDesc(
    "ssd_smart_temperature_celsius",
    "Temperature of the drive (smartctl). The drive's limits apply to sensor='drive'; sensors "
    "1 to 8 are additional NVMe sensors and may be in the hottest chip.",
    (*_DRIVE, "sensor"),
)
TEMPERATURE_WARNING = MetricDesc(
    "ssd_smart_temperature_warning_celsius",
    "Temperature of sensor='drive' above which the drive may throttle (NVMe WCTEMP, ATA and "
    "SCSI limits).",
    _DRIVE,
)
TEMPERATURE_CRITICAL = MetricDesc(
    "ssd_smart_temperature_critical_celsius",
    "Temperature of sensor='drive' above which the drive may shut down (NVMe CCTEMP, ATA limits).",
    _DRIVE,
)
OVER_TEMPERATURE = MetricDesc(
    "ssd_smart_over_temperature_seconds_total",
    "Time that the drive has spent above its warning or critical temperature (NVMe SMART log, "
    "ATA device statistics). Drives count it in minutes.",
    (*_DRIVE, "level"),
    "counter",
)
CRITICAL_WARNING = MetricDesc(
    "ssd_smart_critical_warning",
    "Each bit of the NVMe critical warning, 1 if it is set (NVMe SMART log). "
    "warning='temperature' is cleared when the drive cools down; any bit sets "
    "ssd_smart_healthy to 0 (ssd_smart_failure_cause explains it). The reserved bits have a "
    "series only while they are set.",
    (*_DRIVE, "warning"),
)
HOST_READ = MetricDesc(
    "ssd_smart_host_read_bytes_total",
    "Bytes that hosts have read over the drive's life (NVMe, ATA and SCSI logs). It grows in "
    "steps of the drive's own unit.",
    _DRIVE,
    "counter",
)
HOST_WRITTEN = MetricDesc(
    "ssd_smart_host_written_bytes_total",
    "Bytes that hosts have written over the drive's life (NVMe, ATA and SCSI logs). It grows "
    "in steps of the drive's own unit.",
    _DRIVE,
    "counter",
)
NAND_WRITTEN = MetricDesc(
    "ssd_smart_nand_written_bytes_total",
    "Bytes that the drive has written to its flash (ATA attributes, NVMe OCP and vendor logs). "
    "Divided by the host writes of the same day or longer, it is the write amplification.",
    _DRIVE,
    "counter",
)
MEDIA_ERRORS = MetricDesc(
    "ssd_smart_media_errors_total",
    "Errors that the drive could not correct, so data was lost or unreadable (NVMe, ATA and "
    "SCSI logs). Alert on growth only.",
    _DRIVE,
    "counter",
)
CORRECTED_ERRORS = MetricDesc(
    "ssd_smart_corrected_errors_total",
    "Errors that the drive corrected (SCSI error counter log, NVMe OCP and vendor logs). Fast and "
    "soft ECC is normal operation and counts millions; growth of method='retry', which is rereads "
    "and rewrites, or 'xor', which is data computed from other dies, announces uncorrectable "
    "errors.",
    (*_DRIVE, "method"),
    "counter",
)
REALLOCATED = MetricDesc(
    "ssd_smart_reallocated_sectors_total",
    "Sectors or blocks that the drive replaced with spare ones (ATA attributes, SCSI grown "
    "defect list, NVMe OCP and vendor logs). Some are normal on flash, but accelerating growth is "
    "not.",
    _DRIVE,
    "counter",
)
PENDING = MetricDesc(
    "ssd_smart_pending_sectors",
    "Sectors that could not be read and have not been rewritten yet (ATA attributes, SCSI pending "
    "defects). Some Crucial drives change to 1 and back without a defect.",
    _DRIVE,
)
PROGRAM_FAILURES = MetricDesc(
    "ssd_smart_program_failures_total",
    "Failed program operations of the flash (ATA attributes, NVMe OCP and vendor logs).",
    _DRIVE,
    "counter",
)
ERASE_FAILURES = MetricDesc(
    "ssd_smart_erase_failures_total",
    "Failed erase operations of the flash (ATA attributes, NVMe OCP and vendor logs).",
    _DRIVE,
    "counter",
)
INTERFACE_ERRORS = MetricDesc(
    "ssd_smart_interface_errors_total",
    "Transmission errors between host and drive (SATA CRC errors, SAS link errors, CRC errors of "
    "the PCIe link in NVMe vendor logs). The cause "
    "is a cable or backplane, not the flash. The count never decreases: alert on growth "
    "only.",
    _DRIVE,
    "counter",
)
ERROR_LOG_ENTRIES = MetricDesc(
    "ssd_smart_error_log_entries_total",
    "Entries that the drive has ever added to its error log (NVMe, ATA). Unsupported commands "
    "add entries too: do not alert on this.",
    _DRIVE,
    "counter",
)
POWER_ON = MetricDesc(
    "ssd_smart_power_on_seconds_total",
    "Time that the drive has been powered on (smartctl). Most drives count it in hours.",
    _DRIVE,
    "counter",
)
POWER_CYCLES = MetricDesc(
    "ssd_smart_power_cycles_total",
    "Times that the drive was powered on (smartctl).",
    _DRIVE,
    "counter",
)
UNSAFE_SHUTDOWNS = MetricDesc(
    "ssd_smart_unsafe_shutdowns_total",
    "Times that the drive lost power without prior notice (NVMe SMART log, ATA attributes).",
    _DRIVE,
    "counter",
)
CONTROLLER_BUSY = MetricDesc(
    "ssd_smart_controller_busy_seconds_total",
    "Time with a command outstanding, counted by the NVMe controller in minutes (NVMe SMART log).",
    _DRIVE,
    "counter",
)
SELF_TEST_PASSED = MetricDesc(
    "ssd_smart_self_test_passed",
    "1 if the last completed self-test found no error (self-test log).",
    _DRIVE,
)
SELF_TEST_COMPLETED = MetricDesc(
    "ssd_smart_self_test_completed_power_on_seconds",
    "Power-on time of the drive when its last completed self-test ended (self-test log). ATA "
    "logs restart at 0 after 65,536 hours; the exporter adds the missing hours.",
    _DRIVE,
)
EXIT_BIT = MetricDesc(
    "ssd_smart_exit_bit",
    "Each bit of smartctl's exit status at the last successful poll, 1 if it is set "
    "(smartctl). bit='error_log_entries' stays 1 permanently after the first entry.",
    (*_DRIVE, "bit"),
)
WEAROUT_ETA = MetricDesc(
    "ssd_smart_wearout_eta_seconds",
    "Estimated time until the rated endurance is used up (computed from the wear history). It "
    "assumes the mean load of up to 400 days, or the recent write rate if that differs by more "
    "than half; the lower and the upper bound include both. It is limited to ten years and does "
    "not predict failure.",
    (*_DRIVE, "bound"),
)
WEAROUT_METHOD = MetricDesc(
    "ssd_smart_wearout_method_info",
    "Method of the wear-out estimate; the value is always 1. From best to worst: steps, "
    "fraction, lifetime_ratio, rated_tbw.",
    (*_DRIVE, "method"),
)
FIRMWARE_ISSUE = MetricDesc(
    "ssd_smart_firmware_issue",
    "1 for a known defect of this model and firmware (built-in list). ssd-exporter check "
    "shows what to do.",
    (*_DRIVE, "issue"),
)
FIRMWARE_ISSUE_LEFT = MetricDesc(
    "ssd_smart_firmware_issue_left_seconds",
    "Remaining power-on time until a firmware defect occurs, for defects that occur at a "
    "certain power-on time (built-in list).",
    (*_DRIVE, "issue"),
)
POWER_MODE = MetricDesc(
    "ssd_smart_power_mode",
    "1 for the power mode that the drive was in at the last poll (smartctl). Other modes have "
    "no series. A poll does not wake a drive in standby, so it returns no other values.",
    (*_DRIVE, "mode"),
)
PLP_HEALTHY = MetricDesc(
    "ssd_smart_plp_healthy",
    "1 if the power-loss protection passes the drive's own check, 0 if not (NVMe critical warning "
    "and OCP log, ATA attributes). At 0, a power failure loses the data in the write cache.",
    _DRIVE,
)
ATTRIBUTE_RAW = MetricDesc(
    "ssd_ata_attribute_raw",
    "Raw 48-bit value of an ATA attribute (ATA attribute table). Its meaning is "
    "vendor-specific, and some attributes pack several numbers into one.",
    _ATTRIBUTE,
)
ATTRIBUTE_VALUE = MetricDesc(
    "ssd_ata_attribute_value",
    "Normalised value of an ATA attribute (ATA attribute table). Most decrease from 100, some "
    "increase from 0.",
    _ATTRIBUTE,
    optional=True,
)
ATTRIBUTE_WORST = MetricDesc(
    "ssd_ata_attribute_worst",
    "Lowest normalised value that the ATA attribute ever had (ATA attribute table).",
    _ATTRIBUTE,
    optional=True,
)
ATTRIBUTE_THRESHOLD = MetricDesc(
    "ssd_ata_attribute_threshold",
    "Normalised value at which the ATA attribute counts as failed (ATA attribute table). 0 "
    "means never.",
    _ATTRIBUTE,
    optional=True,
)
ATTRIBUTE_FAILED = MetricDesc(
    "ssd_ata_attribute_failed",
    "1 for an ATA attribute whose normalised value is at or below its threshold, 0 if it was so "
    "in the past (ATA attribute table). Other attributes have no series. prefailure='1' means that "
    "the maker declares it a prediction of failure; temperature and wear often have '0'.",
    (*_ATTRIBUTE, "prefailure"),
)
LAST_SUCCESS = MetricDesc(
    "ssd_smart_last_success_timestamp_seconds",
    "Unix time of the last successful poll of the drive (smartctl). All SMART values are from "
    "this poll. They are removed when they are too old.",
    _DRIVE,
)
POLL_DURATION = MetricDesc(
    "ssd_smart_poll_duration_seconds", "Duration of the last poll of the drive (smartctl).", _DRIVE
)
POLLS = MetricDesc(
    "ssd_smart_polls_total",
    "Polls of the drive since the poller started, by result (smartctl).",
    (*_DRIVE, "result"),
    "counter",
)
AGENT_HEARTBEAT = MetricDesc(
    "ssd_smart_agent_heartbeat_timestamp_seconds",
    "Unix time of the agent's last heartbeat (file in /run). No sample without an agent, when "
    "the exporter polls the drives itself.",
)
COMMAND_STUCK = MetricDesc(
    "ssd_command_stuck",
    "Processes of a program that cannot be killed because they wait for a device in the "
    "kernel. The exporter starts no further process for that device.",
    ("command",),
)
