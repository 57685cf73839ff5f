"""Reasons why a drive needs attention, with the conditions of the alerts.

The texts are those of the command `check` where it knows the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t

MISSING, CRITICAL, WARNING, INFO = 4, 3, 2, 1

_DAYS = {
    name: t.ALERTS[f"wearout_{name}_seconds"] / t.DAY_SECONDS for name in ("warning", "critical")
}
_WORN = {name: t.ALERTS[f"endurance_used_{name}_ratio"] for name in ("warning", "critical")}


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why a drive needs attention.

    alert: the alert with the same condition; its severity corresponds to `urgency`. expression: has
    a series for each drive in this state. has_serial: its series have the label serial.
    is_of_drive: its device is a drive, and not an array or the host.
    """

    alert: str
    urgency: int
    text: str
    action: str
    expression: str
    has_serial: bool = True
    is_of_drive: bool = True


def _wear(alert: str, urgency: int, least: float, most: float | None, action: str) -> Reason:
    used = q.of_drive("ssd_smart_endurance_used_ratio")
    below = "" if most is None else f" < {most:g}"
    text = f"{least:.0%} or more of its rated endurance is used"
    return Reason(alert, urgency, text.replace("%", " %"), action, f"{used} >= {least:g}{below}")


def _wearout(alert: str, urgency: int, days: float, least: float, action: str) -> Reason:
    low = q.of_drive("ssd_smart_wearout_eta_seconds", 'bound="low"')
    above = f" >= {least * t.DAY_SECONDS:g}" if least else ""
    text = f"its endurance may be used up within {days:g} days"
    return Reason(alert, urgency, text, action, f"{low} < {days * t.DAY_SECONDS:g}{above}")


def _grew(family: str, window: str, least: float) -> str:
    """Counters that grew by at least `least`."""
    return f"{q.growth(q.of_drive(f'ssd_{family}_total'), window)} >= {least:g}"


def _reported() -> Iterator[Reason]:
    """Reasons that the drive or the kernel reports."""
    forget = "If removed: ssd-exporter forget. Else reseat it."
    yield Reason("SSDDriveLost", MISSING, "it is missing", forget, q.lost())
    yield Reason(
        "SSDDriveFailing",
        CRITICAL,
        "it reports that it is failing",
        "Fail over, then replace the drive.",
        q.failing(),
    )
    yield Reason(
        "SSDDriveWornOut",
        WARNING,
        "it is worn out and reports it as a failure",
        "Order a replacement and replace it.",
        q.of_drive("ssd_smart_failure_cause", 'cause="worn_out"'),
    )
    yield Reason(
        "SSDSmartLogInvalid",
        WARNING,
        "its SMART log is invalid",
        "Run ssd-exporter check. See the kernel log.",
        q.of_drive("ssd_smart_rejected_values", 'reason="log_invalid"'),
    )
    yield Reason(
        "SSDDriveOffline",
        CRITICAL,
        "its controller or path is offline",
        "See the kernel log. Reseat or replace it.",
        f"{q.of_drive('ssd_device_state_ok')} == 0",
        has_serial=False,
    )
    yield Reason(
        "SSDDriveNotAnswering",
        WARNING,
        "it does not answer SMART commands",
        "See the kernel log, and run ssd-exporter check.",
        q.silent(),
    )
    yield Reason(
        "SSDPowerLossProtectionFailed",
        WARNING,
        "the check of its power-loss protection has failed",
        "Commits are at risk. Replace the drive.",
        f"{q.of_drive('ssd_smart_plp_healthy')} == 0",
    )
    yield Reason(
        "SSDSelfTestFailed",
        WARNING,
        "its last self-test failed",
        "Run a long self-test. Plan the replacement.",
        f"{q.of_drive('ssd_smart_self_test_passed')} == 0",
    )
    left = q.of_drive("ssd_smart_firmware_issue_left_seconds")
    soon = t.ALERTS["firmware_time_bomb_seconds"]
    now = t.ALERTS["firmware_failure_near_seconds"]
    for alert, urgency, seconds, above in (
        ("SSDFirmwareFailureNear", CRITICAL, now, ""),
        ("SSDFirmwareTimeBomb", WARNING, soon, f" > {now:g}"),
    ):
        yield Reason(
            alert,
            urgency,
            f"a firmware defect occurs within {seconds / t.DAY_SECONDS:g} days",
            "Update the firmware: see ssd-exporter check.",
            f"{left} <= {seconds:g}{above}",
        )
    yield Reason(
        "SSDFirmwareIssue",
        WARNING,
        "its firmware has a known defect",
        "Update the firmware: see ssd-exporter check.",
        f"{q.of_drive('ssd_smart_firmware_issue')} == 1 unless {q.ON_SERIAL} {left} <= {soon:g}",
    )


