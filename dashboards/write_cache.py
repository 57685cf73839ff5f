"""Where a drive's write speed falls off: by the cache probe, and by production's own writes."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.panel_parts import DRIVE, Panel, Query
from dashboards.panels import timeline

NO_SLC = "the cache probe is off"


def cache() -> tuple[Panel, ...]:
    return (
        timeline(
            "Cache probe: burst and sustained write speed",
            "The gap is what production loses once the fast cache is full. A burst that sinks to "
            "the sustained speed is a cache that is already full when the probe begins.",
            "Bps",
            Query(q.of_drive("ssd_slc_burst_bytes_per_second"), f"burst {DRIVE}"),
            Query(q.of_drive("ssd_slc_sustained_bytes_per_second"), f"sustained {DRIVE}"),
            nothing=NO_SLC,
        ),
        timeline(
            "Size of the fast cache",
            "Bytes until the speed fell, or at least so many where no fall was found. It "
            "shrinks as the drive fills.",
            "bytes",
            Query(q.of_drive("ssd_slc_cache_bytes"), f"cache {DRIVE}"),
            Query(q.of_drive("ssd_slc_cache_min_bytes"), f"at least {DRIVE}"),
            nothing=NO_SLC,
        ),
        timeline(
            "Cache that came back, by time left idle",
            "Bytes that could be written fast again after a pause. Little after a long one: the "
            "drive gets no peace, or no discards.",
            "bytes",
            Query(q.of_drive("ssd_slc_recovered_bytes"), f"after {{{{idle}}}} {DRIVE}"),
            nothing=NO_SLC,
        ),
        timeline(
            "Falloffs seen in production: write speed left",
            "Found in production's own bursts, without a probe: what was left of the speed while "
            "as much was asked for. Garbage collection and heat look the same.",
            "percentunit",
            Query(q.of_drive("ssd_disk_write_falloff_last_ratio")),
            steps=t.FALLOFF,
            most=1,
            nothing="no falloff yet",
        ),
        timeline(
            "Falloffs in the 24 hours before",
            "How often production ran into the end of the fast cache.",
            "short",
            Query(q.increase(q.of_drive("ssd_disk_write_falloff_events_total"), "24h")),
            style="bars",
            nothing="no falloff yet",
        ),
        timeline(
            "Bytes of the last burst before a falloff",
            "The cache's size as production met it.",
            "bytes",
            Query(q.of_drive("ssd_disk_write_falloff_last_burst_bytes")),
            nothing="no falloff yet",
        ),
    )
