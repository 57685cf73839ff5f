"""PromQL expressions that panels share. Every selector matches cluster, job and instance.

Series without the label `cluster` match too, because All stands for ".*".
"""

HOST = 'cluster=~"$cluster", job=~"$job", instance=~"$instance"'
DRIVE = f'{HOST}, device=~"$device"'

#: Matching and grouping by drive, by drive with serial number, and by host.
ON_DRIVE = "on (cluster, job, instance, device)"
ON_SERIAL = "on (cluster, job, instance, device, serial)"
BY_HOST = "by (cluster, job, instance)"
BY_DRIVE = "by (cluster, job, instance, device)"
BY_SERIAL = "by (cluster, job, instance, device, serial)"

#: Values of the label cause of ssd_io_bottleneck. Panels map the index to a text and a colour.
CAUSES = (
    *("none", "device", "cpu_softirq", "write_cache", "thermal", "link", "unknown"),
    "throttled",
)


def of_host(name: str, *matchers: str) -> str:
    """Selects a metric without device label on the selected hosts."""
    return f"{name}{{{', '.join((HOST, *matchers))}}}"


def of_drive(name: str, *matchers: str) -> str:
    """Selects a metric with device label on the selected drives."""
    return f"{name}{{{', '.join((DRIVE, *matchers))}}}"


def rate(selector: str) -> str:
    return f"rate({selector}[$__rate_interval])"


def increase(selector: str, window: str = "$__rate_interval") -> str:
    return f"increase({selector}[{window}])"


def growth(counter: str, window: str) -> str:
    """How much a counter has grown, as a difference: increase() extrapolates to fractions.

    A subquery evaluates some hundred points of the window, a plain range would read all of them.
    """
    step = {"1h": "5m", "24h": "10m", "7d": "1h"}[window]
    return f"{counter} - min_over_time({counter}[{window}:{step}])"


def ratio(above: str, below: str) -> str:
    """The quotient. Series whose divisor is zero are omitted."""
    return f"{above} / ({below} > 0)"


def mean_await(direction: str) -> str:
    """Mean seconds per request from the kernel's counters; `direction` is read, write or flush."""
    time, done = {
        "read": ("read_time_seconds", "reads_completed"),
        "write": ("write_time_seconds", "writes_completed"),
        "flush": ("flush_requests_time_seconds", "flush_requests"),
    }[direction]
    return ratio(rate(of_drive(f"ssd_disk_{time}_total")), rate(of_drive(f"ssd_disk_{done}_total")))


def iops(*kinds: str) -> str:
    """Requests per second, summed over `kinds`."""
    return " + ".join(rate(of_drive(f"ssd_disk_{kind}_total")) for kind in kinds)


def quantile(share: float, family: str, *by: str) -> str:
    """The quantile `share` of a histogram of the sampler, by drive and by the labels `by`."""
    labels = ", ".join(("cluster", "job", "instance", "device", *by))
    classic = f"sum by ({labels}, le) ({rate(of_drive(f'{family}_bucket'))})"
    native = f"sum by ({labels}) ({rate(of_drive(family))})"
    either = f"histogram_quantile({share:g}, {classic}) or histogram_quantile({share:g}, {native})"
    # The comparison drops NaN, which is the result without observations.
    return f"(({either}) >= 0)"


def mean(family: str) -> str:
    """The mean of a histogram of the sampler, by drive.

    VictoriaMetrics has no function for the sum of a native histogram, so the last term is recorded
    by alerts/examples/native-histograms.yml.
    """
    classic = ratio(rate(of_drive(f"{family}_sum")), rate(of_drive(f"{family}_count")))
    return f"{classic} or {of_drive(f'instance_device:{family}:mean5m')}"


def distribution(series: str) -> str:
    """The number of observations in each bucket of a histogram, classic or native.

    series: the name of the histogram and its matchers, such as `of_drive` returns them.
    """
    name, brace, matchers = series.partition("{")
    classic = increase(f"{name}_bucket{brace}{matchers}")
    return f"sum by (le) ({classic}) or sum ({increase(series)})"


def share_above(family: str, edge: str) -> str:
    """Share of the observations above the bucket bound `edge`, by drive."""
    edge_matcher = f'le="{edge}"'
    below = rate(of_drive(f"{family}_bucket", edge_matcher))
    whole = rate(of_drive(f"{family}_count"))
    classic = f"sum {BY_DRIVE} ({below}) / (sum {BY_DRIVE} ({whole}) > 0)"
    native = f"histogram_fraction(0, {edge}, sum {BY_DRIVE} ({rate(of_drive(family))}))"
    return f"1 - ({classic} or {native})"


def verdict() -> str:
    """The bottleneck of each drive, as an index in `CAUSES`."""
    matchers = (f'cause="{cause}"' for cause in CAUSES)
    coded = "\n  or ".join(
        f"{of_drive('ssd_io_bottleneck', matcher)} * {number}"
        for number, matcher in enumerate(matchers)
    )
    return f"sum {BY_DRIVE} (\n  {coded}\n)"


