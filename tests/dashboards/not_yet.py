"""Families of which a panel asks and that the catalogue does not have yet. It must become empty."""

NOT_YET = frozenset(
    {
        "ssd_slc_burst_bytes_per_second",
        "ssd_slc_cache_bytes",
        "ssd_slc_cache_min_bytes",
        "ssd_slc_falloff_ratio",
        "ssd_slc_recovered_bytes",
        "ssd_slc_sustained_bytes_per_second",
    }
)
