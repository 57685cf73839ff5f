"""Panels of the dashboard Host I/O: CPUs, interrupts, pressure, and load by control group."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.frame import Row
from dashboards.panel_parts import HOST, Panel, Query, Size
from dashboards.panels import timeline, value

_MODES = q.of_host("ssd_cpu_seconds_total")
_THIRD = Size(8, 8)


def _share(mode: str) -> str:
    """Share of the time of all CPUs that was spent in `mode`."""
    of_mode = q.of_host("ssd_cpu_seconds_total", f'mode="{mode}"')
    return f"sum {q.BY_HOST} ({q.rate(of_mode)}) / sum {q.BY_HOST} ({q.rate(_MODES)})"


def pressure(size: Size) -> Panel:
    """I/O pressure of host and control groups."""
    return timeline(
        "I/O pressure: share of time in which tasks waited",
        "Some: at least one task waited for I/O. All: no task made progress. The control groups "
        "of MySQL show whether MySQL waits. Pressure does not include waits in io_getevents, "
        "which InnoDB's own threads use.",
        "percentunit",
        Query(q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")), "some {{instance}}"),
        Query(q.rate(q.of_host("ssd_pressure_io_stalled_seconds_total")), "all {{instance}}"),
        Query(
            q.rate(q.of_host("ssd_cgroup_pressure_io_stalled_seconds_total")),
            "all of {{cgroup}} {{instance}}",
        ),
        steps=t.PRESSURE,
        maximum=1,
        size=size,
        nothing="this kernel provides no pressure information (psi=0, or before 4.20)",
    )


CPU_ROW = Row(
    "CPU and interrupts",
    (
        timeline(
            "iowait, softirq and pressure",
            "High iowait alone is idle time and proves nothing. High softirq on the hottest CPU "
            "with low iowait means that interrupts limit I/O, not the drive.",
            "percentunit",
            Query(_share("iowait"), "iowait, all CPUs {{instance}}"),
            Query(
                q.of_host("ssd_cpu_iowait_max_ratio", 'window="1m"'),
                "iowait, worst CPU in one second {{instance}}",
            ),
            Query(_share("softirq"), "softirq, all CPUs {{instance}}"),
            Query(
                q.of_host("ssd_cpu_softirq_max_ratio", 'window="1m"'),
                "softirq and irq, worst CPU in one second {{instance}}",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")),
                "I/O pressure, some {{instance}}",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_irq_stalled_seconds_total")),
                "interrupt pressure {{instance}}",
            ),
            maximum=1,
        ),
        timeline(
            "Time in softirq and irq, by CPU",
            "One line far above the others means that one queue or interrupt is bound to one "
            "CPU. Spread it (RSS, RPS, smp_affinity). Requires the exporter's per-CPU metrics, "
            "which are disabled by default.",
            "percentunit",
            Query(
                "sum by (job, instance, cpu) ("
                + q.rate(q.of_host("ssd_cpu_by_cpu_seconds_total", 'mode=~"softirq|irq"'))
                + ")",
                "CPU {{cpu}} {{instance}}",
            ),
            steps=t.SOFTIRQ,
            maximum=1,
            nothing="per-CPU metrics are disabled; see the tiles for the hottest CPU",
        ),
        value(
            "Hottest CPU (number)",
            "CPU with the most softirq time. Use its number with mpstat -P, /proc/interrupts and "
            "smp_affinity.",
            "none",
            Query(q.of_host("ssd_cpu_softirq_hottest_cpu"), HOST),
            size=Size(4, 8),
        ),
        timeline(
            "Saturated by interrupts",
            "Share of time in which one CPU had only softirq and irq and no idle time.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_cpu_softirq_saturated_seconds_total")), HOST),
            steps=t.SOFTIRQ_SATURATED,
            maximum=1,
            size=Size(4, 8),
        ),
        timeline(
            "Softirqs by type",
            "Counts, not time. NET_RX is the network, BLOCK is the drives.",
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
            "Tasks that waited for a CPU or for memory. Swapping causes I/O that no query needs: "
            "resolve the memory shortage first.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_pressure_cpu_waiting_seconds_total")), "CPU {{instance}}"),
            Query(
                q.rate(q.of_host("ssd_pressure_memory_waiting_seconds_total")),
                "memory {{instance}}",
            ),
            steps=t.PRESSURE,
            maximum=1,
            size=_THIRD,
        ),
    ),
)

LOAD_ROW = Row(
    "Load by control group, and network",
    (
        timeline(
            "Bytes written, by unit",
            "systemd units that write to the drives, such as MySQL, a backup or a probe. All other "
            "writes come from processes that are not monitored by unit.",
            "Bps",
            Query(
                q.rate(q.of_drive("ssd_cgroup_io_written_bytes_total")),
                "{{cgroup}} {{instance}} {{device}}",
            ),
            style="stacked",
            size=_THIRD,
            nothing="no unit is monitored, or cgroup v1",
        ),
        timeline(
            "Bytes read, by unit",
            "systemd units that read from the drives.",
            "Bps",
            Query(
                q.rate(q.of_drive("ssd_cgroup_io_read_bytes_total")),
                "{{cgroup}} {{instance}} {{device}}",
            ),
            style="stacked",
            size=_THIRD,
            nothing="no unit is monitored, or cgroup v1",
        ),
        timeline(
            "Network backlog: packets dropped and budgets exhausted",
            "Both increase if softirqs cannot keep up. Such a CPU limits disk I/O as well.",
            "pps",
            Query(q.rate(q.of_host("ssd_softnet_dropped_total")), "dropped {{instance}}"),
            Query(q.rate(q.of_host("ssd_softnet_times_squeezed_total")), "squeezed {{instance}}"),
            size=_THIRD,
        ),
    ),
    is_collapsed=True,
)
