"""Reads examples and tables from docs/."""

import re
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("scale.md", "cardinality.md", "beside-node-exporter.md", "with-pmm.md")


def fenced(page: str, language: str) -> list[str]:
    """Code examples in one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def configurations(page: str) -> list[dict[str, Any]]:
    """Parsed Prometheus examples of a page."""
    return [yaml.safe_load(text) for text in fenced(page, "yaml")]


def rows(page: str, heading: str) -> list[list[str]]:
    """Cells of the table whose header starts with the given text, without the header."""
    text = (DOCS / page).read_text(encoding="utf-8")
    _, found, after = text.partition(f"\n| {heading}")
    assert found, f"{page}: no table {heading}"
    lines = after.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
