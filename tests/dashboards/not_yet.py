"""Planned metrics that panels use and the catalogue does not contain. It must become empty."""

NOT_YET: frozenset[str] = frozenset()
