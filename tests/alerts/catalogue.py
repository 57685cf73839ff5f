"""Metrics and labels that rules and panels may use: those of the catalogue, and planned ones."""

from exporter.families.catalogue import SUBJECTS, families

#: Planned metrics, with the labels that the rules expect. Remove a metric when the catalogue has
#: it.
NOT_YET: dict[str, tuple[str, ...]] = {}

#: Labels that a scrape or the configuration of its target adds.
TARGET_LABELS = ("cluster", "instance", "job")


def _catalogue() -> dict[str, tuple[str, ...]]:
    known: dict[str, tuple[str, ...]] = {}
    for _, subject in SUBJECTS:
        for desc in families(subject):
            known[desc.name] = desc.labels
            if desc.kind == "histogram":
                known |= {
                    f"{desc.name}_bucket": (*desc.labels, "le"),
                    f"{desc.name}_sum": desc.labels,
                    f"{desc.name}_count": desc.labels,
                }
    return known


CATALOGUE = _catalogue()
#: Series by name, with their labels except those of the target.
KNOWN: dict[str, tuple[str, ...]] = {"up": (), **NOT_YET, **CATALOGUE}
LABELS = {*TARGET_LABELS, *(label for labels in KNOWN.values() for label in labels)}
