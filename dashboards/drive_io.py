"""The I/O of one drive, and of the one that stood in its slot before."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.drive_panels import by_serial
from dashboards.frame import Row
from dashboards.panel_parts import DRIVE, Query, Size
from dashboards.panels import against, timeline
from dashboards.tables import Column, grid

_THIRD = Size(8, 8)


def _over_range(expression: str) -> str:
    """Mean over the time shown, for each serial number."""
    return f"avg {q.BY_SERIAL} (avg_over_time(({by_serial(expression)})[$__range:5m]))"


def _all_drives(direction: str) -> tuple[str, str]:
    """Seconds spent and requests done per second, summed over what is chosen."""
    time, done = {
        "read": ("read_time_seconds", "reads_completed"),
        "write": ("write_time_seconds", "writes_completed"),
    }[direction]
    return (
        f"sum({q.rate(q.of_drive(f'ssd_disk_{time}_total'))})",
        f"sum({q.rate(q.of_drive(f'ssd_disk_{done}_total'))})",
    )


_WRITE_TIME, _WRITES = _all_drives("write")
_READ_TIME, _READS = _all_drives("read")

IO_ROW = Row(
    "What does it do, and how fast?",
    (
        timeline(
            "Await of this drive: reads, writes, flushes",
            "Mean time a request took, queued and served.",
            "s",
            *(Query(q.mean_await(kind), f"{kind} {DRIVE}") for kind in ("read", "write", "flush")),
            steps=t.AWAIT,
            size=_THIRD,
        ),
        timeline(
            "Time this drive was saturated or stalled",
            "Share of the time.",
            "percentunit",
            Query(q.rate(q.of_drive("ssd_disk_saturated_seconds_total")), f"saturated {DRIVE}"),
            Query(q.rate(q.of_drive("ssd_disk_stalled_seconds_total")), f"stalled {DRIVE}"),
            steps=t.SATURATED,
            most=1,
            size=_THIRD,
        ),
        against(
            "Await against requests per second",
            "A point for each moment. Flat to the right is room; where it turns up steeply is the "
            "knee: from there on more requests only wait longer. Of all drives chosen together.",
            ("requests per second", "iops", Query(f"{_READS} + {_WRITES}")),
            (
                "await",
                "s",
                Query(f"({_READ_TIME} + {_WRITE_TIME}) / ({_READS} + {_WRITES} > 0)"),
            ),
            size=_THIRD,
        ),
    ),
)

BEFORE_ROW = Row(
    "Before and after a replacement",
    (
        timeline(
            "Write await in this slot, by serial number",
            "A new colour is a new drive, marked by the blue line. Choose a month before and after "
            "to see what the replacement brought.",
            "s",
            Query(by_serial(q.mean_await("write")), "{{serial}} in {{instance}} {{device}}"),
            steps=t.AWAIT,
            nothing="no drive that tells its serial number",
        ),
        timeline(
            "Time saturated in this slot, by serial number",
            "The same load on a faster drive leaves less of it.",
            "percentunit",
            Query(
                by_serial(q.rate(q.of_drive("ssd_disk_saturated_seconds_total"))),
                "{{serial}} in {{instance}} {{device}}",
            ),
            steps=t.SATURATED,
            most=1,
            nothing="no drive that tells its serial number",
        ),
        grid(
            "Each drive that stood in this slot: means over the time shown",
            "Compare the rows of one slot. Means count only the time in which the drive answered.",
            Column("read await", _over_range(q.mean_await("read")), "s", t.AWAIT),
            Column("write await", _over_range(q.mean_await("write")), "s", t.AWAIT),
            Column("flush await", _over_range(q.mean_await("flush")), "s", t.FLUSH),
            Column(
                "requests per second",
                _over_range(q.iops("reads_completed", "writes_completed")),
                "iops",
            ),
            Column(
                "saturated",
                _over_range(q.rate(q.of_drive("ssd_disk_saturated_seconds_total"))),
                "percentunit",
                t.SATURATED,
            ),
            size=Size(24, 6),
        ),
    ),
    is_collapsed=True,
)

PROBE_ROW = Row(
    "Is it as fast as it was?",
    (
        timeline(
            "Probe latency of this drive: p99 of each run",
            "The same short test again and again, so that production's load does not decide. "
            "Rising over weeks: the drive ages, fills up, or is no longer trimmed.",
            "s",
            Query(
                q.of_drive("ssd_probe_last_latency_seconds", 'stat="p99"'),
                f"{{{{profile}}}} {{{{op}}}} {DRIVE}",
            ),
            steps=t.FSYNC_PROBE,
            nothing="probes are off",
        ),
        timeline(
            "Link speed and what it could be",
            "Line rate after encoding. A step down that stays is a bad contact or a bad slot.",
            "Bps",
            Query(q.of_drive("ssd_link_speed_bytes_per_second"), f"negotiated {DRIVE}"),
            Query(q.of_drive("ssd_link_speed_max_bytes_per_second"), f"possible {DRIVE}"),
            nothing="not told",
        ),
    ),
    is_collapsed=True,
)
