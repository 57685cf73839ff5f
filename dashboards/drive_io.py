"""Panels on the I/O of one drive and of its predecessor in the same slot."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.frame import Row
from dashboards.builders.panel_parts import DRIVE, THIRD, Query, Size
from dashboards.builders.panels import buckets, scatter, timeline
from dashboards.builders.tables import Column, Label, Rows, grid


def _over_range(expression: str) -> str:
    """The mean of the expression over the selected time range, by serial number."""
    return f"avg {q.BY_SERIAL} (avg_over_time(({q.by_serial(expression)})[$__range:5m]))"


def _all_drives(direction: str) -> tuple[str, str]:
    """Expressions of request time and completed requests, per second, of all selected drives."""
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
    "I/O load and latency",
    (
        timeline(
            "Await: reads, writes, flushes",
            "Mean time of a request in the queue and in the drive.",
            "s",
            *(Query(q.mean_await(kind), f"{kind} {DRIVE}") for kind in ("read", "write", "flush")),
            steps=t.AWAIT,
            size=THIRD,
        ),
        timeline(
            "Time saturated or stalled",
            "Share of time. Saturated: slow with a full queue while tasks wait. Stalled: requests "
            "in flight hang, all or some of them.",
            "percentunit",
            Query(q.rate(q.of_drive("ssd_disk_saturated_seconds_total")), f"saturated {DRIVE}"),
            Query(
                q.occurred(q.rate(q.of_drive("ssd_disk_stalled_seconds_total"))), f"stalled {DRIVE}"
            ),
            steps=t.SATURATED,
            maximum=1,
            size=THIRD,
        ),
        scatter(
            "Await by requests per second",
            "One point per interval, for all selected drives together. Where the curve rises "
            "steeply, the drive is at its limit: additional requests only wait longer.",
            ("requests per second", "iops", Query(f"{_READS} + {_WRITES}")),
            (
                "await",
                "s",
                Query(f"({_READ_TIME} + {_WRITE_TIME}) / ({_READS} + {_WRITES} > 0)"),
            ),
            size=THIRD,
        ),
    ),
)

#: There is one window in a minute, at a random time. A shorter range would have none at times.
_WINDOWS = "10m"


def _in_windows(counter: str) -> str:
    return f"rate({counter}[{_WINDOWS}])"


def _slowest(share: float) -> str:
    """The quantile of single requests, by drive and operation."""
    family = "ssd_disk_request_seconds"
    labels = "cluster, job, instance, device, op"
    classic = f"sum by ({labels}, le) ({_in_windows(q.of_drive(f'{family}_bucket'))})"
    native = f"sum by ({labels}) ({_in_windows(q.of_drive(family))})"
    either = f"histogram_quantile({share:g}, {classic}) or histogram_quantile({share:g}, {native})"
    # The comparison drops NaN, which is the result without requests.
    return f"(({either}) >= 0)"


_SHORTENED = _in_windows(q.of_host("ssd_disk_request_windows_shortened_total"))
_ALL_WINDOWS = _in_windows(q.of_host("ssd_disk_request_windows_total"))
_NOT_MEASURED = "the collector latency is disabled"

TAIL_ROW = Row(
    "Latency of single requests",
    (
        buckets(
            "Latency of single requests",
            "Colour intensity: number of requests, from the issue to the driver until the "
            "completion. Measured in windows of some seconds. A band far above the others is a "
            "population of slow requests.",
            "s",
            q.distribution(q.of_drive("ssd_disk_request_seconds")),
            size=THIRD,
            nothing=_NOT_MEASURED,
        ),
        timeline(
            "The slowest requests: p99 and p99.9",
            "Of the requests in the windows of the last 10 minutes. A commit waits for its "
            "slowest request, which the mean does not show.",
            "s",
            Query(_slowest(0.99), f"p99 {{{{op}}}} {DRIVE}"),
            Query(_slowest(0.999), f"p99.9 {{{{op}}}} {DRIVE}"),
            size=THIRD,
            nothing=_NOT_MEASURED,
        ),
        timeline(
            "Was it measured?",
            "Share of the last 10 minutes that was observed. If it is zero, nothing is known, "
            "which is not the same as no slow request. Shortened: share of the windows that ended "
            "early, because there were too many requests.",
            "percentunit",
            Query(
                _in_windows(q.of_host("ssd_disk_request_observed_seconds_total")),
                "observed {{instance}}",
            ),
            Query(f"{_SHORTENED} / ({_ALL_WINDOWS} > 0)", "shortened {{instance}}"),
            size=THIRD,
            nothing=_NOT_MEASURED,
        ),
    ),
    is_collapsed=True,
)

BEFORE_ROW = Row(
    "Before and after a replacement",
    (
        timeline(
            "Write await in this slot, by serial number",
            "A new colour is a new drive; a blue annotation marks the replacement. Select a "
            "range before and after it to compare both drives.",
            "s",
            Query(q.by_serial(q.mean_await("write")), "{{serial}}"),
            steps=t.AWAIT,
            nothing="no drive that reports its serial number",
        ),
        timeline(
            "Time saturated in this slot, by serial number",
            "With the same load, a faster drive is saturated for less time.",
            "percentunit",
            Query(
                q.by_serial(q.rate(q.of_drive("ssd_disk_saturated_seconds_total"))),
                "{{serial}}",
            ),
            steps=t.SATURATED,
            maximum=1,
            nothing="no drive that reports its serial number",
        ),
        grid(
            "Drives in this slot: means over the selected range",
            "Compare the rows of one slot. The means include only the time in which the drive "
            "answered.",
            Rows(_over_range(q.mean_await("write")), "no drive that reports its serial number"),
            Label("device", 120),
            Label("host", 130),
            Label("serial", 200, is_flexible=True),
            Column("read await", 110, _over_range(q.mean_await("read")), "s", t.AWAIT),
            Column("write await", 110, "", "s", t.AWAIT),
            Column("flush await", 110, _over_range(q.mean_await("flush")), "s", t.FLUSH),
            Column("IOPS", 90, _over_range(q.iops("reads_completed", "writes_completed")), "iops"),
            Column(
                "saturated",
                100,
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
    "Performance over time",
    (
        timeline(
            "Probe latency: p99 of each run",
            "A short test with constant parameters, so that production load does not influence "
            "the comparison. An increase over weeks means that the drive ages, fills up, or is "
            "not trimmed.",
            "s",
            Query(
                q.of_drive("ssd_probe_last_latency_seconds", 'stat="p99"'),
                f"{{{{profile}}}} {{{{op}}}} {DRIVE}",
            ),
            steps=t.FSYNC_PROBE,
            nothing="probes are disabled",
        ),
        timeline(
            "Baseline relative to the first day",
            "Await at low load, divided by that of the first day. A drive with a value of several "
            "times 1 has become slower over the months.",
            "none",
            Query(
                f"{q.of_drive('ssd_disk_await_baseline_seconds')} / "
                f"({q.of_drive('ssd_disk_await_reference_seconds')} > 0)",
                f"{{{{op}}}} {DRIVE}",
            ),
            nothing="no reference: it is recorded on the first day",
        ),
        timeline(
            "Link speed and its maximum",
            "Line rate without encoding overhead. A lasting decrease means a bad contact or a "
            "bad slot.",
            "Bps",
            Query(q.of_drive("ssd_link_speed_bytes_per_second"), f"negotiated {DRIVE}"),
            Query(q.of_drive("ssd_link_speed_max_bytes_per_second"), f"maximum {DRIVE}"),
            nothing="not reported",
        ),
    ),
    is_collapsed=True,
)