def _worn() -> Iterator[Reason]:
    yield _wear(
        "SSDWearCritical", WARNING, _WORN["critical"], None, "Order a replacement and replace it."
    )
    yield _wear(
        "SSDWearHigh", WARNING, _WORN["warning"], _WORN["critical"], "Plan the replacement."
    )
    yield _wearout(
        "SSDWearoutSoon",
        CRITICAL,
        _DAYS["critical"],
        0,
        "Order a replacement. Find what writes so much.",
    )
    yield _wearout(
        "SSDWearoutNear", WARNING, _DAYS["warning"], _DAYS["critical"], "Plan the replacement."
    )
    spare, limit = (
        q.of_drive("ssd_smart_spare_ratio"),
        q.of_drive("ssd_smart_spare_threshold_ratio"),
    )
    yield Reason(
        "SSDSpareExhausted",
        CRITICAL,
        "its spare blocks are at or below its limit",
        "Replace the drive now.",
        f"{spare} <= {q.ON_SERIAL} ({limit} > 0 < 1)",
    )


def _errors() -> Iterator[Reason]:
    daily = t.ALERTS["media_errors_per_day"]
    many = _grew("smart_media_errors", "24h", daily + 1)
    yield Reason(
        "SSDMediaErrorsRepeated",
        CRITICAL,
        f"more than {daily:g} uncorrectable errors in 24 h",
        "Replace the drive.",
        many,
    )
    yield Reason(
        "SSDMediaErrors",
        WARNING,
        "new uncorrectable errors in 24 h",
        "Check backups. Run a long self-test.",
        f"{_grew('smart_media_errors', '24h', 1)} unless {q.ON_SERIAL} {many}",
    )
    yield Reason(
        "SSDReallocatedGrowing",
        WARNING,
        "it reallocates blocks (7 days)",
        "Plan the replacement.",
        _grew("smart_reallocated_sectors", "7d", t.ALERTS["reallocated_per_week"]),
    )
    yield Reason(
        "SSDInterfaceErrors",
        WARNING,
        "transmission errors in the last hour",
        "Check cable and backplane, not the flash.",
        _grew("smart_interface_errors", "1h", 1),
    )


def _log_pages() -> Iterator[Reason]:
    """Reasons from the log pages of data-centre NVMe drives."""
    capacitor = q.of_drive("ssd_smart_capacitor_health_ratio")
    yield Reason(
        "SSDCapacitorWeak",
        WARNING,
        "its capacitor has little reserve left",
        "Plan the replacement.",
        f"{capacitor} < {t.ALERTS['capacitor_health_ratio']:g}",
    )
    events = q.of_drive("ssd_smart_thermal_throttling_events_total", 'level!="light"')
    level = q.of_drive("ssd_smart_thermal_throttling_level")
    yield Reason(
        "SSDThermalThrottling",
        WARNING,
        "it throttled itself in the last hour (heat)",
        "Check fans and air flow.",
        f"{q.growth(events, '1h')} > 0 or {q.ON_SERIAL} {level} > 0",
    )
    errors = q.of_drive("ssd_smart_pcie_errors_total", 'severity="correctable"')
    yield Reason(
        "SSDPCIeLinkNoisy",
        WARNING,
        "its PCIe link repeats many transfers (1 hour)",
        "Reseat it. Check cable, slot and riser.",
        f"{q.growth(errors, '1h')} > {t.ALERTS['pcie_errors_per_hour']:g}",
    )
    detected, corrected = (
        q.growth(q.of_drive("ssd_smart_end_to_end_errors_total", f'result="{result}"'), "24h")
        for result in ("detected", "corrected")
    )
    yield Reason(
        "SSDEndToEndErrors",
        WARNING,
        "blocks were corrupted inside it (24 h)",
        "Check backups. Plan the replacement.",
        f"({detected}) - {q.ON_SERIAL} ({corrected}) > 0",
    )


