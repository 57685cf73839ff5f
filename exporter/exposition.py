"""Samples to the text that Prometheus reads, in its own format and in OpenMetrics.

https://prometheus.io/docs/instrumenting/exposition_formats/

prometheus_client renders the same; this is here because it is ten times cheaper (`make bench`): a
sample's name and labels are put together once and kept, and only the number is new. The tests hold
the two renderers against each other, and against prometheus_client's parsers.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from math import isfinite, isnan

from prometheus_client.utils import floatToGoString

from exporter.metrics.desc import Buckets, Desc, Sample

#: Names with labels that are kept; 1,000 disks make about 60,000.
_KEPT = 1 << 16


def render(samples: Iterable[Sample], *, openmetrics: bool) -> bytes:
    """The page: families in the order of their first sample, each once, each series once.

    A series that comes twice keeps its last value: a page with duplicates is refused whole.
    """
    families: dict[Desc, dict[tuple[str, ...], str]] = {}
    for desc, labels, value in samples:
        lines = families.get(desc)
        if lines is None:
            lines = families[desc] = {}
        if isinstance(value, Buckets):
            cumulative = tuple(accumulate(value.weights))
            lines[labels] = _histogram(desc, labels) % (*cumulative, value.sum, cumulative[-1])
        elif isinstance(value, int):
            lines[labels] = f"{_series(desc, labels)} {value:d}\n"
        else:
            lines[labels] = f"{_series(desc, labels)} {number(value)}\n"
    parts = []
    for desc, lines in families.items():
        parts.append(_header(desc, openmetrics))
        parts.extend(lines.values())
    if openmetrics:
        parts.append("# EOF\n")
    return "".join(parts).encode("utf-8", "replace")


def number(value: float) -> str:
    """A float to twelve digits: 0.1 ms in a year of seconds, and no noise behind them."""
    if isfinite(value):
        return f"{value:.12g}"
    return "NaN" if isnan(value) else ("+Inf" if value > 0 else "-Inf")


@lru_cache(maxsize=_KEPT)
def _series(desc: Desc, labels: tuple[str, ...]) -> str:
    return _named(desc.name, desc.labels, labels)


@lru_cache(maxsize=_KEPT)
def _histogram(desc: Desc, labels: tuple[str, ...]) -> str:
    """All lines of a histogram, with a place for each number.

    Weights print as whole numbers, for OpenMetrics 1.0 has no others in buckets. Only what is
    printed is rounded, so no more than half a second is lost, once and not with every sample.
    """
    bucket, names = f"{desc.name}_bucket", (*desc.labels, "le")
    series = [
        *((_named(bucket, names, (*labels, le)), "%.0f") for le in _edges(desc)),
        (_named(f"{desc.name}_sum", desc.labels, labels), "%.12g"),
        (_named(f"{desc.name}_count", desc.labels, labels), "%.0f"),
    ]
    return "".join(f"{line.replace('%', '%%')} {place}\n" for line, place in series)


def _edges(desc: Desc) -> tuple[str, ...]:
    return (*map(floatToGoString, desc.edges), "+Inf")


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
