"""Detects mistakes that make a dashboard wrong or unreadable in Grafana.

Each rule stands for one mistake that was seen in a rendered dashboard.

    python -m tests.dashboards.lint [FILE...]

prints the findings of each file, or of all dashboards, and then the number for each rule. The exit
status is 1 if there is a finding.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.dashboards import lint_colours, lint_legends, lint_queries, lint_tables, lint_whole
from tests.dashboards.documents import FILES

Document = dict[str, Any]

#: Yields a location and a message for each mistake.
Rule = Callable[[Document], Iterator[tuple[str, str]]]

RULES: dict[str, Rule] = {
    rule.__name__.replace("_", "-"): rule
    for subject in (lint_colours, lint_legends, lint_queries, lint_tables, lint_whole)
    for rule in subject.RULES
}


def findings(document: Document) -> list[tuple[str, str, str]]:
    """Returns rule, location and message of each mistake."""
    found = [(name, *each) for name, rule in RULES.items() for each in rule(document)]
    return list(dict.fromkeys(found))


def main(files: Sequence[Path]) -> int:
    counts: Counter[str] = Counter()
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        for rule, where, message in findings(document):
            counts[rule] += 1
            sys.stdout.write(f"{file.name}: {where}: {message} [{rule}]\n")
    for rule in RULES:
        sys.stdout.write(f"{counts[rule]:5} {rule}\n")
    sys.stdout.write(f"{counts.total():5} findings in {len(files)} files\n")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main([Path(each) for each in sys.argv[1:]] or FILES))
