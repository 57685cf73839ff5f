"""Panels of the dashboard Host I/O: CPUs, interrupts, pressure, and load by control group."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.frame import Row
from dashboards.builders.panel_parts import THIRD, Panel, Query, Size
from dashboards.builders.panels import timeline

_MODES = q.of_host("ssd_cpu_seconds_total")


def _share(mode: str) -> str:
    """Share of the time of all CPUs that was spent in `mode`."""
    of_mode = q.of_host("ssd_cpu_seconds_total", f'mode="{mode}"')
    return f"sum {q.BY_HOST} ({q.rate(of_mode)}) / sum {q.BY_HOST} ({q.rate(_MODES)})"


def pressure(size: Size) -> Panel:
    """I/O pressure of host and control groups."""
    return timeline(
        "I/O pressure: share of time with waits",
        "Some: at least one task waited for I/O. All: no task made progress. The control groups "
        "of MySQL show whether MySQL waits. Pressure does not include waits in io_getevents, "
        "which InnoDB's own threads use.",
        "percentunit",
        Query(q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")), "some"),
        Query(q.rate(q.of_host("ssd_pressure_io_stalled_seconds_total")), "all"),
        Query(
            q.rate(q.of_host("ssd_cgroup_pressure_io_stalled_seconds_total")),
            "all of {{cgroup}}",
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
            Query(_share("iowait"), "iowait, all CPUs"),
            Query(
                q.of_host("ssd_cpu_iowait_max_ratio", 'window="1m"'),
                "iowait, worst CPU in one second",
            ),
            Query(_share("softirq"), "softirq, all CPUs"),
            Query(
                q.of_host("ssd_cpu_softirq_max_ratio", 'window="1m"'),
                "softirq and irq, worst CPU in one second",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_io_waiting_seconds_total")),
                "I/O pressure, some",
            ),
            Query(
                q.rate(q.of_host("ssd_pressure_irq_stalled_seconds_total")),
                "interrupt pressure",
            ),
            maximum=1,
        ),
        timeline(
            "Saturated by interrupts",
            "Share of time in which one CPU had only softirq and irq and no idle time.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_cpu_softirq_saturated_seconds_total")), "saturated"),
            steps=t.SOFTIRQ_SATURATED,
            maximum=1,
        ),
        timeline(
            "Softirqs by type",
            "Counts, not time. NET_RX is the network, BLOCK is the drives.",
            "ops",
            Query(
                "sum by (cluster, job, instance, vector) "
                f"({q.rate(q.of_host('ssd_softirqs_total'))})",
                "{{vector}}",
            ),
            size=THIRD,
            style="stacked",
        ),
        timeline(
            "Pressure on CPU and memory",
            "Tasks that waited for a CPU or for memory. Swapping causes I/O that no query needs: "
            "resolve the memory shortage first.",
            "percentunit",
            Query(q.rate(q.of_host("ssd_pressure_cpu_waiting_seconds_total")), "CPU, some"),
            Query(
                q.rate(q.of_host("ssd_pressure_memory_waiting_seconds_total")),
                "memory, some",
            ),
            Query(
                q.occurred(q.rate(q.of_host("ssd_pressure_memory_stalled_seconds_total"))),
                "memory, all",
            ),
            steps=t.PRESSURE,
            maximum=1,
            size=THIRD,
        ),
        timeline(
            "Time in softirq and irq, by CPU",
            "One line far above the others means that one queue or interrupt is bound to one "
            "CPU. Spread it (RSS, RPS, smp_affinity). Requires the exporter's per-CPU metrics, "
            "which are disabled by default.",
            "percentunit",
            Query(
                "sum by (cluster, job, instance, cpu) ("
                + q.rate(q.of_host("ssd_cpu_by_cpu_seconds_total", 'mode=~"softirq|irq"'))
                + ")",
                "CPU {{cpu}}",
            ),
            steps=t.SOFTIRQ,
            maximum=1,
            nothing="per-CPU metrics are disabled; see the tile Softirq CPU",
        ),
        timeline(
            "Hottest CPU, by number",
            "CPU with the most softirq time. Use its number with mpstat -P, /proc/interrupts and "
            "smp_affinity.",
            "none",
            Query(q.of_host("ssd_cpu_softirq_hottest_cpu"), "CPU number"),
            style="points",
            size=THIRD,
        ),
    ),
    is_collapsed=True,
)

_NO_SERVICES = "no cgroup v2, or no accounting: DefaultIOAccounting=yes in systemd's system.conf"


def _of_services(name: str) -> str:
    return q.occurred(q.rate(q.of_drive(f"ssd_service_io_{name}_total")))


WHO = (
    timeline(
        "Bytes, by service",
        "The busiest services and containers of each drive; other is all others together. The "
        "drive does more than their sum if the kernel itself does I/O, as in a RAID rebuild.",
        "Bps",
        Query(_of_services("written_bytes"), "{{service}} {{device}} writes"),
        Query(_of_services("read_bytes"), "{{service}} {{device}} reads"),
        style="stacked",
        size=Size(8, 7),
        nothing=_NO_SERVICES,
    ),
    timeline(
        "Requests, by service",
        "Many small requests saturate a drive with few bytes. Counted before the kernel merges "
        "requests, so the sum can exceed the requests of the drive.",
        "iops",
        Query(_of_services("read_requests"), "{{service}} {{device}} reads"),
        Query(_of_services("write_requests"), "{{service}} {{device}} writes"),
        style="stacked",
        size=Size(8, 7),
        nothing=_NO_SERVICES,
    ),
    timeline(
        "Waits for I/O, by unit",
        "Share of time in which at least one task of the unit waited for I/O. A unit that waits "
        "and does not write much is probably delayed by another one.",
        "percentunit",
        Query(q.rate(q.of_host("ssd_cgroup_pressure_io_waiting_seconds_total")), "{{cgroup}}"),
        steps=t.PRESSURE,
        maximum=1,
        size=Size(8, 7),
        nothing="no unit is monitored, or cgroup v1",
    ),
)

NETWORK = timeline(
    "Network backlog: packets per second",
    "Dropped packets and exhausted budgets. Both increase if softirqs cannot keep up. Such a CPU "
    "limits disk I/O as well.",
    "cps",
    Query(q.rate(q.of_host("ssd_softnet_dropped_total")), "dropped"),
    Query(q.rate(q.of_host("ssd_softnet_times_squeezed_total")), "squeezed"),
    size=THIRD,
)