def _further_errors() -> Iterator[Reason]:
    program, erase = (
        f"({q.growth(q.of_drive(f'ssd_smart_{kind}_failures_total'), '7d')})"
        for kind in ("program", "erase")
    )
    both = f"{program} + {q.ON_SERIAL} {erase}"
    yield Reason(
        "SSDFlashFailures",
        WARNING,
        "its flash fails to program or erase (7 days)",
        "Plan the replacement.",
        f"({both} or {q.ON_SERIAL} {program} or {q.ON_SERIAL} {erase}) "
        f">= {t.ALERTS['flash_failures_per_week']:g}",
    )
    spare = q.of_drive("ssd_smart_spare_ratio")
    yield Reason(
        "SSDSpareFalling",
        WARNING,
        "it loses spare blocks quickly (30 days)",
        "Plan the replacement.",
        f"max_over_time({spare}[30d:6h]) - {spare} > {t.ALERTS['spare_fall_ratio']:g}",
    )
    yield Reason(
        "SSDPendingSectors",
        WARNING,
        "unreadable sectors (pending) for a day",
        "Check backups. Run a long self-test.",
        f"min_over_time({q.of_drive('ssd_smart_pending_sectors')}[1d:15m]) > 0",
    )
    yield Reason(
        "SSDOverTemperatureTime",
        INFO,
        "above its temperature limit in the last hour",
        "Check fans and air flow.",
        _grew("smart_over_temperature_seconds", "1h", 1),
    )
    yield from _log_pages()
    load = q.of_drive("ssd_disk_io_time_seconds_total")
    # PCIe power saving lowers the speed of an idle drive.
    nvme = q.of_drive("ssd_device_info", 'transport="nvme"')
    yield Reason(
        "SSDLinkDegraded",
        WARNING,
        "its link is below the maximum (1 hour)",
        "Check cable, slot and backplane.",
        f"({q.link_share('1h')}) < 1 unless {q.ON_DRIVE} (rate({load}[1h]) < "
        f"{t.ALERTS['link_load_ratio']:g} and {q.ON_DRIVE} {nvme})",
        has_serial=False,
    )
    yield Reason(
        "SSDFilesystemErrors",
        WARNING,
        "new filesystem errors in 24 h",
        "See the kernel log. Check the filesystem.",
        _grew("filesystem_errors", "24h", 1),
        has_serial=False,
    )
    severe = q.of_drive("ssd_pcie_errors_total", 'severity=~"fatal|nonfatal"')
    yield Reason(
        "SSDPCIeErrors",
        WARNING,
        "uncorrected PCIe errors in 24 h",
        "Check slot and riser. See the kernel log.",
        f"{q.growth(severe, '24h')} > 0",
        has_serial=False,
    )