def probe_latency(profile: str, op: str, stat: str) -> str:
    """A latency statistic of the last run of one profile."""
    matchers = (f'profile="{profile}"', f'op="{op}"', f'stat="{stat}"')
    return of_drive("ssd_probe_last_latency_seconds", *matchers)


def fsync_probe_p99() -> str:
    """p99 latency of the last fsync probe."""
    return probe_latency("fsync", "sync", "p99")


def headroom() -> str:
    """Production write throughput as a share of that of a probe without a rate limit.

    It compares bytes and not requests, because these probes write requests of 1 MiB.
    """
    ceiling = of_drive("ssd_probe_throughput_bytes_per_second", 'op="write"')
    written = rate(of_drive("ssd_disk_written_bytes_total"))
    return f"{written} / {ON_DRIVE} max {BY_DRIVE} ({ceiling})"


def occurred(expression: str) -> str:
    """The expression where it is above zero. Kinds of events that did not occur have no series."""
    return f"{expression} > 0"


def or_nothing(expression: str, label: str, text: str) -> str:
    """The expression, or one series with value 0 and `text` in a label where it has no series."""
    return f'{expression}\nor on () label_replace(vector(0), "{label}", "{text}", "", "")'


def known_zero(count: str, known: str) -> str:
    """A count, or zero if the series of `known` exist. No value if nothing is known."""
    return f"({count}) or on () count({known}) * 0"


def lost() -> str:
    """Drives that do not answer and that the kernel no longer lists, as SSDDriveLost defines them.

    A drive behind a RAID controller ("device:number") has no block device of its own.
    """
    listed = of_drive("ssd_device_info", 'device!~".+:.+"')
    return f"({of_drive('ssd_device_up')} == 0 unless {ON_SERIAL} {listed})"


def silent() -> str:
    """Drives that the kernel lists and that do not answer, as SSDDriveNotAnswering defines them."""
    listed = of_drive("ssd_device_info", 'device!~".+:.+"')
    return f"({of_drive('ssd_device_up')} == 0 and {ON_SERIAL} {listed})"


def failing() -> str:
    """Drives that predict their failure, as SSDDriveFailing defines them: not for another cause.

    Exporters before the metric of the cause have only the bits, from which heat is recognised.
    """
    other_cause = of_drive("ssd_smart_failure_cause", 'cause!="failing"')
    warning = "ssd_smart_critical_warning"
    heat = of_drive(warning, 'warning="temperature"')
    other = of_drive(warning, 'warning!="temperature"')
    only_heat = f"({heat} == 1 unless {ON_SERIAL} {other} == 1)"
    unhealthy = of_drive("ssd_smart_healthy")
    return f"({unhealthy} == 0 unless {ON_SERIAL} {other_cause} unless {ON_SERIAL} {only_heat})"


def identity() -> str:
    """Identity of each drive, also of a drive that disappeared within the last day."""
    info = of_drive("ssd_device_info")
    return f"topk {BY_SERIAL} (1, {info} or last_over_time({info}[1d:10m]))"


def with_model(expression: str) -> str:
    """Adds the labels model and firmware.

    It uses one identity for each device, because after a replacement the old identity remains for
    some minutes.
    """
    identity = f"topk {BY_DRIVE} (1, {of_drive('ssd_device_info')})"
    return f"{expression} * {ON_DRIVE} group_left (model, firmware) {identity}"


def temperature_limit(fallback: float) -> str:
    """Warning temperature of the drive, or `fallback` if the drive reports none."""
    own = of_drive("ssd_smart_temperature_warning_celsius")
    measured = of_drive("ssd_smart_temperature_celsius", 'sensor="drive"')
    return f"({own} or {ON_SERIAL} {measured} * 0 + {fallback:g})"


def link_share(window: str = "") -> str:
    """Negotiated link speed (with `window`, its highest value in it) as a share of the maximum.

    It excludes SAS, where only the maximum of the port is known and a slower drive is not a fault.
    """
    speed = of_drive("ssd_link_speed_bytes_per_second")
    best = f"max_over_time({speed}[{window}])" if window else speed
    most = of_drive("ssd_link_speed_max_bytes_per_second")
    sas = of_drive("ssd_device_info", 'transport="sas"')
    return f"{best} / {ON_DRIVE} {most} unless {ON_DRIVE} {sas}"


def degrees_left(fallback: float) -> str:
    """Degrees Celsius by which a drive is below its warning temperature."""
    measured = of_drive("ssd_smart_temperature_celsius", 'sensor="drive"')
    return f"{temperature_limit(fallback)} - {ON_SERIAL} {measured}"


def by_serial(expression: str) -> str:
    """Adds the serial number that the block device had at the time.

    The kernel's counters continue under the same device name after a replacement; the serial number
    separates the old drive from the new one.
    """
    return f"({expression}) * {ON_DRIVE} group_left (serial) ({of_drive('ssd_device_up')} == 1)"
