"""Expressions that the panels share. Every selector names job and instance."""

HOST = 'job=~"$job", instance=~"$instance"'
DRIVE = f'{HOST}, device=~"$device"'

#: What one drive's series have in common; and one drive's that say who they are.
ON_HOST = "on (job, instance)"
ON_DRIVE = "on (job, instance, device)"
ON_SERIAL = "on (job, instance, device, serial)"
BY_HOST = "by (job, instance)"
BY_DRIVE = "by (job, instance, device)"
BY_SERIAL = "by (job, instance, device, serial)"

#: ssd_io_bottleneck's causes as the numbers that a state panel maps to words and colours.
CAUSES = ("none", "device", "cpu_softirq", "write_cache", "thermal", "link", "unknown")


def of_host(name: str, *matchers: str) -> str:
    """A family that a host has once."""
    return f"{name}{{{', '.join((HOST, *matchers))}}}"


def of_drive(name: str, *matchers: str) -> str:
    """A family that each drive has."""
    return f"{name}{{{', '.join((DRIVE, *matchers))}}}"


def rate(selector: str) -> str:
    return f"rate({selector}[$__rate_interval])"


def increase(selector: str, window: str = "$__rate_interval") -> str:
    return f"increase({selector}[{window}])"


def ratio(above: str, below: str) -> str:
    """The quotient, where there is something to divide by."""
    return f"{above} / ({below} > 0)"


def mean_await(direction: str) -> str:
    """Seconds that a request took, "read", "write" or "flush", from the kernel's own counters."""
    time, done = {
        "read": ("read_time_seconds", "reads_completed"),
        "write": ("write_time_seconds", "writes_completed"),
        "flush": ("flush_requests_time_seconds", "flush_requests"),
    }[direction]
    return ratio(rate(of_drive(f"ssd_disk_{time}_total")), rate(of_drive(f"ssd_disk_{done}_total")))


def iops(*kinds: str) -> str:
    """Requests per second, of all the kinds named together."""
    return " + ".join(rate(of_drive(f"ssd_disk_{kind}_total")) for kind in kinds)


def quantile(share: float, family: str, *by: str) -> str:
    """A quantile of one of the sampler's histograms, by drive."""
    buckets = rate(of_drive(f"{family}_bucket"))
    labels = ", ".join(("job", "instance", "device", "le", *by))
    return f"histogram_quantile({share:g}, sum by ({labels}) ({buckets}))"


def share_above(family: str, edge: str) -> str:
    """The share of a histogram's weight above one of its edges, by drive."""
    edge_matcher = f'le="{edge}"'
    below = rate(of_drive(f"{family}_bucket", edge_matcher))
    whole = rate(of_drive(f"{family}_count"))
    return f"1 - sum {BY_DRIVE} ({below}) / (sum {BY_DRIVE} ({whole}) > 0)"


def verdict() -> str:
    """The place in `CAUSES` of the cause that is 1."""
    matchers = (f'cause="{cause}"' for cause in CAUSES)
    coded = "\n  or ".join(
        f"{of_drive('ssd_io_bottleneck', matcher)} * {number}"
        for number, matcher in enumerate(matchers)
    )
    return f"sum {BY_DRIVE} (\n  {coded}\n)"


def probe_latency(profile: str, op: str, stat: str) -> str:
    """A figure of the last run of one profile."""
    matchers = (f'profile="{profile}"', f'op="{op}"', f'stat="{stat}"')
    return of_drive("ssd_probe_last_latency_seconds", *matchers)


def fsync_probe_p99() -> str:
    """What a commit would have waited for at the last probe."""
    return probe_latency("fsync", "sync", "p99")


def headroom() -> str:
    """Bytes written in production, of what a probe without a rate cap could write.

    By bytes and not by requests: the probes without a cap write 1 MiB at a time.
    """
    ceiling = of_drive("ssd_probe_throughput_bytes_per_second", 'op="write"')
    written = rate(of_drive("ssd_disk_written_bytes_total"))
    return f"{written} / {ON_DRIVE} max {BY_DRIVE} ({ceiling})"


def with_model(expression: str) -> str:
    """The same, with the drive's model and firmware as labels.

    One identity a device, for after a replacement the old one may linger for some minutes.
    """
    identity = f"topk {BY_DRIVE} (1, {of_drive('ssd_device_info')})"
    return f"{expression} * {ON_DRIVE} group_left (model, firmware) {identity}"


def temperature_limit(fallback: float) -> str:
    """The drive's own warning temperature, or `fallback` where it names none."""
    own = of_drive("ssd_smart_temperature_warning_celsius")
    measured = of_drive("ssd_smart_temperature_celsius", 'sensor="drive"')
    return f"({own} or {ON_SERIAL} {measured} * 0 + {fallback:g})"


def link_share(window: str = "") -> str:
    """Negotiated link speed by the possible one, the best of `window` if there is one.

    Without SAS: there only the port's maximum is known, and a slower drive is no fault.
    """
    speed = of_drive("ssd_link_speed_bytes_per_second")
    best = f"max_over_time({speed}[{window}])" if window else speed
    most = of_drive("ssd_link_speed_max_bytes_per_second")
    sas = of_drive("ssd_device_info", 'transport="sas"')
    return f"{best} / {ON_DRIVE} {most} unless {ON_DRIVE} {sas}"


def degrees_left(fallback: float) -> str:
    """How far a drive is below the limit above which it may slow down."""
    measured = of_drive("ssd_smart_temperature_celsius", 'sensor="drive"')
    return f"{temperature_limit(fallback)} - {ON_SERIAL} {measured}"
