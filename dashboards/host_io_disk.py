"""Panels of the dashboard Host I/O: load, latency and load profile of the drives."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.panel_parts import THIRD, Panel, Query
from dashboards.builders.panels import buckets, timeline


def drive_load() -> tuple[Panel, ...]:
    busy_mean = q.mean("ssd_disk_busy_ratio")
    queue_mean = q.mean("ssd_disk_queue_depth")
    return (
        timeline(
            "Busy: mean, worst second, and %util of the kernel",
            "The kernel's %util overcounts: a single request makes a parallel SSD appear busy. "
            "Mean and worst second are therefore limited by the number of requests in flight. A "
            "busy drive alone is not a problem: check queue depth and await.",
            "percentunit",
            Query(busy_mean, "mean {{device}}"),
            Query(
                q.of_drive("ssd_disk_busy_ratio_max", 'window="1m"'),
                "worst second {{device}}",
            ),
            Query(
                q.rate(q.of_drive("ssd_disk_io_time_seconds_total")),
                "%util {{device}}",
            ),
            maximum=1,
        ),
        timeline(
            f"Share of seconds that were more than {t.BUSY:.0%} busy",
            "Share of busy seconds, which a mean hides. At 100 % with a low await the drive works "
            "well. At 100 % with a high await it is saturated.",
            "percentunit",
            Query(q.share_above("ssd_disk_busy_ratio", f"{t.BUSY:g}")),
            maximum=1,
        ),
        timeline(
            "Queue depth: mean and worst second",
            "Requests in flight. An SSD serves several at once, so a queue is normal. It is a "
            "problem if await rises with it while IOPS do not.",
            "short",
            Query(queue_mean, "mean {{device}}"),
            Query(
                q.of_drive("ssd_disk_queue_depth_max", 'window="1m"'),
                "worst second {{device}}",
            ),
        ),
        timeline(
            "Headroom: share of the probe's maximum",
            "Production writes divided by the highest throughput of a probe with 1 MiB requests. "
            "Near 100 % for a long time: the drive is at its limit. Small random writes reach a "
            "limit earlier: check queue depth and await.",
            "percentunit",
            Query(q.headroom()),
            steps=t.HEADROOM,
            nothing="no probe without a rate cap has run (burst, slc)",
        ),
    )


def drive_latency() -> tuple[Panel, ...]:
    baseline = q.of_drive("ssd_disk_await_baseline_seconds")
    return (
        timeline(
            "Await: mean of reads, writes and flushes",
            "Mean time of a request in the queue and in the drive. Every commit waits for a "
            "flush. If flushes are slow and reads are not, check power-loss protection and write "
            "cache.",
            "s",
            *(
                Query(q.mean_await(kind), f"{kind} {{{{device}}}}")
                for kind in ("read", "write", "flush")
            ),
            steps=t.AWAIT,
        ),
        timeline(
            "Await: worst second, and p99 of flushes",
            "Worst second: the largest mean await of any second of the last minute, which a mean "
            "hides. Each flush counts with the mean await of its second, so p99 is the await of "
            "slow seconds.",
            "s",
            *(
                Query(
                    q.of_drive(f"ssd_disk_{kind}_await_seconds_max", 'window="1m"'),
                    f"{kind}, worst second {{{{device}}}}",
                )
                for kind in ("read", "write")
            ),
            Query(q.quantile(0.99, "ssd_disk_flush_await_seconds"), "flush, p99 {{device}}"),
            steps=t.AWAIT,
        ),
        timeline(
            "Await relative to the drive's own baseline",
            "Await divided by the await at low load. Above about 3, a deeper queue no longer "
            "increases the throughput.",
            "none",
            *(
                Query(
                    f"{q.mean_await(kind)} / {q.ON_DRIVE} "
                    + baseline.replace("}", f', op="{kind}"}}'),
                    f"{kind} {{{{device}}}}",
                )
                for kind in ("read", "write")
            ),
            steps=t.AWAIT_OVER_BASELINE,
        ),
        timeline(
            "Requests per second: reads, writes, flushes, discards",
            "IOPS. If they fall while the queue grows, the drive limits the rate, not the demand.",
            "iops",
            *(
                Query(q.iops(name), f"{word} {{{{device}}}}")
                for name, word in (("reads_completed", "reads"), ("writes_completed", "writes"))
            ),
            *(
                Query(q.occurred(q.iops(name)), f"{word} {{{{device}}}}")
                for name, word in (
                    ("flush_requests", "flushes"),
                    ("discards_completed", "discards"),
                )
            ),
        ),
        timeline(
            "Throughput: read, written, discarded",
            "Bytes per second. Large sequential I/O (backup, clone, ALTER) is visible here; "
            "random I/O of InnoDB is visible in requests per second.",
            "Bps",
            Query(q.rate(q.of_drive("ssd_disk_read_bytes_total")), "read {{device}}"),
            Query(
                q.rate(q.of_drive("ssd_disk_written_bytes_total")),
                "written {{device}}",
            ),
            Query(
                q.occurred(q.rate(q.of_drive("ssd_disk_discarded_bytes_total"))),
                "discarded {{device}}",
            ),
        ),
        timeline(
            "Mean request size",
            "16 KiB are InnoDB pages: random I/O. Hundreds of KiB are sequential I/O, for which "
            "throughput matters and not requests per second.",
            "decbytes",
            Query(
                q.ratio(q.rate(q.of_drive("ssd_disk_read_bytes_total")), q.iops("reads_completed")),
                "reads {{device}}",
            ),
            Query(
                q.ratio(
                    q.rate(q.of_drive("ssd_disk_written_bytes_total")), q.iops("writes_completed")
                ),
                "writes {{device}}",
            ),
        ),
    )


def load_profile() -> tuple[Panel, ...]:
    third = THIRD
    merged = q.iops("reads_merged", "writes_merged")
    issued = q.iops("reads_merged", "writes_merged", "reads_completed", "writes_completed")

    def of(family: str) -> str:
        return q.distribution(q.of_drive(family))

    return (
        buckets(
            "Queue depth by second, all selected drives",
            "Colour intensity: number of seconds. A band that rises steadily is a queue that "
            "does not drain.",
            "short",
            of("ssd_disk_queue_depth"),
            size=third,
        ),
        buckets(
            "Read await, all selected drives",
            "Colour intensity: number of reads. Two bands mean two kinds of load, or a drive "
            "that pauses.",
            "s",
            of("ssd_disk_read_await_seconds"),
            size=third,
        ),
        buckets(
            "Write await, all selected drives",
            "Colour intensity: number of writes. A band far above the others means that the "
            "write cache is full at times.",
            "s",
            of("ssd_disk_write_await_seconds"),
            size=third,
        ),
        timeline(
            "Merged requests, as a share",
            "A high share means sequential I/O, a share near zero random I/O.",
            "percentunit",
            Query(f"({merged}) / ({issued} > 0)"),
            maximum=1,
            size=third,
        ),
        buckets(
            "Write size, all selected drives",
            "Requires request sizes, which are disabled by default. Writes of 16 KiB are pages, of "
            "4 KiB or less the redo log, larger ones sequential I/O.",
            "decbytes",
            of("ssd_disk_write_request_size_bytes"),
            size=third,
            nothing="request sizes are disabled",
        ),
        buckets(
            "Read size, all selected drives",
            "Requires request sizes, which are disabled by default. Reads of 16 KiB are pages, "
            "larger ones scans, backups and read-ahead.",
            "decbytes",
            of("ssd_disk_read_request_size_bytes"),
            size=third,
            nothing="request sizes are disabled",
        ),
        buckets(
            "Flush await, all selected drives",
            "Colour intensity: number of flushes. Every commit waits for a flush.",
            "s",
            of("ssd_disk_flush_await_seconds"),
            size=third,
        ),
        timeline(
            "Bytes written before a falloff",
            "Size of the last burst of writes before the throughput fell. A decrease over weeks "
            "means that the write cache shrinks as the drive fills.",
            "decbytes",
            Query(q.of_drive("ssd_disk_write_falloff_last_burst_bytes")),
            size=third,
            nothing="no falloff",
        ),
    )
