"""Samples by family and labels, for the tests of collectors."""

from collections.abc import Iterable
from typing import Any

from exporter.metrics.desc import Sample

#: A family's values by its labels' values.
Values = dict[tuple[str, ...], Any]


def page(samples: Iterable[Sample]) -> dict[str, Values]:
    """Each series must stand but once."""
    families: dict[str, Values] = {}
    for desc, labels, value in samples:
        family = families.setdefault(desc.name, {})
        assert labels not in family, f"{desc.name}{labels} comes twice"
        family[labels] = value
    return families
