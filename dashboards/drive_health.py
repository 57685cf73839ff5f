"""How long a drive will last, and whether it breaks."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import timeline
from dashboards.tables import Column, grid

SERIAL = "{{instance}} {{device}} {{serial}}"
WEAR = q.of_drive("ssd_smart_endurance_used_ratio")
_TEMPERATURE = q.of_drive("ssd_smart_temperature_celsius")


def eta(bound: str) -> str:
    """Seconds until the rated endurance is used up, at one bound of the estimate."""
    return q.of_drive("ssd_smart_wearout_eta_seconds", f'bound="{bound}"')


def endurance() -> tuple[Panel, ...]:
    nand = q.of_drive("ssd_smart_nand_written_bytes_total")
    host = q.of_drive("ssd_smart_host_written_bytes_total")
    return (
        timeline(
            "Wear, and where it stands in 90 days at this load",
            "The upper line is today's wear carried on for 90 days at the pace of the estimate.",
            "percentunit",
            Query(WEAR, f"used {SERIAL}"),
            Query(
                f"{WEAR} + (1 - {WEAR}) * {90 * t.DAY_SECONDS} / {q.ON_SERIAL} {eta('mid')}",
                f"in 90 days {SERIAL}",
            ),
            steps=t.WEAR,
            nothing="not told",
        ),
        timeline(
            "Written per day: by hosts and to the flash",
            "What was written in the 24 hours before.",
            "bytes",
            Query(q.increase(host, "24h"), f"by hosts {SERIAL}"),
            Query(q.increase(nand, "24h"), f"to the flash {SERIAL}"),
            nothing="not told",
        ),
        timeline(
            "Write amplification over 7 days",
            "Bytes written to the flash for each byte that hosts wrote. Rising means a drive that "
            "is full, never trimmed, or written in small pieces.",
            "none",
            Query(f"{q.increase(nand, '7d')} / ({q.increase(host, '7d')} > 0)", SERIAL),
            nothing="the drive does not tell what it writes to its flash",
        ),
        timeline(
            "Temperature and its limits",
            "The drive's own limits belong to its sensor 'drive'. Others may sit in hotter chips.",
            "celsius",
            Query(_TEMPERATURE, "sensor {{sensor}} {{instance}} {{device}}"),
            Query(
                q.of_drive("ssd_smart_temperature_warning_celsius"),
                "may slow down {{instance}} {{device}}",
            ),
            Query(
                q.of_drive("ssd_smart_temperature_critical_celsius"),
                "may stop {{instance}} {{device}}",
            ),
            least=None,
            nothing="not told",
        ),
    )


def errors() -> tuple[Panel, ...]:
    third = Size(8, 8)
    return (
        timeline(
            "Errors in the 24 hours before, by kind",
            "Media errors are data lost; failed programs and erases are flash that dies; interface "
            "errors are the cable or backplane. What counts is growth, never the level.",
            "short",
            *(
                Query(
                    q.increase(q.of_drive(f"ssd_smart_{family}_total"), "24h"), f"{word} {SERIAL}"
                )
                for family, word in (
                    ("media_errors", "media"),
                    ("program_failures", "program"),
                    ("erase_failures", "erase"),
                    ("interface_errors", "interface"),
                )
            ),
            steps=t.MEDIA_ERRORS,
            style="bars",
            nothing="not told",
        ),
        timeline(
            "Reallocated sectors, and those pending",
            "Blocks replaced by spare ones. Some are usual; a line that turns upwards is not. "
            "Pending ones could not be read and wait to be written anew.",
            "short",
            Query(q.of_drive("ssd_smart_reallocated_sectors_total"), f"reallocated {SERIAL}"),
            Query(q.of_drive("ssd_smart_pending_sectors"), f"pending {SERIAL}"),
            nothing="not told",
        ),
        timeline(
            "Reallocated in the 7 days before",
            f"{t.ALERTS['reallocated_per_week']:g} in a week are a warning.",
            "short",
            Query(q.increase(q.of_drive("ssd_smart_reallocated_sectors_total"), "7d"), SERIAL),
            steps=t.REALLOCATED,
            size=third,
            nothing="not told",
        ),
        timeline(
            "Minutes over temperature in the 24 hours before",
            "How long the drive was above its own limits. Growth beside a fall of throughput is "
            "throttling.",
            "s",
            Query(
                q.increase(q.of_drive("ssd_smart_over_temperature_seconds_total"), "24h"),
                f"{{{{level}}}} {SERIAL}",
            ),
            steps=t.ANY_WARNS,
            size=third,
            nothing="not told",
        ),
        timeline(
            "The kernel's view in the 24 hours before: errors, timeouts, PCIe",
            "Commands that failed or were given up, and errors of the PCIe link. Corrected PCIe "
            "errors alone are no trouble.",
            "short",
            Query(
                q.increase(q.of_drive("ssd_device_io_errors_total"), "24h"),
                "errors {{instance}} {{device}}",
            ),
            Query(
                q.increase(q.of_drive("ssd_device_io_timeouts_total"), "24h"),
                "timeouts {{instance}} {{device}}",
            ),
            Query(
                q.increase(q.of_drive("ssd_pcie_errors_total"), "24h"),
                "PCIe {{severity}} {{instance}} {{device}}",
            ),
            size=third,
        ),
        grid(
            "SATA attributes, with their growth in 24 hours",
            "The raw table as the drive tells it. Only the maker knows what a raw number means; "
            "growth in 24 h is what to look at. Normalised values are off by default.",
            Column("raw", _attribute("raw"), "none"),
            Column(
                "grown in 24 h",
                "max by (job, instance, device, serial, id, attribute) "
                f"(delta({q.of_drive('ssd_ata_attribute_raw')}[24h]))",
                "none",
            ),
            Column("value", _attribute("value"), "none"),
            Column("worst", _attribute("worst"), "none"),
            Column("threshold", _attribute("threshold"), "none"),
            size=Size(24, 10),
            nothing="no SATA drive",
        ),
    )


def _attribute(kind: str) -> str:
    return (
        "max by (job, instance, device, serial, id, attribute) "
        f"({q.of_drive(f'ssd_ata_attribute_{kind}')})"
    )
