"""The short page for people."""

from collections.abc import Sequence
from html import escape

from exporter import __version__

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ssd-exporter</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem }}
table {{ border-collapse: collapse; margin: 1rem 0 }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .8rem .3rem 0; text-align: left }}
</style></head><body>
<h1>ssd-exporter</h1>
<p>Version {version}. {state}</p>
<p><a href="/metrics">Metrics</a> · <a href="/-/healthy">Healthy?</a>
 · <a href="/-/ready">Ready?</a></p>
{table}
</body></html>
"""


def page(state: str, table: Sequence[Sequence[str]]) -> str:
    """How the monitor fares, and a table of plain text whose first row is the heading."""
    return _PAGE.format(version=escape(__version__), state=escape(state), table=_table(table))


def _table(table: Sequence[Sequence[str]]) -> str:
    heading, *rows = table
    if not rows:
        return "<p>No device is watched: see --collector.disk.device-include.</p>"
    lines = [_line("th", heading), *(_line("td", row) for row in rows)]
    return f"<table>\n{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>\n"
