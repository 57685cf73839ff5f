"""Samples to the text that Prometheus reads, in its own format and in OpenMetrics.

https://prometheus.io/docs/instrumenting/exposition_formats/

prometheus_client renders the same; this is here because it is ten times cheaper (`make bench`): a
sample's name and labels are put together once and kept, and only the number is new. The tests hold
the two renderers against each other, and against prometheus_client's parsers.
"""

import math
from collections.abc import Iterable
from functools import lru_cache

from exporter.metrics.desc import Buckets, Desc, Sample

#: Names with labels that are kept; 1,000 disks make about 60,000.
_KEPT = 1 << 17


def render(samples: Iterable[Sample], *, openmetrics: bool) -> bytes:
    """The page: families in the order of their first sample, each once, each series once.

    A series that comes twice keeps its last value: a page with duplicates is refused whole.
    """
    families: dict[Desc, dict[str, str]] = {}
    for desc, labels, value in samples:
        lines = families.get(desc)
        if lines is None:
            lines = families[desc] = {}
        if isinstance(value, Buckets):
            lines.update(_histogram(desc, labels, value))
        else:
            lines[_series(desc, labels)] = _number(value)
    parts = []
    for desc, lines in families.items():
        parts.append(_header(desc, openmetrics))
        parts.extend(f"{series} {number}\n" for series, number in lines.items())
    if openmetrics:
        parts.append("# EOF\n")
    return "".join(parts).encode("utf-8", "replace")


def _histogram(desc: Desc, labels: tuple[str, ...], value: Buckets) -> Iterable[tuple[str, str]]:
    buckets, total, count = _histogram_series(desc, labels)
    below = 0.0
    numbers = []
    for weight in value.weights:
        below += weight
        numbers.append(_number(below))
    yield from zip(buckets, numbers, strict=True)
    yield total, _number(value.sum)
    yield count, numbers[-1]


def _number(value: float) -> str:
    """As Go prints it: whole numbers of any size exactly, microseconds in sums of seconds.

    Nothing here is measured more finely, and shorter numbers make a smaller page.
    """
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value):
        rounded = round(value, 9)
        whole = int(rounded)
        return str(whole) if whole == rounded else repr(rounded)
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


@lru_cache(maxsize=_KEPT)
def _series(desc: Desc, labels: tuple[str, ...]) -> str:
    return _named(desc.name, desc.labels, labels)


@lru_cache(maxsize=_KEPT)
def _histogram_series(desc: Desc, labels: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    edges = [repr(edge) for edge in desc.edges] + ["+Inf"]
    bucket, names = f"{desc.name}_bucket", (*desc.labels, "le")
    return (
        tuple(_named(bucket, names, (*labels, edge)) for edge in edges),
        _named(f"{desc.name}_sum", desc.labels, labels),
        _named(f"{desc.name}_count", desc.labels, labels),
    )


def _named(name: str, names: tuple[str, ...], labels: tuple[str, ...]) -> str:
    if not names:
        return name
    pairs = ",".join(
        f'{label}="{_escaped(value)}"' for label, value in zip(names, labels, strict=True)
    )
    return f"{name}{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@lru_cache
def _header(desc: Desc, openmetrics: bool) -> str:
    name = desc.name
    text = desc.help.replace("\\", "\\\\").replace("\n", "\\n")
    if openmetrics:
        text = text.replace('"', '\\"')
        if desc.kind == "counter":
            name = name.removesuffix("_total")
    return f"# HELP {name} {text}\n# TYPE {name} {desc.kind}\n"
