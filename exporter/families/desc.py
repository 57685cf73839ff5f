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

    def samples(
        self, series: Sequence[tuple[str, ...]], values: Iterable[float | Buckets | None]
    ) -> list[Sample]:
        """Returns a sample for each series whose value is not None.

        This takes a third of the time that it takes to call the description once for each series.

        series: the label values of each series.
        values: one value for each series, in the same order; None means unknown.
        """
        if series and len(series[0]) != len(self.labels):
            raise TypeError(f"{self.name} takes the labels {self.labels}, not {series[0]}")
        return [
            _new(Sample, (self, labels, value))
            for labels, value in zip(series, values, strict=True)
            if value is not None
        ]
