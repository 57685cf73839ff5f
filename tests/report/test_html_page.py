"""The text of the HTML page; test_browser.py tests it in a browser."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from exporter.report import html_page
from exporter.report.content import Chart, Report, Table
from tests.report import examples, reports

HOSTILE = (
    "</style></script><script>alert(1)</script><img src='http://192.0.2.1/x' onerror=alert(2)>"
)

#: Attributes that may load a resource or open another page.
LOADS = {"src", "href", "srcset", "data", "action", "background", "poster", "xlink:href"}


class Tags(HTMLParser):
    """Collects tags and attributes by the rules of HTML, as a browser does."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def found(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def body(text: str) -> str:
    return " ".join(" ".join(ET.fromstring(text).itertext()).split())


def test_the_verdict_is_first_and_the_page_is_complete() -> None:
    text = html_page.html(examples.write_cache())
    said = body(text.partition("</head>")[2].join(("<html>", "")))
    assert said.startswith("Write cache of nvme0n1 The write cache ends after 38 GB")
    for words in ("0.014 % of rated life", "in the cache", "445 MB/s", "had rested for 12 min"):
        assert words in said


@pytest.mark.parametrize(
    ("expected", "report"),
    [
        ("verdict bad", examples.write_cache()),
        ("verdict good", examples.steady_state()),
        ("verdict", examples.matrix()),
    ],
)
def test_the_verdict_has_the_colour_of_the_judgement(expected: str, report: Report) -> None:
    assert f'class="{expected}"' in html_page.html(report)


def hostile(words: str) -> Report:
    chart = examples.write_cache().parts[0]
    assert isinstance(chart, Chart)
    line = type(chart.lines[0])(words, chart.lines[0].points)
    mark = type(chart.marks[0])(1e9, words)
    return Report(
        words,
        words,
        ((words, words),),
        (
            Table(words, (words,), ((words,),)),
            Chart(words, words, words, (line,), (mark,)),
        ),
        (words,),
        {},
    )


def test_a_model_name_is_only_text() -> None:
    tags = found(html_page.html(hostile(HOSTILE)))
    assert set() == tags.tags & {"script", "img", "iframe", "object", "link", "embed", "base"}
    assert set() == {name for name in tags.attributes if name.startswith("on")}
    assert set() == tags.attributes & LOADS


def test_the_page_has_no_external_links() -> None:
    for report in (examples.write_cache(), examples.steady_state(), examples.matrix()):
        text = html_page.html(report)
        assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
        assert "default-src 'none'" in text


def test_a_table_with_no_row_says_so() -> None:
    report = Report("t", "v", (), (Table("Cells", ("a",), ()), Chart("c", "x", "y", ())), (), {})
    assert 2 == html_page.html(report).count("Nothing was measured.")


@given(reports.reports)
def test_any_report_makes_a_well_formed_page_of_known_elements(report: Report) -> None:
    text = html_page.html(report)
    text.encode()
    ET.fromstring(text)
    tags = found(text)
    assert set() == tags.tags & {"script", "img", "iframe", "object", "link", "embed", "base"}
    assert set() == tags.attributes & LOADS
