"""Families of which a panel asks and that the catalogue does not have yet. It must become empty."""

NOT_YET: frozenset[str] = frozenset()
