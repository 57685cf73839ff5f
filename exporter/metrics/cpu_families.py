"""CPU time, softirqs, network backlog and pressure stall information."""

from exporter.metrics.desc import MetricDesc

CPU_SECONDS = MetricDesc(
    "ssd_cpu_seconds_total",
    "Time of all CPUs by what it was spent on (/proc/stat); user holds nice too. iowait is idle "
    "time while I/O was pending, a hint and no measure; both are kept from stepping back.",
    ("mode",),
    "counter",
)
CPU_SECONDS_BY_CPU = MetricDesc(
    "ssd_cpu_by_cpu_seconds_total",
    "As ssd_cpu_seconds_total, of each CPU.",
    ("cpu", "mode"),
    "counter",
    optional=True,
)
SOFTIRQ_MAX_RATIO = MetricDesc(
    "ssd_cpu_softirq_max_ratio",
    "The largest share of any CPU's second spent in softirq and irq within the window. One CPU "
    "bound by interrupts holds I/O back and vanishes in an average.",
    ("window",),
)
SOFTIRQ_HOTTEST_CPU = MetricDesc(
    "ssd_cpu_softirq_hottest_cpu",
    "Number of the CPU with the largest softirq and irq share in the last second.",
)
IOWAIT_MAX_RATIO = MetricDesc(
    "ssd_cpu_iowait_max_ratio",
    "The largest share of any CPU's second counted as iowait within the window. A hint, and "
    "no verdict rests on it alone.",
    ("window",),
)
SOFTIRQ_SATURATED = MetricDesc(
    "ssd_cpu_softirq_saturated_seconds_total",
    "Seconds in which some CPU was bound by softirq and irq and had no idle time left.",
    (),
    "counter",
)
SOFTIRQS = MetricDesc(
    "ssd_softirqs_total",
    "Softirqs run on all CPUs by vector (/proc/softirqs). Counts, not time.",
    ("vector",),
    "counter",
)
SOFTIRQS_BY_CPU = MetricDesc(
    "ssd_softirqs_by_cpu_total",
    "As ssd_softirqs_total, of each CPU.",
    ("cpu", "vector"),
    "counter",
    optional=True,
)
SOFTNET_DROPPED = MetricDesc(
    "ssd_softnet_dropped_total",
    "Packets dropped because a CPU's backlog was full (/proc/net/softnet_stat).",
    (),
    "counter",
)
SOFTNET_SQUEEZED = MetricDesc(
    "ssd_softnet_times_squeezed_total",
    "Times a CPU's network softirq ran out of budget with packets left (/proc/net/softnet_stat).",
    (),
    "counter",
)


def _pressure(resource: str, kind: str, text: str) -> MetricDesc:
    return MetricDesc(
        f"ssd_pressure_{resource}_{kind}_seconds_total",
        f"Time in which {text} (/proc/pressure/{resource}).",
        (),
        "counter",
    )


#: By resource and kind.
PRESSURE = {
    ("io", "waiting"): _pressure("io", "waiting", 'some task waited for I/O, "some"'),
    ("io", "stalled"): _pressure("io", "stalled", 'all tasks with work waited for I/O, "full"'),
    ("cpu", "waiting"): _pressure("cpu", "waiting", 'some task waited for a CPU, "some"'),
    ("cpu", "stalled"): _pressure("cpu", "stalled", 'all tasks with work waited for a CPU, "full"'),
    ("memory", "waiting"): _pressure("memory", "waiting", 'some task waited for memory, "some"'),
    ("memory", "stalled"): _pressure(
        "memory", "stalled", 'all tasks with work waited for memory, "full"'
    ),
    ("irq", "stalled"): _pressure(
        "irq", "stalled", 'tasks were held up by interrupts, "full", since kernel 6.1'
    ),
}
CGROUP_WAITING = MetricDesc(
    "ssd_cgroup_pressure_io_waiting_seconds_total",
    'Time in which some task of the control group waited for I/O (io.pressure "some").',
    ("cgroup",),
    "counter",
)
CGROUP_STALLED = MetricDesc(
    "ssd_cgroup_pressure_io_stalled_seconds_total",
    'Time in which all tasks of the control group waited for I/O (io.pressure "full").',
    ("cgroup",),
    "counter",
)
CGROUP_READ_BYTES = MetricDesc(
    "ssd_cgroup_io_read_bytes_total",
    "Bytes that the control group read from the device (io.stat).",
    ("cgroup", "device"),
    "counter",
)
CGROUP_WRITTEN_BYTES = MetricDesc(
    "ssd_cgroup_io_written_bytes_total",
    "Bytes that the control group wrote to the device (io.stat).",
    ("cgroup", "device"),
    "counter",
)
