"""A report as one HTML page that needs nothing else: no script, no font, no network."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from exporter.report import chart, markup
from exporter.report.content import Chart, Report, Table
from exporter.report.markup import element
from exporter.report.style import CSS

#: Each chart is drawn twice, for the style sheet to choose: its text must be legible on both.
_WIDE, _NARROW = (960, 350), (360, 280)

#: Cells longer than this are broken into lines.
_LONG_CELL = 40

# Should anything slip through the escaping all the same, the browser neither runs nor loads it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(report: Report) -> str:
    """The whole page. It is well-formed XML too."""
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
        element("footer", "Made by ssd-exporter. This page loads nothing from elsewhere."),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n'
        f"{_void(markup.text(head)).replace('</head>', f'<style>{CSS}</style></head>')}\n"
        f"{markup.text(body)}\n</html>\n"
    )


def _void(head: str) -> str:
    """HTML's meta has no end tag."""
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
        yield element("h2", "To know before you trust these figures")
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
    # Who has no mouse scrolls it by keyboard.
    scrolled = element(
        "div", whole, class_="scroll", tabindex="0", role="region", aria_label=table.title
    )
    return element("section", heading, scrolled)


def _kind(cell: str, column: int, table: Table) -> str:
    if column in table.numbers:
        return "number"
    return "long" if len(cell) > _LONG_CELL else "words"


def _chart(part: Chart) -> ET.Element:
    caption = element("figcaption", part.title)
    wide, narrow = chart.svg(part, *_WIDE), chart.svg(part, *_NARROW)
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
        kind = f"l{number % chart.KINDS}"
        sample = (
            element("circle", class_=f"dot {kind}", cx=14, cy=7, r=4)
            if line.dots
            else element("line", class_=f"line {kind}", x1=0, x2=28, y1=7, y2=7)
        )
        yield element("li", _sample(sample), element("span", line.name))
    for number, band in enumerate(part.bands):
        kind = f"band b{number % chart.KINDS}"
        sample = element("rect", class_=kind, x=1, y=1, width=26, height=12)
        yield element("li", _sample(sample), element("span", band.words))


def _sample(drawn: ET.Element) -> ET.Element:
    return element("svg", drawn, width=28, height=14, aria_hidden="true")
