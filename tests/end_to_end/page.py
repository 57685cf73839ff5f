"""A parsed page of metrics."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

Labels = frozenset[tuple[str, str]]

#: Bucket counts of the histograms that are weighted by seconds. They have fractions, which
#: OpenMetrics 1.0 and the parser of prometheus_client reject. OpenMetrics 2.0 allows them, and
#: Prometheus accepts them (https://github.com/prometheus/OpenMetrics/issues/309).
_FRACTION_OF_SECONDS = re.compile(
    r"^(ssd_disk_(?:busy_ratio|queue_depth)_(?:bucket|count)\{.*\} \d+)\.\d+$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Page:
    """All samples by name and labels; `kinds` are the types of the families."""

    samples: dict[tuple[str, Labels], float]
    kinds: dict[str, str]

    @classmethod
    def parse(cls, text: str, *, openmetrics: bool = False) -> "Page":
        """Parses a page with the parser of prometheus_client.

        With `openmetrics`, the counts of histograms weighted by seconds are rounded down.

        Raises:
            ValueError: the text is not a page, or contains a series twice.
        """
        parse = (
            openmetrics_parser.text_string_to_metric_families
            if openmetrics
            else parser.text_string_to_metric_families
        )
        if openmetrics:
            text = _FRACTION_OF_SECONDS.sub(r"\1", text)
        samples: dict[tuple[str, Labels], float] = {}
        kinds = {}
        for family in parse(text):
            kinds[family.name] = family.type
            for sample in family.samples:
                series = (sample.name, frozenset(sample.labels.items()))
                if series in samples:
                    raise ValueError(f"twice on the page: {series}")
                samples[series] = sample.value
        return cls(samples, kinds)

    def find(self, name: str, **labels: str) -> Iterator[tuple[dict[str, str], float]]:
        """Yields labels and value of each series with this name and at least these labels."""
        wanted = labels.items()
        for (sample_name, sample_labels), value in self.samples.items():
            if sample_name == name and wanted <= sample_labels:
                yield dict(sample_labels), value

    def value(self, name: str, **labels: str) -> float:
        """Returns the value of the only series with at least these labels.

        Raises:
            AssertionError: there is no such series, or more than one.
        """
        values = [value for _, value in self.find(name, **labels)]
        if len(values) != 1:
            raise AssertionError(f"{name}{labels}: {len(values)} series, not one")
        return values[0]

    def labels(self, name: str, label: str) -> set[str]:
        """Returns the values of a label in all series with this name."""
        return {labels[label] for labels, _ in self.find(name)}

    def verdict(self, device: str) -> list[str]:
        """Returns the causes whose `ssd_io_bottleneck` is 1 for a device."""
        return [
            labels["cause"]
            for labels, value in self.find("ssd_io_bottleneck", device=device)
            if value == 1
        ]
