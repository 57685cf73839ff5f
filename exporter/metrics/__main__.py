"""Prints METRICS.md; with the argument `reference`, prints docs/metrics.md.

Run it as `python -m exporter.metrics`. METRICS.md has one sentence per family, and the reference
has the whole HELP texts.
"""

import re
import sys

from exporter.families import catalogue, compat_families, nvme_log_families, smartctl_families
from exporter.families.desc import MetricDesc
from exporter.metrics.client_library import go_float

_HEAD = """\
# Metrics

{of} `make docs` generates this page from the catalogue.

Names contain the base unit, ratios are fractions (1 is 100 %), and every counter ends in `_total`.
**An unknown value has no sample; it is never 0.** `device` is the kernel's name of the block
device, as in node_exporter. [Joins]({docs}joins.md) shows how families are combined, for example a
drive with its role.
"""
_OVERVIEW = """\
Each metric family in one sentence. [The reference](docs/metrics.md) has types, sources, buckets and
caveats, the families of data-centre NVMe drives, and those of other exporters."""
_REFERENCE = (
    "All metric families, with sources and caveats; [METRICS](../METRICS.md) is the short form."
)

#: The subjects that the reference lists only: of other projects, and of some drives only.
_IN_REFERENCE_ONLY = (nvme_log_families, compat_families, smartctl_families)


def overview() -> str:
    """Returns the text of METRICS.md."""
    parts = [_HEAD.format(of=_OVERVIEW, docs="docs/")]
    for title, subject in catalogue.SUBJECTS:
        if subject not in _IN_REFERENCE_ONLY:
            parts.append(f"\n## {title}\n\n| family | labels | meaning |\n|---|---|---|\n")
            parts.extend(
                f"| `{desc.name}` | {_labels(desc)} | {first_sentence(desc.help)} |\n"
                for desc in catalogue.families(subject)
            )
    return "".join(parts)


def reference() -> str:
    """Returns the text of docs/metrics.md."""
    parts = [_HEAD.format(of=_REFERENCE, docs="")]
    for title, subject in catalogue.SUBJECTS:
        parts.append(f"\n## {title}\n\n| family | type | labels | meaning |\n|---|---|---|---|\n")
        parts.extend(_row(desc) for desc in catalogue.families(subject))
    return "".join(parts)


def first_sentence(text: str) -> str:
    """Returns the first sentence of a HELP text without its source, which is in parentheses."""
    sentence = text.split(". ", 1)[0].split("; the value is", maxsplit=1)[0]
    return re.sub(r" \([^()]*\)\.?$", "", sentence).removesuffix(".")


def _labels(desc: MetricDesc) -> str:
    return ", ".join(f"`{label}`" for label in desc.labels)


def _row(desc: MetricDesc) -> str:
    kind = f"{desc.kind}, off by default" if desc.optional else desc.kind
    edges = f" Buckets: {' '.join(map(go_float, desc.edges))}." if desc.edges else ""
    return f"| `{desc.name}` | {kind} | {_labels(desc)} | {desc.help}{edges} |\n"


if __name__ == "__main__":
    sys.stdout.write(reference() if sys.argv[1:] == ["reference"] else overview())
