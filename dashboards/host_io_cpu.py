"""The other side of Host I/O: CPUs, interrupts, pressure, and who makes the load."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.frame import Row
from dashboards.panel_parts import HOST, Panel, Query, Size
from dashboards.panels import timeline, value

_MODES = q.of_host("ssd_cpu_seconds_total")
_THIRD = Size(8, 8)


def _share(mode: str) -> str:
    """Of all CPUs' time."""
    of_mode = q.of_host("ssd_cpu_seconds_total", f'mode="{mode}"')
    return f"sum {q.BY_HOST} ({q.rate(of_mode)}) / sum {q.BY_HOST} ({q.rate(_MODES)})"


def pressure(size: Size) -> Panel:
    """Who waits for I/O."""
    return timeline(
        "I/O pressure: share of time in which tasks waited",
        "Some: at least one task waited for I/O. All: nothing else got done either. mysql units "
        "beside the host say whether it is MySQL that waits. Pressure is not seen where a task "
        "waits in io_getevents, as InnoDB's own threads do.",
        "percentunit",
        Query(q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")), "some {{instance}}"),
        Query(q.rate(q.of_host("ssd_pressure_io_stalled_seconds_total")), "all {{instance}}"),
        Query(
            q.rate(q.of_host("ssd_cgroup_pressure_io_stalled_seconds_total")),
            "all of {{cgroup}} {{instance}}",
        ),
        steps=t.PRESSURE,
        most=1,
        size=size,
        nothing="this kernel keeps no pressure (psi=0 or before 4.20)",
    )


CPU_ROW = Row(
    "Is it the CPU?",
    (
        timeline(
            "iowait beside softirq and pressure",
            "High iowait alone is idle time under another name and proves nothing. High softirq of "
            "the hottest CPU with low iowait: interrupts hold I/O back, not the drive.",
            "percentunit",
            Query(_share("iowait"), "iowait, all CPUs {{instance}}"),
            Query(
                q.of_host("ssd_cpu_iowait_max_ratio", 'window="1m"'),
                "iowait, worst CPU and second {{instance}}",
            ),
            Query(_share("softirq"), "softirq, all CPUs {{instance}}"),
            Query(
                q.of_host("ssd_cpu_softirq_max_ratio", 'window="1m"'),
                "softirq and irq, worst CPU and second {{instance}}",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")),
                "I/O pressure, some {{instance}}",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_irq_stalled_seconds_total")),
                "interrupt pressure {{instance}}",
            ),
            most=1,
        ),
        timeline(
            "Time in softirq and irq, by CPU",
            "One line far above the rest is one queue or one interrupt on one CPU: spread it (RSS, "
            "RPS, smp_affinity). Needs the exporter's per-CPU family, which is off by default.",
            "percentunit",
            Query(
                "sum by (job, instance, cpu) ("
                + q.rate(q.of_host("ssd_cpu_by_cpu_seconds_total", 'mode=~"softirq|irq"'))
                + ")",
                "CPU {{cpu}} {{instance}}",
            ),
            steps=t.SOFTIRQ,
            most=1,
            nothing="per-CPU times are off; the tiles beside name the hottest CPU",
        ),
        value(
            "Hottest CPU in interrupts, by number",
            "Which CPU to look at with mpstat -P, /proc/interrupts and smp_affinity.",
            "none",
            Query(q.of_host("ssd_cpu_softirq_hottest_cpu"), HOST),
            size=Size(4, 8),
        ),
        timeline(
            "Time bound by interrupts",
            "Share of the time in which some CPU had only softirq and irq and no idle time left.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_cpu_softirq_saturated_seconds_total")), HOST),
            steps=t.SOFTIRQ_SATURATED,
            most=1,
            size=Size(4, 8),
        ),
        timeline(
            "Softirqs by kind",
            "Counts and not time: NET_RX on top is the network, BLOCK is the drives.",
            "ops",
            Query(
                f"sum by (job, instance, vector) ({q.rate(q.of_host('ssd_softirqs_total'))})",
                "{{vector}} {{instance}}",
            ),
            size=_THIRD,
            style="stacked",
        ),
        timeline(
            "Pressure on CPU and memory",
            "Tasks that waited for a CPU, or for memory. Swapping makes I/O that no query asked "
            "for: mend the memory first.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_pressure_cpu_waiting_seconds_total")), "CPU {{instance}}"),
            Query(
                q.rate(q.of_host("ssd_pressure_memory_waiting_seconds_total")),
                "memory {{instance}}",
            ),
            steps=t.PRESSURE,
            most=1,
            size=_THIRD,
        ),
    ),
)

WHO_ROW = Row(
    "Who makes the load, and where does it go?",
    (
        timeline(
            "Written, by unit",
            "Who writes to the drives: MySQL, a backup, the probe. What no unit here has written "
            "is the rest of the host.",
            "Bps",
            Query(
                q.rate(q.of_drive("ssd_cgroup_io_written_bytes_total")),
                "{{cgroup}} {{instance}} {{device}}",
            ),
            style="stacked",
            size=_THIRD,
            nothing="no unit is watched, or cgroup v1",
        ),
        timeline(
            "Read, by unit",
            "Who reads from the drives.",
            "Bps",
            Query(
                q.rate(q.of_drive("ssd_cgroup_io_read_bytes_total")),
                "{{cgroup}} {{instance}} {{device}}",
            ),
            style="stacked",
            size=_THIRD,
            nothing="no unit is watched, or cgroup v1",
        ),
        timeline(
            "Network backlog: packets dropped and budgets used up",
            "Both grow where softirqs cannot keep up; such a CPU holds I/O back too.",
            "pps",
            Query(q.rate(q.of_host("ssd_softnet_dropped_total")), "dropped {{instance}}"),
            Query(q.rate(q.of_host("ssd_softnet_times_squeezed_total")), "squeezed {{instance}}"),
            size=_THIRD,
        ),
    ),
    is_collapsed=True,
)
