"""Dashboard of one drive: health, endurance, performance, and its predecessor."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.drive_health import SERIAL, WEAR, endurance, errors, eta
from dashboards.drive_io import BEFORE_ROW, IO_ROW, PROBE_ROW
from dashboards.drive_panels import PROBE_RUNS, REPLACED
from dashboards.drive_place import PLACE_ROW
from dashboards.frame import Dashboard, Row, drive_variable, host_variables
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import value
from dashboards.tables import Column, grid

_TILE = Size(3, 5)


def _overview() -> tuple[Panel, ...]:
    return (
        grid(
            "Identity",
            "Identity as reported by the kernel or the drive. A USB bridge or RAID controller "
            "may report its own identity instead of that of the drive behind it.",
            Column(
                "",
                "max by (job, instance, device, model, serial, firmware, transport) "
                f"({q.of_drive('ssd_device_info')})",
            ),
            Column(
                "capacity", f"max {q.BY_DRIVE} ({q.of_drive('ssd_device_capacity_bytes')})", "bytes"
            ),
            size=Size(16, 5),
            nothing="no such drive",
        ),
        value(
            "SMART poll",
            "Result of the last SMART poll. Red: the drive did not answer or has disappeared.",
            "none",
            Query(q.of_drive("ssd_device_up"), SERIAL),
            words=words.ANSWERS,
            size=Size(4, 5),
            nothing="no SMART data",
        ),
        value(
            "SMART health",
            "SMART health status as reported by the drive. Most failing drives never report "
            "FAILED.",
            "none",
            Query(q.of_drive("ssd_smart_healthy"), SERIAL),
            words=words.HEALTH,
            size=Size(4, 5),
            nothing="not reported",
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
        value(
            "Worn out in (low, mid, high estimate)",
            "Time until the rated endurance is used up at the current write rate. It is not "
            "a predicted failure date.",
            "s",
            *(Query(eta(bound), f"{bound} {SERIAL}") for bound in ("low", "mid", "high")),
            steps=t.WEAROUT,
            size=Size(6, 5),
            nothing="no estimate yet",
        ),
        value(
            "Temperature margin",
            "Degrees Celsius below the warning temperature. At or below zero the drive may "
            "throttle itself. If the margin is large, slow writes have another cause.",
            "celsius",
            Query(q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS), SERIAL),
            steps=t.HEAT,
            size=_TILE,
            nothing="not reported",
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
            nothing="not reported",
        ),
        value(
            "Power-loss protection",
            "Result of the drive's self-check of its power-loss protection. Failed: a power "
            "failure loses the content of the write cache, or every write waits for the flash.",
            "none",
            Query(q.of_drive("ssd_smart_plp_healthy"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="not reported",
        ),
        value(
            "Last self-test",
            "Result of the last completed self-test. Failed: the self-test found a fault.",
            "none",
            Query(q.of_drive("ssd_smart_self_test_passed"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="no self-test has run",
        ),
        value(
            "Power-on time",
            "Very new and very old drives fail more often than others.",
            "s",
            Query(q.of_drive("ssd_smart_power_on_seconds_total"), SERIAL),
            size=_TILE,
            nothing="not reported",
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-drive",
    title="SSD / Drive",
    description=(
        "Health, remaining endurance and performance of one drive, compared with its predecessor."
    ),
    variables=(*host_variables(), drive_variable()),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Health", _overview()),
        Row("Endurance and temperature", endurance()),
        Row("Errors", errors()),
        IO_ROW,
        BEFORE_ROW,
        PROBE_ROW,
        PLACE_ROW,
    ),
    time_from="now-7d",
)
