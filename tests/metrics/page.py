"""Groups samples by family and labels, for the tests of the collectors."""

from collections.abc import Iterable, Iterator
from typing import Any

from exporter.families.desc import Sample, SampleBlock

#: The values of a family, by label values.
Values = dict[tuple[str, ...], Any]


def each_sample(samples: Iterable[Sample | SampleBlock]) -> Iterator[Sample]:
    """Yields all samples, including those of the blocks."""
    for sample in samples:
        if isinstance(sample, SampleBlock):
            for labels, value in zip(sample.series, sample.values, strict=True):
                yield Sample(sample.desc, labels, value)
        else:
            yield sample


def page(samples: Iterable[Sample | SampleBlock]) -> dict[str, Values]:
    """Return the values by family and labels; each series must occur once."""
    families: dict[str, Values] = {}
    for desc, labels, value in each_sample(samples):
        family = families.setdefault(desc.name, {})
        assert labels not in family, f"{desc.name}{labels} comes twice"
        family[labels] = value
    return families
