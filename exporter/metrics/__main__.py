"""Prints the text of METRICS.md. Run it as `python -m exporter.metrics`."""

import sys

from exporter.families import catalogue
from exporter.families.desc import MetricDesc
from exporter.metrics.client_library import go_float

_HEAD = """\
# Metrics

All metric families, generated from the catalogue by `make docs`. Names contain the base unit,
ratios are fractions (1 is 100 %), and every counter ends in `_total`. **An unknown value has no
sample; it is never 0.** `device` is the kernel's name of the block device, as in node_exporter.
[Joins](docs/joins.md) shows how families are combined, for example a drive with its role.
"""


def document() -> str:
    """Returns the text of METRICS.md."""
    parts = [_HEAD]
    for title, subject in catalogue.SUBJECTS:
        parts.append(f"\n## {title}\n\n| family | type | labels | meaning |\n|---|---|---|---|\n")
        parts.extend(_row(desc) for desc in catalogue.families(subject))
    return "".join(parts)


def _row(desc: MetricDesc) -> str:
    labels = ", ".join(f"`{label}`" for label in desc.labels)
    kind = f"{desc.kind}, off by default" if desc.optional else desc.kind
    edges = f" Buckets: {' '.join(map(go_float, desc.edges))}." if desc.edges else ""
    return f"| `{desc.name}` | {kind} | {labels} | {desc.help}{edges} |\n"


if __name__ == "__main__":
    sys.stdout.write(document())
