"""Formats the figures of a measurement as text for people and as plain values for JSON."""

import re
from typing import Any

from exporter.config.profiles import Profile
from exporter.probe.fio_report import OpResult
from exporter.report.formatting import number, quantity
from exporter.runtime.errors import ConfigError

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*(?:([kmgt])(i?)(b?))?", re.ASCII | re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def size(count: float) -> str:
    """Returns a number of bytes with a decimal unit, as on the labels of drives: "18.3 GB"."""
    return quantity(count, "B")


def speed(bytes_per_second: float | None) -> str:
    """Returns a throughput in MB/s as text without the unit, for a table; "-" for None."""
    return "-" if bytes_per_second is None else number(bytes_per_second / 1e6)


def latency(seconds: float | None) -> str:
    """Returns a latency with its unit, such as "85.2 µs"; "-" for None."""
    return "-" if seconds is None else quantity(seconds, "s")


def latencies(result: OpResult) -> tuple[str, str, str, str]:
    """Returns the percentiles 50, 99 and 99.9 and the maximum of the latency, for a table."""
    return (
        latency(result.p50_seconds),
        latency(result.p99_seconds),
        latency(result.p999_seconds),
        latency(result.max_seconds),
    )


def span(seconds: float) -> str:
    """Returns a duration as text, such as "8 s", "7 min" or "1 h 20 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def blocks(count: int) -> str:
    """Returns a block size with a binary unit, as fio and InnoDB write it: "16 KiB" for 16384."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


def size_bytes(flag: str, text: str, example: str) -> int:
    """Returns the number of bytes for a text such as "16GiB".

    "16GiB", "16G" and "17179869184" are equal. "16GB" is 16 * 10**9 bytes.

    flag: the command's option, for the error message.
    text: the option's value.
    example: a valid size, for the error message.

    Raises:
        ConfigError: the text is not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{flag} is {text[:40]!r}", f"give a size such as {example}")
    power = _POWERS.get((match[2] or "").upper(), 0)
    base = 1000 if match[4] and not match[3] else 1024
    return int(float(match[1]) * base**power)


def parameters(profile: Profile, engine: str) -> dict[str, Any]:
    """Returns the parameters of a run of fio as JSON values, keyed by name.

    engine: the name of the I/O engine that fio used.
    """
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


def operation(result: OpResult) -> dict[str, Any]:
    """Returns the results of the reads, writes or syncs of a run as JSON values, keyed by name."""
    return {
        "operations": result.operations,
        "bytes": result.bytes,
        "iops": result.iops,
        "bytes_per_second": result.bytes_per_second,
        "mean_seconds": result.mean_seconds,
        "p50_seconds": result.p50_seconds,
        "p99_seconds": result.p99_seconds,
        "p999_seconds": result.p999_seconds,
        "max_seconds": result.max_seconds,
    }
