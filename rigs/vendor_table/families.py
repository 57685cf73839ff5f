"""Renders the table of docs/drives.md: what is read from the drives of each make."""

from collections import Counter

from exporter.drives.wear_formulas import unknown
from exporter.drives.wear_table import STATISTICS_RULES, WEAR_RULES
from exporter.drives.written_table import (
    GIB,
    GIB_OR_SECTOR,
    LOGICAL_BLOCK,
    MIB,
    MIB_32,
    SECTOR,
    UNKNOWN,
    WRITTEN_RULES,
)
from rigs.vendor_table.score import Score, share

_UNITS = {
    SECTOR: "512 B",
    MIB: "MiB",
    16 * MIB: "16 MiB",
    MIB_32: "32 MiB",
    GIB: "GiB",
    10**9: "GB",
    LOGICAL_BLOCK: "blocks",
    GIB_OR_SECTOR: "GiB or 512 B",
    UNKNOWN: "unknown",
}

_HEAD = """\
| make | wear | host bytes | device statistics | drives | confirmed | lower bound | contradicted |
|---|---|---|---|---|---|---|---|
"""


def table(by_make: dict[str, Score]) -> str:
    """Returns the table of all makes as Markdown.

    by_make: the scores; a make without captured drives has zeros.
    """
    makes = {rule.make for rule in WEAR_RULES} | {rule.make for rule in WRITTEN_RULES}
    return _HEAD + "".join(_line(make, by_make.get(make, Score())) for make in sorted(makes))


def summary(counters: dict[str, Counter[str]]) -> str:
    """Returns the lines of the table of shares; `counters` is keyed by the first column."""
    names = ("right", "bound", "wrong", "unknown")
    return "".join(
        f"| {title} | {' | '.join(f'{100 * share(counter, name):.1f} %' for name in names)} |\n"
        for title, counter in counters.items()
    )


def _line(make: str, part: Score) -> str:
    cells = (
        make,
        _wear(make),
        _written(make),
        next((rule.use for rule in STATISTICS_RULES if rule.make == make), ""),
        str(part.drives or ""),
        str(part.hidden["right"] or ""),
        str(part.hidden["bound"] or ""),
        str(part.hidden["wrong"] or ""),
    )
    return "| " + " | ".join(cells) + " |\n"


def _wear(make: str) -> str:
    rules = [rule for rule in WEAR_RULES if rule.make == make]
    return ", then ".join(
        "none"
        if rule.formula is unknown
        else f"{rule.attribute} {rule.formula.__name__}"
        + (f"({rule.parameter})" if rule.parameter != 100 else "")
        for rule in rules
    )


def _written(make: str) -> str:
    return ", ".join(
        f"{' + '.join(map(str, rule.attributes))} in {_UNITS.get(rule.unit, str(rule.unit))}"
        for rule in WRITTEN_RULES
        if rule.make == make and rule.counter == "host_written"
    )
