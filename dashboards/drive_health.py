"""Panels on endurance, temperature and errors of a drive."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders import words
from dashboards.builders.panel_parts import DRIVE, Panel, Query, Size
from dashboards.builders.panels import states, timeline
from dashboards.builders.tables import Column, Label, Rows, grid

SERIAL = "{{serial}}"
WEAR = q.of_drive("ssd_smart_endurance_used_ratio")
_TEMPERATURE = q.of_drive("ssd_smart_temperature_celsius")


def eta(bound: str) -> str:
    """Selects the estimated seconds until the endurance is used up; `bound`: low, mid or high."""
    return q.of_drive("ssd_smart_wearout_eta_seconds", f'bound="{bound}"')


def endurance() -> tuple[Panel, ...]:
    nand = q.of_drive("ssd_smart_nand_written_bytes_total")
    host = q.of_drive("ssd_smart_host_written_bytes_total")
    return (
        timeline(
            "Wear, and its projection in 90 days",
            "The upper line is the wear in 90 days at the write rate of the estimate.",
            "percentunit",
            Query(WEAR, f"used {SERIAL}"),
            Query(
                f"{WEAR} + (1 - {WEAR}) * {90 * t.DAY_SECONDS} / {q.ON_SERIAL} {eta('mid')}",
                f"in 90 days {SERIAL}",
            ),
            steps=t.WEAR,
            nothing="not reported",
        ),
        timeline(
            "Bytes per day: written, to the flash, read",
            "Bytes of the previous 24 hours.",
            "decbytes",
            Query(q.increase(host, "24h"), f"by the host {SERIAL}"),
            Query(q.increase(nand, "24h"), f"to the flash {SERIAL}"),
            Query(
                q.increase(q.of_drive("ssd_smart_host_read_bytes_total"), "24h"),
                f"read by the host {SERIAL}",
            ),
            nothing="not reported",
        ),
        timeline(
            "Write amplification over 7 days",
            "Bytes written to the flash per byte written by the host. It rises if the drive is "
            "full, is never trimmed, or receives small random writes.",
            "none",
            Query(f"{q.increase(nand, '7d')} / ({q.increase(host, '7d')} > 0)", SERIAL),
            nothing="the drive does not report bytes written to its flash",
        ),
        timeline(
            "Temperature and its limits",
            "The limits apply to the sensor 'drive'. Other sensors may be located on hotter chips.",
            "celsius",
            Query(_TEMPERATURE, "sensor {{sensor}}"),
            Query(
                q.of_drive("ssd_smart_temperature_warning_celsius"),
                "warning limit",
            ),
            Query(
                q.of_drive("ssd_smart_temperature_critical_celsius"),
                "critical limit",
            ),
            minimum=None,
            nothing="not reported",
        ),
    )


def errors() -> tuple[Panel, ...]:
    third = Size(8, 8)
    return (
        timeline(
            "Errors in the previous 24 hours, by kind",
            "Media errors: data could not be read. Program and erase failures: worn or defective "
            "flash. Interface errors: cable or backplane. Only growth matters, not the absolute "
            "value.",
            "short",
            *(
                Query(
                    q.occurred(q.increase(q.of_drive(f"ssd_smart_{family}_total"), "24h")),
                    f"{word} {SERIAL}",
                )
                for family, word in (
                    ("media_errors", "media"),
                    ("program_failures", "program"),
                    ("erase_failures", "erase"),
                    ("interface_errors", "interface"),
                )
            ),
            steps=t.MEDIA_ERRORS,
            nothing="no errors",
        ),
        timeline(
            "Reallocated and pending sectors",
            "Reallocated: blocks replaced by spare ones. Some are normal, steady growth is not. "
            "Pending: unreadable sectors that are reallocated when they are written.",
            "short",
            Query(q.of_drive("ssd_smart_reallocated_sectors_total"), f"reallocated {SERIAL}"),
            Query(q.of_drive("ssd_smart_pending_sectors"), f"pending {SERIAL}"),
            nothing="not reported",
        ),
        timeline(
            "Reallocated in the previous 7 days",
            f"An increase of {t.ALERTS['reallocated_per_week']:g} per week raises a warning.",
            "short",
            Query(q.increase(q.of_drive("ssd_smart_reallocated_sectors_total"), "7d"), SERIAL),
            steps=t.REALLOCATED,
            size=third,
            nothing="not reported",
        ),
        timeline(
            "Minutes above temperature limits, 24 h",
            "Time that the drive recorded above its own limits. If throughput drops at the same "
            "time, the drive throttles itself.",
            "short",
            Query(
                q.occurred(
                    q.increase(q.of_drive("ssd_smart_over_temperature_seconds_total"), "24h")
                    + " / 60"
                ),
                f"{{{{level}}}} {SERIAL}",
            ),
            steps=t.ANY_WARNS,
            size=third,
            nothing="none",
        ),
        timeline(
            "Kernel errors in 24 h: I/O, timeouts, PCIe",
            "Commands that failed or timed out, and errors of the PCIe link. Corrected PCIe "
            "errors are harmless.",
            "short",
            Query(
                q.occurred(q.increase(q.of_drive("ssd_device_io_errors_total"), "24h")),
                "errors",
            ),
            Query(
                q.occurred(q.increase(q.of_drive("ssd_device_io_timeouts_total"), "24h")),
                "timeouts",
            ),
            Query(
                q.occurred(q.increase(q.of_drive("ssd_pcie_errors_total"), "24h")),
                "PCIe {{severity}}",
            ),
            size=third,
            nothing="no errors",
        ),
        grid(
            "SATA attributes, with their growth in 24 hours",
            "Attributes as reported by the drive. The meaning of a raw value is specific to the "
            "manufacturer; compare its growth in 24 h. Normalised values are disabled by "
            "default.",
            Rows(_attribute("raw"), "no SATA drive"),
            Label("id", 60),
            Label("attribute", 300, is_flexible=True),
            Label("serial", 200),
            Column("raw", 170),
            Column(
                "growth in 24 h",
                130,
                "max by (cluster, job, instance, device, serial, id, attribute) "
                f"(delta({q.of_drive('ssd_ata_attribute_raw')}[24h]))",
            ),
            Column("value", 90, _attribute("value")),
            Column("worst", 90, _attribute("worst")),
            Column("threshold", 110, _attribute("threshold")),
            size=Size(24, 10),
        ),
    )


def inside() -> tuple[Panel, ...]:
    """Panels on the log pages of data-centre NVMe drives."""
    slow = q.of_drive("ssd_smart_slow_requests_total")
    return (
        timeline(
            "Slow requests inside the drive, per hour",
            "By the latency that the drive measures, without queues of the host. If requests are "
            "slow and none is here, they wait outside of the drive. Read every 15 minutes.",
            "short",
            Query(q.increase(slow, "1h"), "{{op}} of {{min_seconds}} s or longer"),
            nothing="the drive does not report its own latency",
        ),
        timeline(
            "Slowest request inside the drive",
            "The longest latency in the drive's current or previous window, in steps of 1 ms.",
            "s",
            Query(q.of_drive("ssd_smart_slowest_request_seconds"), f"{{{{op}}}} {SERIAL}"),
            nothing="the drive does not report its own latency",
        ),
        states(
            "Where slow requests spent their time",
            "Inside: the drive itself counted slow requests. Outside: it counted none, while the "
            "host saw seconds with twice the latency. Empty if neither is known.",
            Query(q.of_drive("ssd_disk_slow_inside_drive"), f"{{{{op}}}} {DRIVE}"),
            words.SLOW_PLACE,
            nothing="not known",
        ),
        timeline(
            "Throttling, link and end-to-end errors, 24 h",
            "By the count of the drive. Light throttling scarcely slows it. Correctable errors of "
            "the PCIe link are harmless in small numbers.",
            "short",
            *(
                Query(
                    q.occurred(q.increase(q.of_drive(f"ssd_smart_{family}_total"), "24h")), legend
                )
                for family, legend in (
                    ("thermal_throttling_events", f"throttled {{{{level}}}} {SERIAL}"),
                    ("pcie_errors", f"PCIe {{{{severity}}}} {SERIAL}"),
                    ("end_to_end_errors", f"end to end {{{{result}}}} {SERIAL}"),
                )
            ),
            steps=t.ANY_WARNS,
            nothing="none",
        ),
        timeline(
            "Capacitor, spare blocks, system area",
            "Capacitor: 1 is the least for a new drive, 0.01 the least for a safe loss of power. "
            "System area: used endurance of the area for firmware and tables.",
            "percentunit",
            Query(q.of_drive("ssd_smart_capacitor_health_ratio"), f"capacitor {SERIAL}"),
            Query(q.of_drive("ssd_smart_bad_block_spare_ratio"), f"spare {{{{area}}}} {SERIAL}"),
            Query(q.of_drive("ssd_smart_system_area_used_ratio"), f"system area used {SERIAL}"),
            nothing="not reported",
        ),
    )


def _attribute(kind: str) -> str:
    return (
        "max by (cluster, job, instance, device, serial, id, attribute) "
        f"({q.of_drive(f'ssd_ata_attribute_{kind}')})"
    )
