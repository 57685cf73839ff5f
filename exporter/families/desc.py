"""Defines metric descriptions, samples and histogram values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

# Creates a named tuple without calling its own constructor. That call would take most of the time
# that it takes to create a sample.
_new = tuple.__new__


class Buckets(NamedTuple):
    """The value of a histogram whose observations have weights, such as seconds or operations.

    weights: the total weight of the observations in each bucket. The weights are not cumulative,
        and the bucket +Inf is the last one.
    sum: the sum of all observations, each multiplied by its weight.
    """

    weights: Sequence[float]
    sum: float


class Sample(NamedTuple):
    """One value of one series, which is a metric family with one set of label values.

    desc: the description of the metric family.
    labels: the label values, in the order of `desc.labels`.
    value: a number, or the buckets of a histogram, which are rendered as several lines.
    """

    desc: "MetricDesc"
    labels: tuple[str, ...]
    value: float | Buckets


class SampleBlock(NamedTuple):
    """The values of many series of one metric family. Each series has one sample.

    A collector yields one block for all drives instead of one sample for each drive. The block is
    rendered in a third of the time.

    desc: the description of the metric family.
    series: the label values of each series. A series must not occur twice.
    values: the value of each series, in the same order.
    """

    desc: "MetricDesc"
    series: Sequence[tuple[str, ...]]
    values: Sequence[float | Buckets]


def blocks(samples: Iterable[Sample]) -> list[SampleBlock]:
    """Returns the samples as one block per family. The last sample of a series is used."""
    families: dict[MetricDesc, dict[tuple[str, ...], float | Buckets]] = {}
    for desc, labels, value in samples:
        families.setdefault(desc, {})[labels] = value
    return [
        SampleBlock(desc, tuple(values), tuple(values.values()))
        for desc, values in families.items()
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MetricDesc:
    """The description of one metric family. Calling it with a value returns a sample.

    For example, ``IO_NOW(3, "nvme0n1")`` is a sample with the value 3 for the device nvme0n1. Label
    values are in the order of `labels`.

    name: the name of the metric.
    help: the HELP text.
    labels: the names of the labels.
    kind: the type of the metric.
    edges: the upper bounds of a histogram's buckets, without +Inf; empty for other types.
    optional: True if the family is off by default.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: Literal["counter", "gauge", "histogram"] = "gauge"
    edges: tuple[float, ...] = ()
    optional: bool = False

    def __call__(self, value: float | Buckets, *labels: str) -> Sample:
        if len(labels) != len(self.labels):
            raise TypeError(f"{self.name} takes the labels {self.labels}, not {labels}")
        return _new(Sample, (self, labels, value))

    def block(
        self, series: Sequence[tuple[str, ...]], values: Sequence[float | Buckets | None]
    ) -> SampleBlock:
        """Returns the samples of all series whose value is not None.

        series: the label values of each series.
        values: one value for each series, in the same order; None means unknown.

        Raises:
            TypeError: the first series has another number of labels than the family.
            ValueError: the numbers of series and values differ.
        """
        if series and len(series[0]) != len(self.labels):
            raise TypeError(f"{self.name} takes the labels {self.labels}, not {series[0]}")
        if len(series) != len(values):
            raise ValueError(f"{self.name}: {len(values)} values of {len(series)} series")
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            pairs = zip(series, values, strict=True)
            series = [labels for labels, value in pairs if value is not None]
        return _new(SampleBlock, (self, series, known))
