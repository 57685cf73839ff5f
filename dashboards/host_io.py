"""Dashboard of a host's I/O: drive, CPU, write cache, heat or link as the bottleneck."""

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
from dashboards.builders.panels import states, timeline, value
from dashboards.host_io_cpu import CPU_ROW, NETWORK, WHO, pressure
from dashboards.host_io_disk import drive_latency, drive_load, load_profile
from dashboards.state import exporter, free_space, host_state

_FALLOFF = t.ALERTS["falloff_ratio"]


def _verdict() -> tuple[Panel, ...]:
    narrow = Size(3, 7)
    stalled = q.of_drive("ssd_disk_stalled_seconds_total")
    falloff = q.of_drive("ssd_disk_write_falloff_last_ratio")
    events = q.increase(q.of_drive("ssd_disk_write_falloff_events_total"), "10m")
    softirq = q.of_host("ssd_cpu_softirq_max_ratio", 'window="1m"')
    return (
        value(
            "Bottleneck",
            "The exporter's verdict for the last 10 seconds. Read it first; the tiles beside it "
            "show the evidence. If it is green and queries are slow, investigate MySQL, not the "
            "drive. If it is red, find the queries and jobs that cause the load before you buy a "
            "faster drive.",
            "none",
            Query(q.verdict()),
            words=words.VERDICT,
            size=Size(6, 7),
            nothing="no verdict: check the scrape configuration",
        ),
        value(
            "Saturated",
            "Share of time in which the drive was saturated: busy, queue full, latency far above "
            "its own baseline, and tasks waiting. This is not %util.",
            "percentunit",
            Query(q.rate(q.of_drive("ssd_disk_saturated_seconds_total"))),
            steps=t.SATURATED,
            size=narrow,
        ),
        value(
            "Stalled",
            "Seconds of the last 2 minutes in which requests in flight hung, all or some of them: "
            "the drive or controller hangs. See the kernel log.",
            "s",
            Query(f"increase({stalled}[2m])"),
            steps=t.STALLED,
            size=narrow,
        ),
        value(
            "Softirq CPU",
            "Largest share of one second that a single CPU spent in softirq and irq, during the "
            "last minute. Such a CPU limits I/O while the average over all CPUs is low.",
            "percentunit",
            Query(f"max {q.BY_HOST} ({softirq})", ""),
            steps=t.SOFTIRQ,
            size=narrow,
        ),
        value(
            "Falloff",
            "Write throughput after a falloff in the last 10 minutes, as a share of the "
            f"throughput before, at the same demand. Below {_FALLOFF:.0%} the write cache is "
            "probably full, or the drive collects garbage. Check the temperature margin first: "
            "heat looks the same.",
            "percentunit",
            Query(f"{falloff} and {q.ON_DRIVE} {events} > 0"),
            steps=t.FALLOFF,
            size=narrow,
            nothing="no falloff",
        ),
        value(
            "Heat margin",
            "Degrees Celsius below the drive's own warning temperature "
            f"({t.TEMPERATURE_FALLBACK_CELSIUS:g} °C if it reports none). At or below zero it may "
            "throttle itself.",
            "celsius",
            Query(q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)),
            steps=t.HEAT,
            size=narrow,
            nothing="not reported",
        ),
        value(
            "Link speed",
            "Negotiated line rate as a share of the maximum of drive and port. Below 100 %: "
            "cable, slot, backplane or controller. Power saving may lower the rate of an idle "
            "PCIe link.",
            "percentunit",
            Query(q.link_share()),
            steps=t.LINK,
            size=narrow,
            nothing="not reported",
        ),
        states(
            "Bottleneck of each drive over time",
            "Blue annotations mark replaced drives, purple ones probe runs of ssd-exporter (off at "
            "first).",
            Query(q.verdict()),
            words.VERDICT,
            size=Size(8, 8),
            nothing="no verdict",
        ),
        timeline(
            "Time saturated and stalled, by drive",
            "Saturated: slow with a full queue. Stalled: requests in flight hang, all or some. "
            "More than a few stalled seconds mean that the drive or controller hangs.",
            "percentunit",
            Query(
                q.rate(q.of_drive("ssd_disk_saturated_seconds_total")),
                "saturated {{device}}",
            ),
            Query(
                q.occurred(q.rate(q.of_drive("ssd_disk_stalled_seconds_total"))),
                "stalled {{device}}",
            ),
            steps=t.SATURATED,
            maximum=1,
            size=Size(8, 8),
        ),
        pressure(Size(8, 8)),
    )


DASHBOARD = Dashboard(
    uid="ssd-host-io",
    title="SSD / Host I/O",
    description=(
        "Bottleneck of a host's I/O: drive, CPU, write cache, heat or link. Start with "
        "the first row."
    ),
    variables=(*host_variables(is_single=True), drive_variable()),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Bottleneck: drive, CPU, write cache, heat or link", _verdict()),
        Row("State of arrays, drives and filesystems", host_state()),
        Row("Who causes the I/O", WHO),
        Row("Drive latency", drive_latency()),
        Row("Drive load", drive_load(), is_collapsed=True),
        CPU_ROW,
        Row("Load profile", load_profile(), is_collapsed=True),
        Row(
            "Free space, network, exporter",
            (*free_space(Size(8, 8)), NETWORK, *exporter()),
            is_collapsed=True,
        ),
    ),
)
