"""The pages in a real browser: charts have a size, names do not overlap, nothing is fetched."""

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from exporter.report import html_page
from exporter.report.content import Chart, ChartLine, Mark, Report
from tests.processes import run_program
from tests.report import examples
from tests.required import lacking

pytestmark = pytest.mark.real

#: A script that measures the page. The policy of the page forbids scripts, so the test removes it.
MEASURES = """<script>addEventListener("load", () => {
  const shown = [...document.querySelectorAll("figure div svg")]
    .filter(svg => svg.getBoundingClientRect().width);
  const box = node => { const b = node.getBoundingClientRect();
    return [b.left, b.top, b.right, b.bottom]; };
  const seen = {
    title: document.title,
    width: innerWidth,
    page: document.documentElement.scrollWidth,
    charts: shown.map(box),
    lines: shown.map(svg => [...svg.querySelectorAll("polyline, circle")].map(box)),
    texts: shown.map(svg => [...svg.querySelectorAll("text")]
      .map(node => [node.textContent, ...box(node)])),
    fetched: performance.getEntriesByType("resource").map(each => each.name),
    scripts: document.scripts.length,
    verdict: box(document.querySelector(".verdict")),
    back: getComputedStyle(document.body).backgroundColor,
  };
  const pre = document.createElement("pre");
  pre.id = "seen"; pre.textContent = JSON.stringify(seen); document.body.append(pre);
})</script></body>"""

POLICY = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '


def close_marks() -> Report:
    """Returns a report with more names than fit side by side."""
    points = tuple((n * 1e9, 2e9 if n < 12 else 0.4e9) for n in range(81))
    words = ("end of the write cache, 12 GB", "folding begins", "folding ends, 16 GB", "too hot")
    marks = tuple(Mark(at, name) for at, name in zip((12e9, 13e9, 16e9, 79e9), words, strict=True))
    lines = (ChartLine("throughput", points),)
    chart = Chart("Throughput", "written", "speed", lines, marks, x_unit="B", y_unit="B/s")
    return Report("Close", "All is close.", (("Drive", "</p><script>0"),), (chart,), (), {})


REPORTS = {
    "write_cache": examples.write_cache,
    "steady_state": examples.steady_state,
    "matrix": examples.matrix,
    "close_marks": close_marks,
}


def seen(report: Report, folder: Path, width: int, *options: str) -> dict[str, Any]:
    """Returns the sizes that a browser measures in a window of this width."""
    program = shutil.which("chromium")
    if program is None:
        lacking("chromium")
    text = html_page.html(report)
    assert POLICY in text
    file = folder / "report.html"
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    file.write_text(measured.replace("</body>", MEASURES), encoding="utf-8")
    argv = [
        program,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'browser'}"),
        *(f"--window-size={width},1000", *options, "--dump-dom", file.as_uri()),
    ]
    done = run_program(argv)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    answer: dict[str, Any] = json.loads(html.unescape(found[1]))
    return answer


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_legible_and_fetches_nothing(tmp_path: Path, name: str, width: int) -> None:
    report = REPORTS[name]()
    found = seen(report, tmp_path, width)
    assert [] == found["fetched"]
    assert 1 == found["scripts"], "the only script is the one of the test"
    assert report.title == found["title"]
    assert found["page"] <= found["width"], "the page is wider than the window"
    assert found["verdict"][3] < 250, "the verdict is not visible without scrolling"
    charts = [part for part in report.parts if isinstance(part, Chart)]
    assert len(charts) == len(found["charts"]), (
        "each chart must be shown once, in its wide or its narrow form"
    )
    for box, lines, texts in zip(found["charts"], found["lines"], found["texts"], strict=True):
        assert box[2] - box[0] >= 300
        assert box[3] - box[1] >= 200
        assert lines
        for left, top, right, bottom in lines:
            assert box[0] <= left < right <= box[2]
            assert box[1] <= top < bottom <= box[3]
        assert [] == overlapping(texts)
        for words, left, top, right, bottom in texts:
            assert box[0] - 1 <= left, words
            assert right <= box[2] + 1, words
            assert box[1] <= top, words
            assert bottom <= box[3], words


def overlapping(texts: list[list[Any]]) -> list[tuple[str, str]]:
    return [
        (one[0], other[0])
        for number, one in enumerate(texts)
        for other in texts[number + 1 :]
        if one[1] < other[3]
        and other[1] < one[3]
        and one[2] + 2 < other[4]  # the boxes are larger than the letters
        and other[2] + 2 < one[4]
    ]


def test_dark_where_the_reader_wants_it(tmp_path: Path) -> None:
    report = examples.write_cache()
    light = seen(report, tmp_path, 1280)
    dark = seen(report, tmp_path, 1280, "--blink-settings=preferredColorScheme=0")
    assert "rgb(255, 255, 255)" == light["back"]
    assert "rgb(20, 24, 31)" == dark["back"]
