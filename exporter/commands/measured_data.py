"""Profiles and their figures for programs: plain values, in base units."""

from typing import Any

from exporter.tools.fio_profiles import Profile
from exporter.tools.fio_report import OpResult


def parameters(profile: Profile, engine: str) -> dict[str, Any]:
    """What a run does. engine: that it was done with."""
    return {
        "engine": engine,
        "rw": profile.rw.value,
        "block_bytes": profile.block_bytes,
        "depth": profile.depth,
        "jobs": profile.jobs,
        "direct": profile.direct,
        "sync": profile.sync.value,
        "file_bytes": profile.size_bytes,
        "rate_iops": profile.rate_iops,
    }


def operation(its: OpResult) -> dict[str, Any]:
    """One operation's figures."""
    return {
        "operations": its.operations,
        "bytes": its.bytes,
        "iops": its.iops,
        "bytes_per_second": its.bytes_per_second,
        "mean_seconds": its.mean_seconds,
        "p50_seconds": its.p50_seconds,
        "p99_seconds": its.p99_seconds,
        "p999_seconds": its.p999_seconds,
        "max_seconds": its.max_seconds,
    }
