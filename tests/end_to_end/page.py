"""A page of metrics, parsed as by a scraper."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

Labels = frozenset[tuple[str, str]]

#: OpenMetrics 1.0 has buckets count whole things, and prometheus_client's parser insists on it;
#: those that seconds weigh have fractions, which 2.0 allows
#: (https://github.com/prometheus/OpenMetrics/issues/309) and Prometheus has always taken.
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
        """What prometheus_client's parser makes of the text.

        In OpenMetrics the histograms weighted by seconds come cut down to whole ones.

        Raises:
            ValueError: the text is no page, or has a series twice.
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
        """The labels and the value of each series of that name with at least these labels."""
        asked = labels.items()
        for (found, its_labels), value in self.samples.items():
            if found == name and asked <= its_labels:
                yield dict(its_labels), value

    def value(self, name: str, **labels: str) -> float:
        """The value of the one series that has these labels."""
        values = [value for _, value in self.find(name, **labels)]
        if len(values) != 1:
            raise AssertionError(f"{name}{labels}: {len(values)} series, not one")
        return values[0]

    def labels(self, name: str, label: str) -> set[str]:
        """The values of one label."""
        return {labels[label] for labels, _ in self.find(name)}

    def verdict(self, device: str) -> list[str]:
        """The causes that the page names as the bottleneck of a device."""
        return [
            labels["cause"]
            for labels, value in self.find("ssd_io_bottleneck", device=device)
            if value == 1
        ]
