"""Defines the metric families of the CPU: times, softirqs, network backlog and pressure.

Pressure is the kernel's pressure stall information (PSI): the time in which tasks waited.
"""

from exporter.families.desc import MetricDesc

CPU_SECONDS = MetricDesc(
    "ssd_cpu_seconds_total",
    "Time of all CPUs by mode; user includes nice (/proc/stat). iowait is idle time while I/O "
    "was pending, so it is only a hint. If the kernel's counters of idle and iowait decrease, "
    "the exporter corrects them.",
    ("mode",),
    "counter",
)
CPU_SECONDS_BY_CPU = MetricDesc(
    "ssd_cpu_by_cpu_seconds_total",
    "Time of each CPU by mode (/proc/stat). See ssd_cpu_seconds_total.",
    ("cpu", "mode"),
    "counter",
    optional=True,
)
SOFTIRQ_MAX_RATIO = MetricDesc(
    "ssd_cpu_softirq_max_ratio",
    "Largest share of a second that any CPU spent in softirq and irq, within the window "
    "(/proc/stat, sampled every second). A single CPU saturated by interrupts slows I/O down "
    "but does not show in an average.",
    ("window",),
)
SOFTIRQ_HOTTEST_CPU = MetricDesc(
    "ssd_cpu_softirq_hottest_cpu",
    "Number of the CPU with the largest softirq and irq share in the last second (/proc/stat).",
)
IOWAIT_MAX_RATIO = MetricDesc(
    "ssd_cpu_iowait_max_ratio",
    "Largest share of a second that any CPU counted as iowait, within the window (/proc/stat, "
    "sampled every second). It is only a hint: iowait alone never causes a verdict.",
    ("window",),
)
SOFTIRQ_SATURATED = MetricDesc(
    "ssd_cpu_softirq_saturated_seconds_total",
    "Seconds in which at least one CPU was saturated by softirq and irq: it had no idle time "
    "(/proc/stat, sampled every second).",
    (),
    "counter",
)
SOFTIRQS = MetricDesc(
    "ssd_softirqs_total",
    "Softirqs run on all CPUs, by vector (/proc/softirqs). These are counts, not times.",
    ("vector",),
    "counter",
)
SOFTIRQS_BY_CPU = MetricDesc(
    "ssd_softirqs_by_cpu_total",
    "Softirqs run on each CPU, by vector (/proc/softirqs). These are counts, not times.",
    ("cpu", "vector"),
    "counter",
    optional=True,
)
SOFTNET_DROPPED = MetricDesc(
    "ssd_softnet_dropped_total",
    "Network packets dropped because a CPU's backlog was full (/proc/net/softnet_stat).",
    (),
    "counter",
)
SOFTNET_SQUEEZED = MetricDesc(
    "ssd_softnet_times_squeezed_total",
    "Times that a CPU's network softirq used up its budget with packets left "
    "(/proc/net/softnet_stat).",
    (),
    "counter",
)


def _pressure(resource: str, kind: str, text: str) -> MetricDesc:
    line = "some" if kind == "waiting" else "full"
    since = ", since kernel 6.1" if resource == "irq" else ""
    return MetricDesc(
        f"ssd_pressure_{resource}_{kind}_seconds_total",
        f'Time in which {text} (/proc/pressure/{resource} "{line}"{since}).',
        (),
        "counter",
    )


#: The families of pressure, keyed by resource and kind.
PRESSURE = {
    ("io", "waiting"): _pressure("io", "waiting", "at least one task waited for I/O"),
    ("io", "stalled"): _pressure("io", "stalled", "all non-idle tasks waited for I/O"),
    ("cpu", "waiting"): _pressure("cpu", "waiting", "at least one task waited for a CPU"),
    ("cpu", "stalled"): _pressure("cpu", "stalled", "all non-idle tasks waited for a CPU"),
    ("memory", "waiting"): _pressure("memory", "waiting", "at least one task waited for memory"),
    ("memory", "stalled"): _pressure("memory", "stalled", "all non-idle tasks waited for memory"),
    ("irq", "stalled"): _pressure(
        "irq", "stalled", "all non-idle tasks were delayed by interrupts"
    ),
}
CGROUP_WAITING = MetricDesc(
    "ssd_cgroup_pressure_io_waiting_seconds_total",
    'Time in which at least one task of the control group waited for I/O (io.pressure "some").',
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


def _service(name: str, text: str) -> MetricDesc:
    return MetricDesc(
        f"ssd_service_io_{name}_total",
        f"{text} (io.stat of cgroup v2, since the service is among the busiest of the device). "
        "`other` is all other services; I/O of the kernel itself is not included.",
        ("device", "service"),
        "counter",
    )


SERVICE_READ_BYTES = _service("read_bytes", "Bytes that the service read from the device")
SERVICE_WRITTEN_BYTES = _service("written_bytes", "Bytes that the service wrote to the device")
SERVICE_READS = _service("read_requests", "Read requests of the service, before merging")
SERVICE_WRITES = _service("write_requests", "Write requests of the service, before merging")
