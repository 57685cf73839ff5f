"""Renders samples in the text formats of Prometheus and OpenMetrics.

https://prometheus.io/docs/instrumenting/exposition_formats/

prometheus_client renders the same text, but takes ten times the CPU time (`make bench`). This
module caches the names and labels of each family, and formats only the numbers. The tests compare
both renderers, and parse the text with prometheus_client's parsers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import isfinite, isnan
from typing import Any

from exporter.families.desc import Buckets, MetricDesc, Sample, SampleBlock
from exporter.metrics.client_library import go_float
from exporter.runtime.printable import printable

#: The cached text of a family: the label values of its series, the types of their values, and all
#: lines with a placeholder for each number. While series and types do not change, rendering the
#: family is one formatting operation.
_Layout = tuple[tuple[tuple[str, ...], ...], tuple[type, ...], str]
_layouts: dict[MetricDesc, _Layout] = {}

#: The text of a histogram with more series is not cached. With 1,000 devices, the histograms have
#: two thirds of the text, 4.5 MB.
_MAX_CACHED_HISTOGRAMS = 256

#: The base units of OpenMetrics that names end with.
UNITS = frozenset({"seconds", "bytes", "ratio", "celsius"})

_PLACEHOLDERS: dict[type, str] = {float: "%.12g", str: "%s"}


def render(samples: Iterable[Sample | SampleBlock], *, openmetrics: bool) -> bytes:
    """Returns the metrics page as UTF-8. `rendered_families` describes it."""
    return b"".join(rendered_families(samples, openmetrics=openmetrics))


def rendered_families(
    samples: Iterable[Sample | SampleBlock],
    *,
    openmetrics: bool,
    on_error: Callable[[MetricDesc, Exception], None] | None = None,
) -> Iterator[bytes]:
    """Yields the families of the metrics page as UTF-8, in the order of their first sample.

    If a series occurs twice, only its last value is used, because Prometheus rejects a page with
    duplicates. Unprintable characters of label values are written as escapes, see `printable`. A
    line break is the exception: the format has an escape for it.

    on_error: receives a family that cannot be rendered, for example because a value is not a
        number, and the exception. The page is rendered without that family. With None the exception
        is raised.
    """
    for desc, (series, values) in _families(samples, on_error).items():
        try:
            lines = (_histograms if desc.kind == "histogram" else _lines)(desc, series, values)
        except Exception as e:
            # A wrong value must cost its family only, and not the whole page.
            if on_error is None:
                raise
            on_error(desc, e)
            continue
        yield f"{_header(desc, openmetrics)}{lines}".encode("utf-8", "replace")
    if openmetrics:
        yield b"# EOF\n"


def _families(
    samples: Iterable[Sample | SampleBlock],
    on_error: Callable[[MetricDesc, Exception], None] | None,
) -> dict[MetricDesc, tuple[Sequence[tuple[str, ...]], Sequence[Any]]]:
    """Returns the series and their values, keyed by family."""
    families: dict[MetricDesc, dict[tuple[str, ...], Any] | SampleBlock] = {}
    broken: dict[MetricDesc, Exception] = {}
    for sample in samples:
        desc = sample[0]
        family = families.get(desc)
        if isinstance(sample, SampleBlock) and family is None:
            if sample.series:
                families[desc] = sample
            continue
        if not isinstance(family, dict):
            # A block is unpacked only if the family has further samples.
            family = families[desc] = {} if family is None else _values(family)
        try:
            family.update(_values(sample))
        except TypeError as e:  # the labels are not a tuple of strings
            if on_error is None:
                raise
            broken[desc] = e
    for desc, error in broken.items():
        del families[desc]
        if on_error is not None:
            on_error(desc, error)
    return {
        desc: (tuple(family), tuple(family.values())) if isinstance(family, dict) else family[1:]
        for desc, family in families.items()
    }


def _values(sample: Sample | SampleBlock) -> dict[tuple[str, ...], Any]:
    """Returns the values, keyed by label values."""
    if isinstance(sample, SampleBlock):
        return dict(zip(sample.series, sample.values, strict=True))
    return {sample.labels: sample.value}


def number(value: float) -> str:
    """Returns a float as text with at most twelve significant digits.

    Twelve digits are enough for a year in seconds with a precision of 0.1 ms. More digits would
    show binary rounding errors.
    """
    if isfinite(value):
        return f"{value:.12g}"
    return "NaN" if isnan(value) else ("+Inf" if value > 0 else "-Inf")


def _lines(desc: MetricDesc, series: Sequence[tuple[str, ...]], numbers: Sequence[float]) -> str:
    values: tuple[float | str, ...] = tuple(numbers)
    if not isfinite(sum(numbers)):
        values = tuple(number(value) if isinstance(value, float) else value for value in values)
    return _layout(desc, series, tuple(map(type, values)), _line) % values


def _histograms(
    desc: MetricDesc, series: Sequence[tuple[str, ...]], values: Sequence[Buckets]
) -> str:
    numbers: list[float] = []
    for weights, total in values:
        # Formatting an integer takes a third of the time of "%.0f", with the same result.
        numbers.extend(map(round, accumulate(weights)))
        numbers += (total, numbers[-1])
    return _layout(desc, series, (), _histogram) % tuple(numbers)


def _layout(
    desc: MetricDesc,
    family: Sequence[tuple[str, ...]],
    types: tuple[type, ...],
    lines: Callable[[MetricDesc, tuple[str, ...], type], str],
) -> str:
    series = tuple(family)
    known = _layouts.get(desc)
    if known is not None and known[0] == series and known[1] == types:
        return known[2]
    text = _layout_text(desc, series, types, lines)
    if desc.kind != "histogram" or len(series) <= _MAX_CACHED_HISTOGRAMS:
        _layouts[desc] = series, types, text
    return text


def _layout_text(
    desc: MetricDesc,
    series: tuple[tuple[str, ...], ...],
    types: tuple[type, ...],
    lines: Callable[[MetricDesc, tuple[str, ...], type], str],
) -> str:
    kinds = types or (float,) * len(series)
    names = [tuple(printable(label, keep="\n") for label in labels) for labels in series]
    last = {labels: number for number, labels in enumerate(names)}
    parts = [lines(desc, labels, kind) for labels, kind in zip(names, kinds, strict=True)]
    # Two different labels can have the same printable text. Then only the last series is rendered.
    return "".join(
        part if last[labels] == number else _hidden(part)
        for number, (labels, part) in enumerate(zip(names, parts, strict=True))
    )


def _hidden(lines: str) -> str:
    """Returns a text that takes as many values as `lines` and shows none of them."""
    return "%.0s" * lines.replace("%%", "").count("%")


def _line(desc: MetricDesc, labels: tuple[str, ...], kind: type) -> str:
    name = _named(desc.name, desc.labels, labels).replace("%", "%%")
    return f"{name} {_PLACEHOLDERS.get(kind, '%d')}\n"


def _histogram(desc: MetricDesc, labels: tuple[str, ...], _kind: type) -> str:
    """Returns all lines of one series of a histogram, with a placeholder for each number.

    Weights are rendered as integers, because OpenMetrics 1.0 allows no other bucket values. The
    stored weights are not rounded, so the error of a rendered value never exceeds one half.
    """
    pairs = _pairs(desc.labels, labels)
    return _histogram_lines(desc).replace("\0", pairs.replace("%", "%%"))


@lru_cache
def _histogram_lines(desc: MetricDesc) -> str:
    """Returns the same lines with a null character instead of the labels, which cannot have one."""
    first, whole = ("\0,", "{\0}") if desc.labels else ("", "")
    buckets = "".join(f'{desc.name}_bucket{{{first}le="{le}"}} %d\n' for le in _edges(desc))
    return f"{buckets}{desc.name}_sum{whole} %.12g\n{desc.name}_count{whole} %d\n"


def _edges(desc: MetricDesc) -> tuple[str, ...]:
    return (*map(go_float, desc.edges), "+Inf")


def _named(name: str, names: tuple[str, ...], labels: tuple[str, ...]) -> str:
    return f"{name}{{{_pairs(names, labels)}}}" if names else name


def _pairs(names: tuple[str, ...], labels: tuple[str, ...]) -> str:
    return ",".join(
        f'{label}="{_escaped(value)}"' for label, value in zip(names, labels, strict=True)
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@lru_cache
def _header(desc: MetricDesc, openmetrics: bool) -> str:
    name = desc.name
    text = desc.help.replace("\\", "\\\\").replace("\n", "\\n")
    if openmetrics:
        text = text.replace('"', '\\"')
        if desc.kind == "counter":
            name = name.removesuffix("_total")
    header = f"# HELP {name} {text}\n# TYPE {name} {desc.kind}\n"
    # Only the format OpenMetrics has units. The unit must be the end of the name.
    unit = name.rpartition("_")[2]
    return f"{header}# UNIT {name} {unit}\n" if openmetrics and unit in UNITS else header
