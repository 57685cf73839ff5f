"""Tests of `metrics.exposition`: comparison with prometheus_client's renderer and parsers."""

import math
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from exporter.families import catalogue, disk_families
from exporter.families.desc import Buckets, MetricDesc, Sample, SampleBlock, blocks
from exporter.metrics.exposition import UNITS, render
from exporter.runtime.printable import printable
from tests.metrics.page import each_sample

GAUGE = MetricDesc("ssd_test_ratio", 'A "gauge" with a \\ backslash.', ("device", "op"))
COUNTER = MetricDesc("ssd_test_bytes_total", "A counter.", ("device",), "counter")
HISTOGRAM = MetricDesc("ssd_test_seconds", "A histogram.", ("device",), "histogram", (0.05, 1.0))
BARE = MetricDesc("ssd_test_interval_seconds", "Without labels.")


def shown(label: str) -> str:
    """Return the label value that a scraper receives."""
    return printable(label, keep="\n")


_VALUE = st.floats(allow_nan=False) | st.integers(-(1 << 64), 1 << 64)
_COUNT = st.integers(0, 1 << 40).map(float)
#: prometheus_client does not replace unprintable characters, so the comparison uses none.
_LABEL = st.text(st.characters(exclude_categories=["Cs"])).map(shown)
_SAMPLES = st.lists(
    st.builds(GAUGE, _VALUE, _LABEL, _LABEL)
    | st.builds(COUNTER, _COUNT, _LABEL)
    | st.builds(
        lambda weights, total, label: HISTOGRAM(Buckets(weights, total), label),
        st.tuples(_COUNT, _COUNT, _COUNT),
        _COUNT,
        _LABEL,
    )
    | st.builds(BARE, _VALUE)
)


class Fixed(Collector):
    """Return the same samples as families of prometheus_client."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = list(samples)

    def collect(self) -> Iterator[Metric]:
        for desc in dict.fromkeys(sample.desc for sample in self._samples):
            values = {s.labels: s.value for s in self._samples if s.desc is desc}
            yield self._family(desc, values)

    def _family(self, desc: MetricDesc, values: dict[tuple[str, ...], float | Buckets]) -> Metric:
        unit = desc.name.removesuffix("_total").rpartition("_")[2]
        unit = unit if unit in UNITS else ""
        if desc.kind == "histogram":
            histogram = HistogramMetricFamily(desc.name, desc.help, labels=desc.labels, unit=unit)
            for labels, value in values.items():
                assert isinstance(value, Buckets)
                below, buckets = 0.0, []
                bounds = map(floatToGoString, (*desc.edges, math.inf))
                for bound, weight in zip(bounds, value.weights, strict=True):
                    below += weight
                    buckets.append((bound, below))
                histogram.add_metric(labels, buckets, value.sum)
            return histogram
        kind = CounterMetricFamily if desc.kind == "counter" else GaugeMetricFamily
        family = kind(desc.name, desc.help, labels=desc.labels, unit=unit)
        for labels, value in values.items():
            assert not isinstance(value, Buckets)
            family.add_metric(labels, value)
        return family


#: This function of prometheus_client has no type annotations.
parse_openmetrics: Callable[[str], Iterator[Metric]] = text_string_to_metric_families

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def series(families: Iterable[Metric]) -> tuple[dict[str, tuple[str, str]], Series]:
    """Return the types and HELP texts by family, and the values by series."""
    found = list(families)
    values = {
        (sample.name, tuple(sorted(sample.labels.items()))): float(sample.value)
        for family in found
        for sample in family.samples
    }
    return {family.name: (family.type, family.documentation) for family in found}, values


def theirs(samples: Iterable[Sample], *, openmetrics: bool) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Fixed(samples))
    return (generate_openmetrics if openmetrics else generate_latest)(registry).decode()


def parsed(page: str, *, openmetrics: bool) -> tuple[dict[str, tuple[str, str]], Series]:
    return series(parse_openmetrics(page) if openmetrics else parse_text(page))


def test_a_page_matches_the_documented_format() -> None:
    page = render(
        [
            GAUGE(0.5, "sda", "read"),
            COUNTER(3, "sda"),
            HISTOGRAM(Buckets((1.0, 0.0, 2.5), 7.25), "sda"),
            BARE(1),
        ],
        openmetrics=False,
    )
    expected = """\
# HELP ssd_test_ratio A "gauge" with a \\\\ backslash.
# TYPE ssd_test_ratio gauge
ssd_test_ratio{device="sda",op="read"} 0.5
# HELP ssd_test_bytes_total A counter.
# TYPE ssd_test_bytes_total counter
ssd_test_bytes_total{device="sda"} 3
# HELP ssd_test_seconds A histogram.
# TYPE ssd_test_seconds histogram
ssd_test_seconds_bucket{device="sda",le="0.05"} 1
ssd_test_seconds_bucket{device="sda",le="1.0"} 1
ssd_test_seconds_bucket{device="sda",le="+Inf"} 4
ssd_test_seconds_sum{device="sda"} 7.25
ssd_test_seconds_count{device="sda"} 4
# HELP ssd_test_interval_seconds Without labels.
# TYPE ssd_test_interval_seconds gauge
ssd_test_interval_seconds 1
"""
    assert expected == page.decode()


def test_openmetrics_omits_total_in_family_names_and_ends_with_eof() -> None:
    expected = """\
