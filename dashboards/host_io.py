"""Host I/O: is it the disk, the CPU, the cache, heat or the link? For whoever is on call."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.drive_panels import PROBE_RUNS, REPLACED
from dashboards.frame import Dashboard, Row, drive_variable, host_variables
from dashboards.host_io_cpu import CPU_ROW, WHO_ROW, pressure
from dashboards.host_io_disk import full, shapes, slow
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import states, timeline, value

_FALLOFF = t.ALERTS["falloff_ratio"]


def _verdict() -> tuple[Panel, ...]:
    narrow = Size(3, 7)
    stalled = q.of_drive("ssd_disk_stalled_seconds_total")
    falloff = q.of_drive("ssd_disk_write_falloff_last_ratio")
    events = q.increase(q.of_drive("ssd_disk_write_falloff_events_total"), "10m")
    softirq = q.of_host("ssd_cpu_softirq_max_ratio", 'window="1m"')
    return (
        value(
            "What holds each drive's work back",
            "The exporter's verdict over the last 10 seconds. Read this first; the tiles beside it "
            "are its grounds. Green with slow queries: look at MySQL, not at the drive. Red: see "
            "which queries and jobs make the load before you buy a faster drive.",
            "none",
            Query(q.verdict()),
            words=words.VERDICT,
            size=Size(6, 7),
            nothing="no verdict: is the exporter scraped?",
        ),
        value(
            "Disk: time saturated",
            "Share of the time in which the drive had nothing left to give and somebody waited: "
            "busy, queue filled, slow against its own baseline, pressure. Not %util.",
            "percentunit",
            Query(q.rate(q.of_drive("ssd_disk_saturated_seconds_total"))),
            steps=t.SATURATED,
            size=narrow,
        ),
        value(
            "Disk: seconds stalled in 2 minutes",
            "Seconds in which requests were in flight and none completed: a drive or controller "
            "that hangs. The kernel's log says what it gave up.",
            "s",
            Query(f"increase({stalled}[2m])"),
            steps=t.STALLED,
            size=narrow,
        ),
        value(
            "CPU: hottest one in interrupts",
            "The largest share of one CPU's second spent in softirq and irq, in the last minute. "
            "Such a CPU holds I/O back while the average of all looks idle.",
            "percentunit",
            Query(
                f"max {q.BY_HOST} ({softirq})",
                "{{instance}}",
            ),
            steps=t.SOFTIRQ,
            size=narrow,
        ),
        value(
            "Cache: write speed left after a falloff",
            "Where writes fell off in the last 10 minutes though as many were asked for: what was "
            f"left of the speed. Below {_FALLOFF:.0%} the drive's fast cache is probably "
            "full, or it collects garbage; rule out heat first.",
            "percentunit",
            Query(f"{falloff} and {q.ON_DRIVE} {events} > 0"),
            steps=t.FALLOFF,
            size=narrow,
            nothing="no falloff",
        ),
        value(
            "Heat: degrees left",
            "How far the drive is below its own warning temperature, "
            f"{t.TEMPERATURE_FALLBACK_CELSIUS:g} °C where it names none. At zero it may slow down.",
            "celsius",
            Query(q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)),
            steps=t.HEAT,
            size=narrow,
            nothing="not told",
        ),
        value(
            "Link: speed of what it could be",
            "Negotiated line rate as a share of what drive and port allow. Below 100 %: cable, "
            "slot, backplane or controller. An idle PCIe link may rest at a lower one.",
            "percentunit",
            Query(q.link_share()),
            steps=t.LINK,
            size=narrow,
            nothing="not told",
        ),
        states(
            "What held each drive back, over time",
            "Blue marks are replaced drives, purple ones runs of our own probe.",
            Query(q.verdict()),
            words.VERDICT,
            size=Size(8, 8),
        ),
        timeline(
            "Time saturated and time stalled, by drive",
            "Saturated: slow and full. Stalled: requests in flight and none completes; more than a "
            "few seconds is a drive or controller that hangs.",
            "percentunit",
            Query(
                q.rate(q.of_drive("ssd_disk_saturated_seconds_total")),
                "saturated {{instance}} {{device}}",
            ),
            Query(
                q.rate(q.of_drive("ssd_disk_stalled_seconds_total")),
                "stalled {{instance}} {{device}}",
            ),
            steps=t.SATURATED,
            most=1,
            size=Size(8, 8),
        ),
        pressure(Size(8, 8)),
    )


DASHBOARD = Dashboard(
    uid="ssd-host-io",
    title="SSD / Host I/O",
    description="Is it the disk, the CPU, the cache, heat or the link? The first row answers.",
    variables=(*host_variables(), drive_variable()),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Is it the disk, the CPU, the cache, heat or the link?", _verdict()),
        Row("Is a drive full?", full()),
        Row("Is a drive slow?", slow()),
        CPU_ROW,
        WHO_ROW,
        Row("Shapes of the load", shapes(), is_collapsed=True),
    ),
)
