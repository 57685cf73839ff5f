"""The drives' side of Host I/O: full, slow, and what the load looks like."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import buckets, timeline


def full() -> tuple[Panel, ...]:
    busy_mean = q.ratio(
        q.rate(q.of_drive("ssd_disk_busy_ratio_sum")),
        q.rate(q.of_drive("ssd_disk_busy_ratio_count")),
    )
    queue_mean = q.ratio(
        q.rate(q.of_drive("ssd_disk_queue_depth_sum")),
        q.rate(q.of_drive("ssd_disk_queue_depth_count")),
    )
    return (
        timeline(
            "Busy: mean, worst second, and the kernel's %util",
            "Mean and worst are bounded by the number in flight, so that a parallel SSD is not "
            "called busy for one request. %util far above the mean is the kernel's over-count. "
            "Busy alone is no trouble: see the queue and await.",
            "percentunit",
            Query(busy_mean, "mean {{instance}} {{device}}"),
            Query(
                q.of_drive("ssd_disk_busy_ratio_max", 'window="1m"'),
                "worst second {{instance}} {{device}}",
            ),
            Query(
                q.rate(q.of_drive("ssd_disk_io_time_seconds_total")),
                "%util {{instance}} {{device}}",
            ),
            most=1,
        ),
        timeline(
            f"Share of seconds that were more than {t.BUSY:.0%} busy",
            "An average hides bursts; this counts the seconds. Flat at 100 % with a low await is a "
            "drive that works well, at 100 % with a high one a drive that is full.",
            "percentunit",
            Query(q.share_above("ssd_disk_busy_ratio", f"{t.BUSY:g}")),
            most=1,
        ),
        timeline(
            "Queue: mean and worst second",
            "Requests in flight. An SSD serves several at once, so some queue is normal: it is "
            "trouble where await rises with it and IOPS do not.",
            "short",
            Query(queue_mean, "mean {{instance}} {{device}}"),
            Query(
                q.of_drive("ssd_disk_queue_depth_max", 'window="1m"'),
                "worst second {{instance}} {{device}}",
            ),
        ),
        timeline(
            "Headroom: bytes written as a share of what the probe reached",
            "Production's writes divided by the most that a probe wrote to the drive, 1 MiB at "
            "a time. Near 100 % for long: the drive itself is the limit. Small random writes reach "
            "their limit earlier: see the queue and await.",
            "percentunit",
            Query(q.headroom()),
            steps=t.HEADROOM,
            nothing="no probe without a rate cap has run (burst, slc)",
        ),
    )


def slow() -> tuple[Panel, ...]:
    baseline = q.of_drive("ssd_disk_await_baseline_seconds")
    return (
        timeline(
            "Await: mean of reads, writes and flushes",
            "How long a request takes, queued and served. Every commit waits for a flush: where "
            "flushes are slow and reads are not, look at power-loss protection and the cache.",
            "s",
            *(
                Query(q.mean_await(kind), f"{kind} {{{{instance}}}} {{{{device}}}}")
                for kind in ("read", "write", "flush")
            ),
            steps=t.AWAIT,
        ),
        timeline(
            "Await: p50 and p99 of seconds",
            "Each request counts with the mean await of its second, so p99 is the await in bad "
            "seconds and not of single requests.",
            "s",
            *(
                Query(
                    q.quantile(share, f"ssd_disk_{kind}_await_seconds"),
                    f"{kind} p{share * 100:g} {{{{instance}}}} {{{{device}}}}",
                )
                for kind in ("read", "write")
                for share in (0.5, 0.99)
            ),
            steps=t.AWAIT,
        ),
        timeline(
            "Await over the drive's own baseline",
            "How many times slower than in calm seconds. From about 3 on, more queue brings no "
            "more throughput.",
            "none",
            *(
                Query(
                    f"{q.mean_await(kind)} / {q.ON_DRIVE} "
                    + baseline.replace("}", f', op="{kind}"}}'),
                    f"{kind} {{{{instance}}}} {{{{device}}}}",
                )
                for kind in ("read", "write")
            ),
            steps=t.AWAIT_OVER_BASELINE,
        ),
        timeline(
            "Requests per second: reads, writes, flushes, discards",
            "IOPS. Falling while the queue grows means that the drive, and not the demand, sets "
            "the pace.",
            "iops",
            *(
                Query(q.iops(name), f"{word} {{{{instance}}}} {{{{device}}}}")
                for name, word in (
                    ("reads_completed", "reads"),
                    ("writes_completed", "writes"),
                    ("flush_requests", "flushes"),
                    ("discards_completed", "discards"),
                )
            ),
        ),
        timeline(
            "Throughput: read and written",
            "Bytes per second. Large sequential work (backup, clone, ALTER) shows here, random "
            "work of InnoDB shows in requests per second.",
            "Bps",
            Query(q.rate(q.of_drive("ssd_disk_read_bytes_total")), "read {{instance}} {{device}}"),
            Query(
                q.rate(q.of_drive("ssd_disk_written_bytes_total")),
                "written {{instance}} {{device}}",
            ),
        ),
        timeline(
            "Mean request size",
            "16 KiB are InnoDB's pages: random work. Hundreds of KiB are sequential work, which is "
            "judged by throughput and not by requests per second.",
            "bytes",
            Query(
                q.ratio(q.rate(q.of_drive("ssd_disk_read_bytes_total")), q.iops("reads_completed")),
                "reads {{instance}} {{device}}",
            ),
            Query(
                q.ratio(
                    q.rate(q.of_drive("ssd_disk_written_bytes_total")), q.iops("writes_completed")
                ),
                "writes {{instance}} {{device}}",
            ),
        ),
    )


def shapes() -> tuple[Panel, ...]:
    third = Size(8, 8)
    merged = q.iops("reads_merged", "writes_merged")
    issued = q.iops("reads_merged", "writes_merged", "reads_completed", "writes_completed")

    def of(family: str) -> str:
        return f"sum by (le) ({q.increase(q.of_drive(f'{family}_bucket'))})"

    return (
        buckets(
            "Queue depth by second, all drives chosen",
            "Darker: more seconds. A dark band that climbs is a queue that does not drain.",
            "short",
            of("ssd_disk_queue_depth"),
            size=third,
        ),
        buckets(
            "Read await, all drives chosen",
            "Darker: more reads. Two bands are two kinds of load, or a drive that pauses.",
            "s",
            of("ssd_disk_read_await_seconds"),
            size=third,
        ),
        buckets(
            "Write await, all drives chosen",
            "Darker: more writes. A band far above the others: a cache that is full at times.",
            "s",
            of("ssd_disk_write_await_seconds"),
            size=third,
        ),
        timeline(
            "Requests merged, as a share of those issued",
            "High is sequential work, near zero is random work.",
            "percentunit",
            Query(f"({merged}) / ({issued} > 0)"),
            most=1,
            size=third,
        ),
        buckets(
            "Write size, all drives chosen",
            "Where the exporter keeps sizes (off by default). 16 KiB are pages, 4 KiB and less the "
            "redo log, more is sequential.",
            "bytes",
            of("ssd_disk_write_request_size_bytes"),
            size=third,
            nothing="request sizes are off",
        ),
        timeline(
            "Writes saved up before the speed fell off",
            "Bytes of the last burst of writes before the write speed fell off. Falling from week "
            "to week: a cache that shrinks as the drive fills.",
            "bytes",
            Query(q.of_drive("ssd_disk_write_falloff_last_burst_bytes")),
            size=third,
            nothing="no falloff",
        ),
    )
