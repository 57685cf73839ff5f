"""Panels on the state of a host: arrays, controllers, SMART, power, filesystems, the exporter.

The tiles count what is wrong. They have no colour at zero.
"""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.panel_parts import THIRD, Panel, Query, Size
from dashboards.builders.panels import timeline, value

_TILE = Size(3, 4)


def _count(condition: str, known: str) -> Query:
    return Query(q.known_zero(f"count({condition})", known), "")


def host_state() -> tuple[Panel, ...]:
    """Tiles of a host and its selected drives."""
    degraded = q.of_host("ssd_md_degraded_disks")
    stuck = q.of_host("ssd_command_stuck")
    return (
        value(
            "RAID missing",
            "Missing members of Linux software RAID arrays (md).",
            "short",
            Query(f"sum({degraded})", ""),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="no array",
        ),
        *drive_state(),
        value(
            "Stuck",
            "Processes of smartctl or fio that wait in the kernel and cannot be ended. A drive or "
            "controller does not answer.",
            "short",
            Query(f"sum({stuck})", ""),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
            nothing="not reported",
        ),
    )


def drive_state() -> tuple[Panel, ...]:
    """Tiles of the selected drives."""
    offline = q.of_drive("ssd_device_state_ok")
    available = q.of_drive("ssd_smart_available")
    bits = q.of_drive("ssd_smart_critical_warning")
    serious = q.of_drive(
        "ssd_smart_critical_warning", 'warning=~"spare|reliability|read_only|volatile_backup"'
    )
    worn_out = q.of_drive("ssd_smart_failure_cause", 'cause="worn_out"')
    unsafe = q.of_drive("ssd_smart_unsafe_shutdowns_total")
    read_only = q.of_drive("ssd_filesystem_readonly")
    errors = q.of_drive("ssd_filesystem_errors_total")
    return (
        value(
            "Offline",
            "Drives with an NVMe controller that is not live, with a lost path, or with a SCSI "
            "device that is not running.",
            "short",
            _count(f"{offline} == 0", offline),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="not reported",
        ),
        value(
            "SMART hidden",
            "Drives that answer and report no SMART data: a drive without SMART, a bridge or "
            "controller that hides it, a missing privilege, or an invalid log. Run ssd-exporter "
            "check.",
            "short",
            _count(f"{available} == 0", available),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
            nothing="no SMART data",
        ),
        value(
            "NVMe warnings",
            "Bits of the NVMe critical warning that are set and concern the data: not those for "
            "the temperature and the persistent memory region, nor that of a worn-out drive.",
            "short",
            _count(f"{serious} == 1 unless {q.ON_SERIAL} {worn_out}", bits),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="no NVMe",
        ),
        value(
            "Power losses",
            "Times within 7 days that a drive lost power without prior notice. Check the power "
            "supply and, without power-loss protection, the data.",
            "short",
            Query(f"sum({q.growth(unsafe, '7d')})", ""),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
            nothing="not reported",
        ),
        value(
            "Read-only",
            "Filesystems on the drives that are mounted read-only. ext4 remounts itself read-only "
            "after an error.",
            "short",
            _count(f"max by (cluster, job, instance, mountpoint) ({read_only}) == 1", read_only),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="none mounted",
        ),
        value(
            "FS errors",
            "New errors in the superblocks of ext4 filesystems within 24 hours.",
            "short",
            Query(
                f"sum(max by (cluster, job, instance, mountpoint) ({q.growth(errors, '24h')}))",
                "",
            ),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
            nothing="no ext4",
        ),
    )


def free_space(size: Size) -> tuple[Panel, ...]:
    """Free space and its trend, for filesystems whose size is known."""
    available = q.of_drive("ssd_filesystem_avail_bytes")
    whole = q.of_drive("ssd_filesystem_size_bytes")
    by = "by (cluster, job, instance, mountpoint)"
    nothing = "no filesystem of MySQL or of a probe"
    return (
        timeline(
            "Free space",
            "Space that is available to MySQL. A full SSD has few free blocks: its write cache "
            "shrinks and writes become slower. Sizes exist only for filesystems of MySQL and of "
            "probes.",
            "percentunit",
            Query(f"max {by} ({available} / ({whole} > 0))", "{{mountpoint}}"),
            steps=t.FREE,
            maximum=1,
            size=size,
            nothing=nothing,
        ),
        timeline(
            "Free space in two weeks, by its trend",
            "The free space of today, continued for 14 days by the linear trend of the last 7 "
            "days. At zero the filesystem is full.",
            "decbytes",
            Query(f"max {by} ({available})", "free {{mountpoint}}"),
            Query(
                f"clamp_min(max {by} (predict_linear({available}[7d], {14 * t.DAY_SECONDS})), 0)",
                "in 14 days {{mountpoint}}",
            ),
            size=size,
            nothing=nothing,
        ),
    )


def exporter() -> tuple[Panel, ...]:
    def age(family: str) -> str:
        return f"time() - {q.of_host(family)}"

    return (
        timeline(
            "Age of readings",
            "Time since the last sample, survey and heartbeat of the agent. If a value grows, "
            "what the exporter shows is old.",
            "s",
            Query(age("ssd_sampler_last_sample_timestamp_seconds"), "sample of every second"),
            Query(
                f"time() - ({q.of_host('ssd_survey_last_success_timestamp_seconds')} or "
                f"{q.of_host('ssd_survey_start_timestamp_seconds')})",
                "survey of the host",
            ),
            Query(age("ssd_smart_agent_heartbeat_timestamp_seconds"), "agent"),
            size=THIRD,
        ),
        timeline(
            "Failed readings in 24 h, by collector",
            "Readings that failed or omitted something, failed SMART polls, and gaps of the "
            "sampler, in the last 24 h. See the log of the exporter.",
            "short",
            Query(
                q.occurred(q.increase(q.of_host("ssd_collector_errors_total"), "24h")),
                "{{collector}}: {{reason}}",
            ),
            Query(
                q.occurred(
                    q.increase(
                        q.of_drive("ssd_smart_polls_total", 'result!~"success|standby"'), "24h"
                    )
                ),
                "SMART poll {{result}} {{device}}",
            ),
            Query(
                q.occurred(q.increase(q.of_host("ssd_sampler_gaps_total"), "24h")),
                "gaps of the sampler",
            ),
            size=THIRD,
            nothing="no failed reading",
        ),
        timeline(
            "Memory of the exporter",
            "Resident memory of the process.",
            "decbytes",
            Query(q.of_host("process_resident_memory_bytes"), "resident"),
            size=THIRD,
        ),
    )
