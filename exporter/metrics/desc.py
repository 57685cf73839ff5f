"""What a metric is, and what a sample of it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

# Past the class's own constructor, which costs more than all else of a sample.
_new = tuple.__new__


class Buckets(NamedTuple):
    """A histogram's value: weight per bucket (not cumulative; the last is +Inf) and the sum."""

    weights: Sequence[float]
    sum: float


class Sample(NamedTuple):
    """One value of one series; a histogram's value makes several lines."""

    desc: "MetricDesc"
    labels: tuple[str, ...]
    value: float | Buckets


@dataclass(frozen=True, slots=True, eq=False)
class MetricDesc:
    """One row of the catalogue; calling it makes a sample.

    ``DISK_IO_NOW(3, "nvme0n1")`` is three requests in flight on nvme0n1. Label values stand in
    the order of `labels`. `edges` are a histogram's upper bounds without +Inf. `optional` marks
    a family that is off by default.
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

    def each(
        self, series: Sequence[tuple[str, ...]], values: Iterable[float | Buckets | None]
    ) -> list[Sample]:
        """A sample for each series whose value is not None: a third of the time of one by one."""
        if series and len(series[0]) != len(self.labels):
            raise TypeError(f"{self.name} takes the labels {self.labels}, not {series[0]}")
        return [
            _new(Sample, (self, labels, value))
            for labels, value in zip(series, values, strict=True)
            if value is not None
        ]
