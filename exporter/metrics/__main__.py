"""python -m exporter.metrics prints METRICS.md."""

import sys

from exporter.metrics import catalogue
from exporter.metrics.client_library import go_float
from exporter.metrics.desc import MetricDesc

_HEAD = """\
# Metrics

Every family, made from the catalogue by `make docs`. Base units are spelt out, ratios run from 0
to 1, and everything that only grows ends in `_total`. **A value that is not known yields no sample,
never 0.** `device` is the kernel's block name, as in node_exporter.
"""


def document() -> str:
    """The whole of METRICS.md."""
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
