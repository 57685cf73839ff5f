"""Renders a report as one HTML page. It loads no other file, such as scripts, fonts or images."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from exporter.report import markup, svg_chart
from exporter.report.content import Chart, Report, Table
from exporter.report.markup import element

#: The style sheet, for light and dark mode, wide and narrow screens, and paper. The lines of a
#: chart differ in stroke as well as in colour, and so do the bands, which are the named ranges on
#: the y axis. The style sheet must not contain ">" or "&", because the page is also valid XML.
CSS = """
:root { color-scheme: light dark;
  --back: #ffffff; --text: #1c2330; --dim: #5b6472; --rule: #d5dae1; --stripe: #f4f6f8;
  --neutral: #0b62b0; --good: #1a7f43; --bad: #c0392b;
  --c0: #0b62b0; --c1: #b3480b; --c2: #1a7f43; --c3: #8a3ea8; }
@media (prefers-color-scheme: dark) { :root {
  --back: #14181f; --text: #e4e8ee; --dim: #9aa5b4; --rule: #343c48; --stripe: #1b212a;
  --neutral: #5aa9f0; --good: #4cc380; --bad: #ff7b6b;
  --c0: #5aa9f0; --c1: #f0a04b; --c2: #4cc380; --c3: #cf8ff0; } }
@page { margin: 14mm; }
@media print { :root { color-scheme: light;
  --back: #ffffff; --text: #000000; --dim: #444444; --rule: #bbbbbb; --stripe: #f4f6f8;
  --neutral: #0b62b0; --good: #1a7f43; --bad: #c0392b;
  --c0: #0b62b0; --c1: #b3480b; --c2: #1a7f43; --c3: #8a3ea8; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1.25rem 2rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; line-height: 1.25; margin: .5rem 0 .75rem; }
h2, figcaption { font-size: 1.05rem; font-weight: 600; margin: 1.75rem 0 .4rem; }
.verdict { border-left: .35rem solid var(--neutral); background: var(--stripe); margin: 0;
  padding: .7rem 1rem; font-size: 1.1rem; font-weight: 600; text-wrap: balance; }
.verdict.good { border-color: var(--good); }
.verdict.bad { border-color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr));
  gap: .6rem 1.5rem; margin: 1rem 0; }
.facts div { min-width: 0; }
dt, .none, footer { color: var(--dim); font-size: .85rem; }
dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; overflow-wrap: normal; }
th, td { padding: .25rem .9rem .25rem .5rem; text-align: left;
  border-bottom: 1px solid var(--rule); }
th { color: var(--dim); font-weight: 600; vertical-align: bottom; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 14rem; }
tbody tr:nth-child(even) { background: var(--stripe); }
th.number, td.number { text-align: right; padding: .25rem .5rem .25rem .9rem;
  font-variant-numeric: tabular-nums; }
figure { margin: 0; break-inside: avoid; }
tr, .facts div, .verdict { break-inside: avoid; }
.wide svg, .narrow svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
@media screen and (max-width: 40rem) {
  .wide { display: none; } .narrow { display: block; }
  table { font-size: .85rem; }
  th, td, th.number, td.number { padding: .25rem .4rem; } }
svg text { fill: var(--dim); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg .label { fill: var(--text); }
svg .name { fill: var(--text); font-weight: 600; stroke: var(--back); stroke-width: 4px;
  paint-order: stroke; stroke-linejoin: round; }
svg line { stroke: var(--rule); }
svg .axis { stroke: var(--dim); }
svg .mark { stroke: var(--text); stroke-width: 1.5; stroke-dasharray: 2 3; }
svg .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .band { fill-opacity: .14; stroke-width: 1; }
svg .b1, svg .b3 { fill-opacity: .24; }
svg .l0 { stroke: var(--c0); }
svg .l1 { stroke: var(--c1); stroke-dasharray: 7 4; }
svg .l2 { stroke: var(--c2); stroke-dasharray: 2 3; }
svg .l3 { stroke: var(--c3); stroke-dasharray: 9 3 2 3; }
svg .dot { stroke: var(--back); stroke-width: 1; stroke-dasharray: none; }
svg .dot.l0 { fill: var(--c0); } svg .dot.l1 { fill: var(--c1); }
svg .dot.l2 { fill: var(--c2); } svg .dot.l3 { fill: var(--c3); }
svg .b0 { fill: var(--c2); stroke: var(--c2); stroke-dasharray: 1 3; }
svg .b1 { fill: var(--c2); stroke: var(--c2); stroke-dasharray: 5 3; }
svg .b2 { fill: var(--c3); stroke: var(--c3); stroke-dasharray: 1 3; }
svg .b3 { fill: var(--c3); stroke: var(--c3); stroke-dasharray: 5 3; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.5rem; list-style: none; padding: 0;
  margin: .3rem 0 0; font-size: .88rem; }
.legend li { display: flex; align-items: center; gap: .5rem; }
.legend svg { flex: none; }
footer { margin-top: 2rem; border-top: 1px solid var(--rule); padding-top: .5rem; }
@media print { body { padding: 0; font-size: 14px; } footer { display: none; } }
"""


#: Width and height of a chart in pixels. Each chart is drawn in both sizes, and the style sheet
#: shows one of them, so that the text is legible on wide and narrow screens.
_WIDE, _NARROW = (960, 350), (360, 280)

#: Maximum length of a line in a cell, in characters. A longer text is wrapped.
_MAX_LINE_LENGTH = 40

#: Protects the reader if escaping fails: the browser runs no script and loads nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(report: Report) -> str:
    """Returns the report as an HTML page, which is also well-formed XML."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", report.title or "Report"),
    )
    body = element(
        "body",
        element("main", *_main(report)),
        element("footer", "Created by ssd-exporter. This page loads no external content."),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n'
        f"{_void(markup.text(head)).replace('</head>', f'<style>{CSS}</style></head>')}\n"
        f"{markup.text(body)}\n</html>\n"
    )


def _void(head: str) -> str:
    """Returns the head with each ``<meta></meta>`` as ``<meta/>``: HTML allows no end tag there."""
    return head.replace("></meta>", "/>")


def _main(report: Report) -> Iterator[ET.Element]:
    judged = "" if report.is_good is None else " good" if report.is_good else " bad"
    yield element("h1", report.title)
    yield element("p", report.verdict, class_=f"verdict{judged}")
    if report.facts:
        pairs = (
            element("div", element("dt", name), element("dd", value))
            for name, value in report.facts
        )
        yield element("dl", *pairs, class_="facts")
    for part in report.parts:
        yield _table(part) if isinstance(part, Table) else _chart(part)
    if report.notes:
        yield element("h2", "Notes on these figures")
        yield element("ul", *(element("li", note) for note in report.notes))


def _table(table: Table) -> ET.Element:
    heading = element("h2", table.title)
    if not table.rows:
        return element("section", heading, element("p", "Nothing was measured.", class_="none"))
    head = (
        element("th", name, class_=_kind(name, n, table), scope="col")
        for n, name in enumerate(table.columns)
    )
    rows = (
        element("tr", *(element("td", c, class_=_kind(c, n, table)) for n, c in enumerate(row)))
        for row in table.rows
    )
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    # The tabindex makes the table scrollable by keyboard.
    scrolled = element(
        "div", whole, class_="scroll", tabindex="0", role="region", aria_label=table.title
    )
    return element("section", heading, scrolled)


def _kind(cell: str, column: int, table: Table) -> str:
    if column in table.numbers:
        return "number"
    return "long" if len(cell) > _MAX_LINE_LENGTH else "words"


def _chart(part: Chart) -> ET.Element:
    caption = element("figcaption", part.title)
    wide, narrow = svg_chart.svg(part, *_WIDE), svg_chart.svg(part, *_NARROW)
    if wide is None or narrow is None:
        return element("figure", caption, element("p", "Nothing was measured.", class_="none"))
    return element(
        "figure",
        caption,
        element("div", wide, class_="wide"),
        element("div", narrow, class_="narrow"),
        element("ul", *_legend(part), class_="legend"),
    )


def _legend(part: Chart) -> Iterator[ET.Element]:
    for number, line in enumerate(part.lines):
        kind = f"l{number % svg_chart.KINDS}"
        sample = (
            element("circle", class_=f"dot {kind}", cx=14, cy=7, r=4)
            if line.dots
            else element("line", class_=f"line {kind}", x1=0, x2=28, y1=7, y2=7)
        )
        yield element("li", _sample(sample), element("span", line.name))
    for number, band in enumerate(part.bands):
        kind = f"band b{number % svg_chart.KINDS}"
        sample = element("rect", class_=kind, x=1, y=1, width=26, height=12)
        yield element("li", _sample(sample), element("span", band.words))


def _sample(drawn: ET.Element) -> ET.Element:
    return element("svg", drawn, width=28, height=14, aria_hidden="true")
