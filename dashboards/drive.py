"""Drive: how is this one, how long will it last, and was its predecessor better?"""

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


def _who() -> tuple[Panel, ...]:
    return (
        grid(
            "Which drive",
            "Identity by the kernel or the drive. A USB bridge or RAID controller may name itself "
            "and not the drive behind it.",
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
            "Answers SMART",
            "Whether the drive answered its last poll. Silent or gone is the plainest sign of all.",
            "none",
            Query(q.of_drive("ssd_device_up"), SERIAL),
            words=words.ANSWERS,
            size=Size(4, 5),
            nothing="no SMART",
        ),
        value(
            "Own verdict",
            "What the drive says of itself. Most that fail never say so.",
            "none",
            Query(q.of_drive("ssd_smart_healthy"), SERIAL),
            words=words.HEALTH,
            size=Size(4, 5),
            nothing="not told",
        ),
        value(
            "Wear",
            "Share of the rated endurance used, by the drive's own count. It may exceed 100 %.",
            "percentunit",
            Query(WEAR, SERIAL),
            steps=t.WEAR,
            size=_TILE,
            nothing="not told",
        ),
        value(
            "Worn out in (soonest, likely, latest)",
            "When the rated endurance is used up if the load stays. No date of failure.",
            "s",
            *(Query(eta(bound), f"{bound} {SERIAL}") for bound in ("low", "mid", "high")),
            steps=t.WEAROUT,
            size=Size(6, 5),
            nothing="no estimate yet",
        ),
        value(
            "Degrees below its limit",
            "Below zero the drive may slow down, and be told apart from a full cache by that.",
            "celsius",
            Query(q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS), SERIAL),
            steps=t.HEAT,
            size=_TILE,
            nothing="not told",
        ),
        value(
            "Spare above its threshold",
            "Spare blocks left beyond those at which the drive itself warns. Below zero: replace.",
            "percentunit",
            Query(
                f"{q.of_drive('ssd_smart_spare_ratio')} - {q.ON_SERIAL} "
                f"{q.of_drive('ssd_smart_spare_threshold_ratio')}",
                SERIAL,
            ),
            steps=t.SPARE,
            size=_TILE,
            nothing="not told",
        ),
        value(
            "Power-loss protection",
            "Whether its own check passes. Failed: what is in the write cache is lost with the "
            "power, or every write waits for the flash.",
            "none",
            Query(q.of_drive("ssd_smart_plp_healthy"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="not told",
        ),
        value(
            "Last self-test",
            "How the last one that ended went. Failed: the drive itself found damage.",
            "none",
            Query(q.of_drive("ssd_smart_self_test_passed"), SERIAL),
            words=words.SELF_TEST,
            size=_TILE,
            nothing="none has run",
        ),
        value(
            "Powered for",
            "Very young drives and very old ones fail more than those between.",
            "s",
            Query(q.of_drive("ssd_smart_power_on_seconds_total"), SERIAL),
            size=_TILE,
            nothing="not told",
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-drive",
    title="SSD / Drive",
    description="How one drive is, how long it will last, and how it compares with the one before.",
    variables=(*host_variables(), drive_variable()),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("How is it?", _who()),
        Row("How long will it last?", endurance()),
        Row("Is it breaking?", errors()),
        IO_ROW,
        BEFORE_ROW,
        PROBE_ROW,
        PLACE_ROW,
    ),
    past="now-7d",
)
