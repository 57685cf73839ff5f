"""Panels on the write cache, from SLC probes and from falloffs in production."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.panel_parts import DRIVE, HALF, THIRD, Panel, Query
from dashboards.builders.panels import timeline
from dashboards.builders.tables import Column, Label, Rows, grid

#: Text of panels without data.
NO_SLC = "the SLC probe is disabled"


def cache() -> tuple[Panel, ...]:
    return (
        timeline(
            "SLC probe: burst and sustained write throughput",
            "The difference is what production loses once the write cache is full. If the burst "
            "falls to the sustained value, the cache was already full when the probe started.",
            "Bps",
            Query(q.of_drive("ssd_slc_burst_bytes_per_second"), f"burst {DRIVE}"),
            Query(q.of_drive("ssd_slc_sustained_bytes_per_second"), f"sustained {DRIVE}"),
            nothing=NO_SLC,
        ),
        timeline(
            "Size of the write cache",
            "Bytes written until the throughput fell, or a lower bound if it did not fall. The "
            "cache shrinks as the drive fills.",
            "decbytes",
            Query(q.of_drive("ssd_slc_cache_bytes"), f"cache {DRIVE}"),
            Query(q.of_drive("ssd_slc_cache_min_bytes"), f"at least {DRIVE}"),
            nothing=NO_SLC,
        ),
        timeline(
            "Recovered cache, by idle time",
            "Bytes that the SLC probe could write at full speed after a pause. If the value is low "
            "after a long pause, the drive is never idle, or it receives no discards.",
            "decbytes",
            Query(q.of_drive("ssd_slc_recovered_bytes"), f"after {{{{idle}}}} {DRIVE}"),
            nothing=NO_SLC,
        ),
        grid(
            "Last SLC probe",
            "Result of the last SLC probe. cliff: a write cache that was filled. flat: no cache. "
            "ramp: a gradual decline, which indicates heat. budget: no cliff within the budget. "
            "aborted: stopped before a cliff. disturbed: the speed fell when other programs began "
            "to use the drive.",
            Rows(
                "max by (cluster, job, instance, device, result) "
                f"({q.of_drive('ssd_slc_probe_result_info')})",
                NO_SLC,
            ),
            Label("device", 160, is_flexible=True),
            Label("result", 120),
            Column(
                "age",
                120,
                "max by (cluster, job, instance, device) "
                f"(time() - {q.of_drive('ssd_slc_probe_timestamp_seconds')})",
                "s",
            ),
            size=HALF,
        ),
        timeline(
            "Falloffs: remaining write throughput",
            "Detected in production writes, without a probe: throughput after the falloff as a "
            "share of that before, at the same demand. Garbage collection and heat look the "
            "same.",
            "percentunit",
            Query(q.of_drive("ssd_disk_write_falloff_last_ratio")),
            steps=t.FALLOFF,
            maximum=1,
            size=THIRD,
            nothing="no falloff yet",
        ),
        timeline(
            "Falloffs in the previous 24 hours",
            "Number of times that the throughput dropped during production writes, for example "
            "because the write cache was full.",
            "short",
            Query(q.occurred(q.increase(q.of_drive("ssd_disk_write_falloff_events_total"), "24h"))),
            size=THIRD,
            nothing="no falloff yet",
        ),
        timeline(
            "Bytes of the last burst before a falloff",
            "Bytes written at full speed before the drop: the size of the write cache, if the "
            "cache caused the drop.",
            "decbytes",
            Query(q.of_drive("ssd_disk_write_falloff_last_burst_bytes")),
            size=THIRD,
            nothing="no falloff yet",
        ),
    )
