"""Figures of a measurement as people say them.

Profiles and their figures for programs: plain values, in base units.
"""

import re
from typing import Any

from exporter.errors import ConfigError
from exporter.probe.fio_report import OpResult
from exporter.probe.profiles import Profile
from exporter.report.formatting import number, quantity

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*(?:([kmgt])(i?)(b?))?", re.ASCII | re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def size(count: float) -> str:
    """Bytes in powers of ten, as drives are sold: 18.3 GB."""
    return quantity(count, "B")


def speed(bytes_per_second: float | None) -> str:
    """The number of MB a second, for a column of them; a dash where it is not known."""
    return "-" if bytes_per_second is None else number(bytes_per_second / 1e6)


def latency(seconds: float | None) -> str:
    """85.2 µs; a dash where it is not known."""
    return "-" if seconds is None else quantity(seconds, "s")


def span(seconds: float) -> str:
    """How long something takes: 8 s, 7 min, 1 h 20 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def blocks(count: int) -> str:
    """A size in powers of two, as fio and InnoDB have it: 16 KiB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


def size_bytes(flag: str, text: str, example: str) -> int:
    """What "16GiB", "16G" and "17179869184" say alike; "16GB" is in powers of ten, and less.

    Raises:
        ConfigError: it is no size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{flag} is {text[:40]!r}", f"it is a size as {example}")
    power = _POWERS.get((found[2] or "").upper(), 0)
    base = 1000 if found[4] and not found[3] else 1024
    return int(float(found[1]) * base**power)


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
