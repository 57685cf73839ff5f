"""Defines the metric families of the log pages of NVMe drives beyond the SMART log.

Values with the same meaning on SATA and SAS drives are in the families of `smart_families`. The
pages are those of docs/nvme-logs.md. "OCP" is page C0h of the OCP Datacenter NVMe SSD
Specification.
"""

from exporter.families.desc import MetricDesc

_DRIVE = ("device", "serial")

LOG_MISSING = MetricDesc(
    "ssd_smart_log_missing",
    "A log page that the drive should have and whose values are missing; the value is always 1 "
    "(NVMe Get Log Page). reason='refused': the drive refuses it; 'timeout': it did not answer; "
    "neither is asked again before a firmware update. 'failed': the kernel did not read it; "
    "'invalid': its content. All other values of the drive are valid.",
    (*_DRIVE, "log", "reason"),
)
CAPACITOR_HEALTH = MetricDesc(
    "ssd_smart_capacitor_health_ratio",
    "Energy of the capacitor for a loss of power, above what it needs: 1 is the least for a new "
    "drive, 0.01 the least for a safe shutdown (NVMe OCP log). No sample from drives without one.",
    _DRIVE,
)
BAD_BLOCK_SPARE = MetricDesc(
    "ssd_smart_bad_block_spare_ratio",
    "Remaining share of the spare flash blocks of an area: 'user' data, or 'system' data such as "
    "the firmware (NVMe OCP log). 'drive' is of a drive that does not distinguish them.",
    (*_DRIVE, "area"),
)
SYSTEM_AREA_USED = MetricDesc(
    "ssd_smart_system_area_used_ratio",
    "Share of the rated endurance of the area for firmware and tables that the drive has used "
    "(NVMe OCP log).",
    _DRIVE,
)
END_TO_END = MetricDesc(
    "ssd_smart_end_to_end_errors_total",
    "Errors inside the drive, for example in its memory, that its end-to-end protection found "
    "(NVMe OCP and vendor logs). result='detected' includes the corrected ones.",
    (*_DRIVE, "result"),
    "counter",
)
PCIE_ERRORS = MetricDesc(
    "ssd_smart_pcie_errors_total",
    "Errors of the PCIe link that the drive has counted (NVMe OCP and vendor logs). The link "
    "repeats what had a correctable error, so only growth matters.",
    (*_DRIVE, "severity"),
    "counter",
)
THROTTLING = MetricDesc(
    "ssd_smart_thermal_throttling_level",
    "Current thermal throttling by the drive: 0 none, 1 to 3 the level (NVMe OCP and vendor "
    "logs). 1 is also the value of a drive that does not distinguish levels.",
    _DRIVE,
)
THROTTLING_EVENTS = MetricDesc(
    "ssd_smart_thermal_throttling_events_total",
    "Times that the drive began to throttle. level='any': by its own count (NVMe OCP and vendor "
    "logs; an OCP drive counts to 255 only). 'light' and 'heavy': at a limit of the "
    "host-controlled thermal management, with little effect on performance or whatever the effect "
    "(NVMe SMART log; no series from a drive without it).",
    (*_DRIVE, "level"),
    "counter",
)
THROTTLING_SECONDS = MetricDesc(
    "ssd_smart_thermal_throttling_seconds_total",
    "Time in the states of ssd_smart_thermal_throttling_events_total (NVMe SMART log).",
    (*_DRIVE, "level"),
    "counter",
)
INCOMPLETE_SHUTDOWNS = MetricDesc(
    "ssd_smart_incomplete_shutdowns_total",
    "Shutdowns in which the drive did not write all data to its flash (NVMe OCP and vendor "
    "logs). Acknowledged writes may be lost.",
    _DRIVE,
    "counter",
)
UNALIGNED_WRITES = MetricDesc(
    "ssd_smart_unaligned_writes_total",
    "Writes that do not begin at a multiple of the drive's own unit, which it must read and "
    "rewrite (NVMe OCP log). The drive counts since it was powered on.",
    _DRIVE,
    "counter",
)
DIES_OFFLINE = MetricDesc(
    "ssd_smart_offline_dies",
    "Flash dies that the drive no longer uses (NVMe OCP log 2.6).",
    _DRIVE,
)
SLOW_REQUESTS = MetricDesc(
    "ssd_smart_slow_requests_total",
    "Requests that took at least min_seconds, and less than the next min_seconds, inside the "
    "drive, without queues of the host (NVMe OCP latency log). Counted only above the drive's "
    "lowest limit; the drive restarts at 0 when its window ends.",
    (*_DRIVE, "op", "min_seconds"),
    "counter",
)
SLOWEST_REQUEST = MetricDesc(
    "ssd_smart_slowest_request_seconds",
    "Longest latency inside the drive in its current or previous window, in steps of 1 ms (NVMe "
    "OCP latency log).",
    (*_DRIVE, "op"),
)