# HELP ssd_test_bytes A counter.
# TYPE ssd_test_bytes counter
# UNIT ssd_test_bytes bytes
ssd_test_bytes_total{device="sda"} 3
# EOF
"""
    assert expected == render([COUNTER(3, "sda")], openmetrics=True).decode()


def test_no_samples_give_an_empty_page() -> None:
    assert (b"", b"# EOF\n") == (render([], openmetrics=False), render([], openmetrics=True))


@pytest.mark.parametrize("openmetrics", [False, True])
@given(samples=_SAMPLES)
def test_prometheus_client_renders_the_same(openmetrics: bool, samples: list[Sample]) -> None:
    """Families, types, HELP texts, series and values are equal after parsing."""
    page = render(samples, openmetrics=openmetrics).decode()
    expected_families, expected = parsed(theirs(samples, openmetrics=openmetrics),
                                         openmetrics=openmetrics)  # fmt: skip
    families, actual = parsed(page, openmetrics=openmetrics)
    assert expected_families == families
    assert expected.keys() == actual.keys()
    for name, value in expected.items():
        assert value == pytest.approx(actual[name], rel=1e-11), name


@pytest.mark.parametrize("openmetrics", [False, True])
@given(label=_LABEL)
@example(label='"')
@example(label="\\")
@example(label="\\n")
@example(label="\n")
@example(label="\r")
@example(label="a\r\nb")
@example(label="\0")
@example(label="\u2028\x85\x0b")
@example(label="} 1")
@example(label='",op="x')
def test_any_label_value_is_escaped(openmetrics: bool, label: str) -> None:
    page = render([GAUGE(1, label, "read"), BARE(2)], openmetrics=openmetrics).decode()
    assert all(line.isprintable() for line in page.split("\n"))
    _, values = parsed(page, openmetrics=openmetrics)
    expected = {
        ("ssd_test_ratio", (("device", shown(label)), ("op", "read"))): 1.0,
        ("ssd_test_interval_seconds", ()): 2.0,
    }
    assert expected == values


def test_a_lone_surrogate_does_not_break_the_page() -> None:
    assert b'device="\\\\ud800"' in render([COUNTER(1, "\ud800")], openmetrics=False)


def test_a_label_value_cannot_control_a_terminal() -> None:
    for label in ("\x1b[31m", "\x9b31m", "\x7f", "\u202e", "\u2066", "\u2028", "\u2029", "\r"):
        page = render([COUNTER(1, label), HISTOGRAM(Buckets((1.0,) * 3, 1.0), label)],
                      openmetrics=False).decode()  # fmt: skip
        assert label not in page
        assert f'device="{repr(label)[1:-1]}"'.replace("\\", "\\\\") in page


@pytest.mark.parametrize("openmetrics", [False, True])
def test_series_with_the_same_printable_labels_are_one_series(openmetrics: bool) -> None:
    """Prometheus rejects a page with duplicates."""

    def page(*labels: str) -> bytes:
        weights = Buckets((4.0, 4.0, 4.0), 9.0)
        samples = [desc for label in labels for desc in (
            COUNTER(len(label), label), GAUGE(0.5 * len(label), label, "100%"),
            HISTOGRAM(weights if len(label) > 1 else Buckets((1.0, 1.0, 1.0), 3.0), label),
        )]  # fmt: skip
        return render(samples, openmetrics=openmetrics)

    assert page(r"\x1b") == page("\x1b", r"\x1b")
    assert page("100%", r"\x1b") == page("100%", "\x1b", r"\x1b")


def test_a_duplicate_series_has_its_last_value() -> None:
    """Prometheus rejects a page with duplicates."""
    twice = [
        COUNTER(1, "sda"),
        COUNTER(5, "sdb"),
        HISTOGRAM(Buckets((1.0, 1.0, 1.0), 3.0), "sda"),
        COUNTER(2, "sda"),
        HISTOGRAM(Buckets((4.0, 4.0, 4.0), 9.0), "sda"),
    ]
    once = [COUNTER(2, "sda"), COUNTER(5, "sdb"), HISTOGRAM(Buckets((4.0, 4.0, 4.0), 9.0), "sda")]
    for openmetrics in (False, True):
        assert render(once, openmetrics=openmetrics) == render(twice, openmetrics=openmetrics)


def test_the_series_of_a_family_are_adjacent() -> None:
    """The format requires this, in any order of the samples."""
    mixed = [COUNTER(1, "sda"), BARE(1), COUNTER(2, "sdb")]
    sorted_ = [COUNTER(1, "sda"), COUNTER(2, "sdb"), BARE(1)]
    assert render(sorted_, openmetrics=True) == render(mixed, openmetrics=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (True, "1"),
        (0.05, "0.05"),
        (0.1 + 0.2, "0.3"),
        (0.000_000_001, "1e-09"),
        (31_557_600.000_1, "31557600.0001"),
        (999_999_999_999.0, "999999999999"),
        (1e15, "1e+15"),
        ((1 << 64) - 1, "18446744073709551615"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_parse_in_go(value: float, expected: str) -> None:
    assert render([BARE(value)], openmetrics=False).decode().endswith(f" {expected}\n")


@given(st.floats(0, 31_557_600))
def test_no_number_loses_a_tenth_of_a_millisecond_in_a_year(value: float) -> None:
    page = render([BARE(value)], openmetrics=False).decode()
    assert value == pytest.approx(float(page.split()[-1]), abs=1e-4)


@given(st.integers(-(1 << 64), 1 << 64))
def test_whole_numbers_are_exact(value: int) -> None:
    assert value == int(render([BARE(value)], openmetrics=False).split()[-1])


HISTOGRAMS = [
    desc
    for _, subject in catalogue.SUBJECTS
    for desc in catalogue.families(subject)
    if desc.kind == "histogram"
]


@pytest.mark.parametrize("desc", HISTOGRAMS, ids=lambda desc: desc.name)
def test_bucket_bounds_are_formatted_as_in_go(desc: MetricDesc) -> None:
    """Both formats are equal; otherwise a change of format would create new series."""
    sample = desc(Buckets((1.0,) * (len(desc.edges) + 1), 1.0), *desc.labels)
    expected = [*map(floatToGoString, desc.edges), "+Inf"]
    for openmetrics in (False, True):
        page = render([sample], openmetrics=openmetrics).decode()
        families = list(parse_openmetrics(page) if openmetrics else parse_text(page))
        buckets = [s for s in families[0].samples if s.name.endswith("_bucket")]
        assert expected == [bucket.labels["le"] for bucket in buckets]


def test_bucket_weights_are_rounded_to_integers() -> None:
    """Only the output is rounded: the sum of many fractions is a whole second.

    https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md#histogram
    """
    sample = disk_families.BUSY_RATIO(Buckets((1.4,) * 10, 3.25), "sda")
    (family,) = parse_openmetrics(render([sample], openmetrics=True).decode())
    assert [1, 3, 4, 6, 7, 8, 10, 11, 13, 14] == [line.value for line in family.samples[:10]]
    assert [3.25, 14] == [line.value for line in family.samples[10:]]


def test_a_block_is_rendered_like_its_samples() -> None:
    buckets = [Buckets((1.0, 0.5, n), float(n)) for n in range(300)]
    devices = [(f'sd"{n}%',) for n in range(300)]
    blocks: list[Sample | SampleBlock] = [
        COUNTER.block(devices, [1.5] * 300),
        HISTOGRAM.block(devices, buckets),
        GAUGE.block([("sda", "read"), ("sdb", "read")], [None, 2]),
        BARE(1),
    ]
    for openmetrics in (False, True):
        for _ in range(2):
            # The second page is rendered with the cached text of the first one.
            page = render(blocks, openmetrics=openmetrics)
            assert render(each_sample(blocks), openmetrics=openmetrics) == page
    assert 'device="sdb"' in page.decode()
    assert 'device="sda"' not in page.decode()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans())))
def test_blocks_are_rendered_like_their_samples(drawn: list[tuple[str, int, bool]]) -> None:
    """Also if a series occurs twice, and if the samples of a family are not adjacent."""
    descs = (disk_families.STALLED, disk_families.SATURATED)
    samples = [descs[is_second](value, name) for name, value, is_second in drawn]
    assert render(samples, openmetrics=False) == render(blocks(samples), openmetrics=False)


def test_a_block_without_a_value_has_no_family() -> None:
    assert b"" == render([COUNTER.block([("sda",)], [None])], openmetrics=False)


def test_a_family_may_have_blocks_and_samples() -> None:
    parts: list[Sample | SampleBlock] = [
        COUNTER.block([("sda",), ("sdb",)], [1, 2]),
        BARE(1),
        COUNTER(3, "sdc"),
        COUNTER.block([("sdb",)], [7]),
    ]
    once = [COUNTER(1, "sda"), COUNTER(7, "sdb"), COUNTER(3, "sdc"), BARE(1)]
    assert render(once, openmetrics=True) == render(parts, openmetrics=True)


def test_a_block_has_a_value_for_each_series() -> None:
    with pytest.raises(ValueError, match="1 values of 2 series"):
        COUNTER.block([("sda",), ("sdb",)], [1])
    with pytest.raises(TypeError, match="labels"):
        COUNTER.block([("sda", "read")], [1])
