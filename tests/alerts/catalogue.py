"""Which families and labels a rule or a panel may name: the catalogue's, and those to come."""

from exporter.metrics.catalogue import SUBJECTS, families

#: Families that are to come, with the labels that the rules count on. A family that the catalogue
#: has by now is taken off here; in the end this is empty.
NOT_YET: dict[str, tuple[str, ...]] = {}

#: What a scrape adds.
TARGET_LABELS = ("instance", "job")


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
#: Series by name, with their labels but the target's.
KNOWN: dict[str, tuple[str, ...]] = {"up": (), **NOT_YET, **CATALOGUE}
LABELS = {*TARGET_LABELS, *(label for labels in KNOWN.values() for label in labels)}
