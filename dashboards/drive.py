"""Dashboard of one drive: health, endurance, performance, and its predecessor."""

from dashboards.attention import attention
from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders import words
from dashboards.builders.frame import (
    PROBE_RUNS,
    REPLACED,
    Dashboard,
    Row,
    drive_variable,
    host_variables,
)
from dashboards.builders.panel_parts import Panel, Query, Size
from dashboards.builders.panels import value
from dashboards.builders.tables import Column, Label, Rows, grid
from dashboards.drive_health import SERIAL, WEAR, endurance, errors, eta, inside
from dashboards.drive_io import BEFORE_ROW, IO_ROW, PROBE_ROW, TAIL_ROW
from dashboards.drive_place import PLACE_ROW
from dashboards.state import drive_state

_TILE = Size(3, 4)


def _overview() -> tuple[Panel, ...]:
    up, healthy = q.of_drive("ssd_device_up"), q.of_drive("ssd_smart_healthy")
    return (
        attention(
            "What is wrong with this drive",
            Size(24, 5),
            "No known problem. See the tiles for values that are not reported.",
            is_of_one_drive=True,
        ),
        grid(
            "Identity",
            "Identity as reported by the kernel or the drive, also of a drive that disappeared "
            "within the selected range. A USB bridge or RAID controller may report its own "
            "identity instead of that of the drive behind it.",
            Rows(
                "max by (cluster, job, instance, device, model, serial, firmware, transport) "
                f"(last_over_time({q.of_drive('ssd_device_info')}[$__range]))",
                "The kernel has not listed this drive in the selected range.",
            ),
            Label("device", 105),
            Label("host", 115),
            Label("model", 190, is_flexible=True),
            Label("serial", 150),
            Label("firmware", 95),
            Label("transport", 95, title="attached"),
            Column(
                "capacity",
                95,
                f"max {q.BY_DRIVE} "
                f"(last_over_time({q.of_drive('ssd_device_capacity_bytes')}[$__range]))",
                "decbytes",
            ),
            size=Size(16, 4),
        ),
        value(
            "SMART",
            "Whether the drive answers SMART polls. MISSING: it does not answer and the kernel no "
            "longer lists it. If it was removed on purpose, run ssd-exporter forget SERIAL. All "
            "other tiles are then unknown.",
            "none",
            Query(
                f"max {q.BY_SERIAL} ({q.lost()} * 0 + 2 or ({up} == 0) * 0 + 1 or ({up} == 1) * 0)",
                SERIAL,
            ),
            words=words.PRESENCE,
            size=Size(4, 4),
            nothing="no SMART data",
        ),
        value(
            "Health",
            "SMART health status as reported by the drive; a temperature warning alone is shown as "
            "heat. Most drives that fail never report it.",
            "none",
            Query(
                f"max {q.BY_SERIAL} ({q.failing()} * 0 + 1 or ({healthy} == 0) * 0 + 2 "
                f"or {healthy} * 0)",
                SERIAL,
            ),
            words=words.HEALTH,
            size=Size(4, 4),
            nothing="unknown",
        ),
        value(
            "Wear",
            "Share of the rated endurance that is used, as reported by the drive. It may exceed "
            "100 %.",
            "percentunit",
            Query(WEAR, SERIAL),
            steps=t.WEAR,
            size=_TILE,
            nothing="not reported",
        ),
        *(
            value(
                title,
                "Time until the rated endurance is used up at the current write rate: "
                f"{meaning}. It is not a predicted failure date.",
                "s",
                Query(eta(bound), ""),
                steps=t.WEAROUT,
                size=_TILE,
                nothing="no estimate",
            )
            for title, bound, meaning in (
                ("Worn out from", "low", "the lower bound, which the alerts use"),
                ("Probably in", "mid", "the most probable value"),
                ("At the latest", "high", "the upper bound"),
            )
        ),
        value(
            "Heat margin",
            "Degrees Celsius below the warning temperature. At or below zero the drive may "
            "throttle itself. If the margin is large, slow writes have another cause.",
            "celsius",
            Query(q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS), SERIAL),
            steps=t.HEAT,
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Spare margin",
            "Spare blocks above the drive's own threshold. At or below zero: replace the drive.",
            "percentunit",
            Query(
                f"{q.of_drive('ssd_smart_spare_ratio')} - {q.ON_SERIAL} "
                f"{q.of_drive('ssd_smart_spare_threshold_ratio')}",
                SERIAL,
            ),
            steps=t.SPARE,
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "PLP check",
            "Result of the drive's self-check of its power-loss protection. Failed: a power "
            "failure loses the content of the write cache, or every write waits for the flash.",
            "none",
            Query(q.of_drive("ssd_smart_plp_healthy"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Self-test",
            "Result of the last completed self-test. Failed: the self-test found a fault.",
            "none",
            Query(q.of_drive("ssd_smart_self_test_passed"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="none has run",
        ),
    )


def _life() -> tuple[Panel, ...]:
    return (
        value(
            "Powered on",
            "Very new and very old drives fail more often than others.",
            "s",
            Query(q.of_drive("ssd_smart_power_on_seconds_total"), SERIAL),
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Self-test age",
            "Power-on time since the last completed self-test.",
            "s",
            Query(
                f"{q.of_drive('ssd_smart_power_on_seconds_total')} - {q.ON_SERIAL} "
                f"{q.of_drive('ssd_smart_self_test_completed_power_on_seconds')}",
                SERIAL,
            ),
            size=_TILE,
            nothing="none has run",
        ),
        value(
            "Power cycles",
            "Times that the drive was powered on.",
            "short",
            Query(q.of_drive("ssd_smart_power_cycles_total"), SERIAL),
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Read in life",
            "Bytes that hosts have read since the drive was new.",
            "decbytes",
            Query(q.of_drive("ssd_smart_host_read_bytes_total"), SERIAL),
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Written",
            "Bytes that hosts have written since the drive was new. Compare with the TBW rating "
            "in the data sheet.",
            "decbytes",
            Query(q.of_drive("ssd_smart_host_written_bytes_total"), SERIAL),
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Power mode",
            "Power mode of the drive at the last poll. A drive in standby is not woken and reports "
            "no other values.",
            "none",
            Query(f"{q.of_drive('ssd_smart_power_mode')} == 1", "{{mode}}"),
            size=_TILE,
            nothing="unknown",
        ),
        value(
            "Last poll",
            "Time since the last successful SMART poll. All values of this page are from that "
            "poll.",
            "s",
            Query(f"time() - {q.of_drive('ssd_smart_last_success_timestamp_seconds')}", SERIAL),
            size=_TILE,
            nothing="never",
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-drive",
    title="SSD / Drive",
    description=(
        "Health, remaining endurance and performance of one drive, compared with its predecessor."
    ),
    variables=(*host_variables(is_single=True), drive_variable(is_single=True)),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Health", _overview()),
        Row("State, life and polls", (*drive_state(), *_life()), is_collapsed=True),
        Row("Endurance and temperature", endurance()),
        Row("Errors", errors()),
        Row("Inside the drive", inside(), is_collapsed=True),
        IO_ROW,
        TAIL_ROW,
        BEFORE_ROW,
        PROBE_ROW,
        PLACE_ROW,
    ),
    time_from="now-7d",
)
