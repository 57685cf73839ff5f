"""Charts as SVG."""

import itertools
import random
import re
from xml.etree import ElementTree as ET

from hypothesis import given

from exporter.report import markup, svg_chart
from exporter.report.content import Chart, ChartLine, Mark
from exporter.report.formatting import columns
from tests.report import examples, reports


def drawn(content: Chart, width: int = 960, height: int = 350) -> ET.Element:
    svg = svg_chart.svg(content, width, height)
    assert svg is not None
    return ET.fromstring(markup.text(svg))


def of_class(svg: ET.Element, name: str) -> list[ET.Element]:
    return [node for node in svg.iter() if name in node.get("class", "").split()]


def cliff() -> Chart:
    part = examples.write_cache().parts[0]
    assert isinstance(part, Chart)
    return part


def test_the_cliff_is_marked_where_the_line_falls() -> None:
    svg = drawn(cliff())
    (mark,), line = of_class(svg, "mark"), of_class(svg, "line")[0]
    points = [tuple(map(float, each.split(","))) for each in line.get("points", "").split()]
    steepest = max(itertools.pairwise(points), key=lambda pair: pair[1][1] - pair[0][1])
    assert abs(float(mark.get("x1", "")) - steepest[0][0]) < 3
    assert ["end of the write cache, 38 GB"] == [node.text for node in of_class(svg, "name")]


def test_a_chart_has_a_text_description() -> None:
    label = drawn(cliff()).get("aria-label", "")
    assert "At 38 GB: end of the write cache, 38 GB." in label
    assert "each 128 MB: 423 MB/s to 2.18 GB/s" in label


def test_bands_are_behind_and_dots_have_their_value() -> None:
    part = examples.steady_state().parts[0]
    assert isinstance(part, Chart)
    svg = drawn(part)
    assert 2 == len(of_class(svg, "band"))
    titles = [node.findtext("title") for node in of_class(svg, "dot")]
    assert "round, 1: 20,900" == titles[0]
    assert 5 == len(titles)


def test_names_of_marks_close_to_each_other_do_not_overlap() -> None:
    marks = tuple(Mark(at * 1e9, f"mark number {at} with a name") for at in (10, 11, 12, 40, 79))
    content = Chart("t", "x", "y", (ChartLine("a", ((0, 1), (80e9, 1))),), marks, x_unit="B")
    for width in (960, 360):
        boxes = []
        for node in of_class(drawn(content, width), "name"):
            long = columns(node.text or "") * 7.0
            x, y = float(node.get("x", "")), float(node.get("y", ""))
            box = (x, x + long, y) if node.get("text-anchor") == "start" else (x - long, x, y)
            assert 0 <= box[0] < box[1] <= width
            boxes.append(box)
        for (left, right, y), (other_left, other_right, other_y) in itertools.combinations(
            boxes, 2
        ):
            assert right < other_left or other_right < left or abs(y - other_y) >= 15


def test_a_trace_of_a_million_points_stays_small_and_keeps_its_extremes() -> None:
    noise = random.Random(3)
    values = [noise.uniform(0.5, 1) for _ in range(200_000)]
    values[77_777] = 0.01
    content = Chart("t", "x", "y", (ChartLine("a", tuple(enumerate(values))),))
    (line,) = of_class(drawn(content), "line")
    path = line.get("points", "")
    assert len(path) < 40_000
    lowest = max(float(each.split(",")[1]) for each in path.split())
    flat = Chart("t", "x", "y", (ChartLine("a", ((0, 1), (1, 0.01))),))
    expected = max(
        float(each.split(",")[1])
        for each in of_class(drawn(flat), "line")[0].get("points", "").split()
    )
    assert abs(expected - lowest) < 1


def test_a_chart_without_points_is_not_drawn() -> None:
    assert svg_chart.svg(Chart("t", "x", "y", ()), 960, 350) is None


@given(reports.charts)
def test_any_chart_is_well_formed_and_within_its_frame(content: Chart) -> None:
    for width in (960, 360):
        svg = svg_chart.svg(content, width, 300)
        if svg is None:
            continue
        text = markup.text(svg)
        assert "nan" not in re.sub(r">[^<]*<|aria-label=\"[^\"]*\"", "", text)
        for node in ET.fromstring(text).iter():
            for name in ("x", "x1", "x2", "cx"):
                assert -1 <= float(node.get(name, "0")) <= width + 1
            for name in ("y", "y1", "y2", "cy"):
                assert -1 <= float(node.get(name, "0")) <= float(svg.get("height", "")) + 1