def _load() -> Iterator[Reason]:
    stalled = q.of_drive("ssd_disk_stalled_seconds_total")
    yield Reason(
        "SSDDiskStalled",
        CRITICAL,
        "requests hang",
        "See the kernel log. Drive or controller hangs.",
        f"increase({stalled}[2m]) > {t.ALERTS['disk_stalled_seconds']:g}",
        has_serial=False,
    )
    saturated = q.of_drive("ssd_disk_saturated_seconds_total")
    probe = q.of_drive("ssd_probe_running")
    yield Reason(
        "SSDDiskSaturated",
        WARNING,
        "it is saturated, and tasks wait for it",
        "Find the load: open Host I/O.",
        f"rate({saturated}[5m]) >= {t.ALERTS['disk_saturated_ratio']:g} unless {q.ON_DRIVE} "
        f"avg_over_time({probe}[10m]) > {t.ALERTS['probe_disturbing_ratio']:g}",
        has_serial=False,
    )
    measured = q.of_drive("ssd_smart_temperature_celsius", 'sensor="drive"')
    critical = q.of_drive("ssd_smart_temperature_critical_celsius")
    yield Reason(
        "SSDTemperatureCritical",
        CRITICAL,
        "it has reached its critical temperature",
        "Check fans and air flow now.",
        f"{measured} >= {q.ON_SERIAL} {critical}",
    )
    limit = q.temperature_limit(t.TEMPERATURE_FALLBACK_CELSIUS)
    yield Reason(
        "SSDTemperatureHigh",
        WARNING,
        "it has reached its warning temperature",
        "Check fans and air flow. It may throttle itself.",
        f"{measured} >= {q.ON_SERIAL} {limit} unless {q.ON_SERIAL} ({measured} >= {q.ON_SERIAL} "
        f"{critical})",
    )


def _around() -> Iterator[Reason]:
    """Reasons of arrays, filesystems and hosts."""
    missing = q.of_host("ssd_md_degraded_disks")
    recovers = q.of_host("ssd_md_sync_action_info", 'action="recover"')
    rebuilding = f"{missing} == 1 and {q.ON_DRIVE} {recovers}"
    yield Reason(
        "SSDRaidDegraded",
        CRITICAL,
        "the RAID array has lost a member",
        "Replace the member: see /proc/mdstat.",
        f"{missing} > 0 unless {q.ON_DRIVE} ({rebuilding})",
        has_serial=False,
        is_of_drive=False,
    )
    yield Reason(
        "SSDRaidRebuilding",
        INFO,
        "the RAID array rebuilds a member",
        "Wait: see /proc/mdstat.",
        rebuilding,
        has_serial=False,
        is_of_drive=False,
    )
    yield Reason(
        "SSDZFSPoolDegraded",
        CRITICAL,
        "a ZFS pool of the host is not ONLINE",
        "Find the drive: zpool status -x.",
        q.of_host("ssd_zfs_pool_state_info", 'state!="ONLINE"'),
        has_serial=False,
        is_of_drive=False,
    )
    on_mount = "on (cluster, job, instance, device, mountpoint)"
    of_database = q.of_drive("ssd_filesystem_size_bytes")
    inactive = f"max {q.BY_DRIVE} ({q.of_drive('ssd_device_role_active')}) == 0"
    yield Reason(
        "SSDFilesystemReadonly",
        CRITICAL,
        "a filesystem on it has failed or is read-only",
        "See the kernel log. Fail over.",
        f"{q.of_drive('ssd_filesystem_failed')} == 1 or "
        f"({q.of_drive('ssd_filesystem_readonly')} == 1 and {on_mount} {of_database} "
        f"unless {q.ON_DRIVE} ({inactive}))",
        has_serial=False,
    )
    errors = q.growth(q.of_drive("ssd_filesystem_errors_total"), "24h")
    extended = q.of_drive("ssd_mount_info", 'fstype=~"ext[234]"')
    yield Reason(
        "SSDDatabaseFilesystemErrors",
        CRITICAL,
        "filesystem errors below a database (24 h)",
        "See the kernel log. Fail over.",
        f"{errors} > 0 and {on_mount} {of_database} and {on_mount} {extended}",
        has_serial=False,
    )
    yield Reason(
        "SSDCommandStuck",
        WARNING,
        "commands hang in the kernel",
        "Find the device in the log of the exporter.",
        f"{q.of_host('ssd_command_stuck')} > 0",
        has_serial=False,
        is_of_drive=False,
    )


REASONS = (
    *_reported(),
    *_worn(),
    *_errors(),
    *_further_errors(),
    *_load(),
    *_around(),
)
