"""The shapes of the charts."""

import itertools
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import SAMPLES, VERDICTS
from exporter.io.verdict import Verdict
from exporter.pages import charts, live_texts, page_texts
from exporter.pages.wear_chart import wear_chart
from tests.fuzz import examples

VALUES = st.lists(st.floats(0, 1e12), min_size=1, max_size=SAMPLES)
NUMBERS = re.compile(r"-?[0-9.]+")


@given(VALUES, st.floats(0, 1e12))
def test_a_curve_stays_inside_its_chart(column: list[float], peak: float) -> None:
    heights = charts.throughput_heights(column, charts.top_rate(max(peak, *column)), 24.0)
    numbers = [float(n) for n in NUMBERS.findall(charts.area(heights, len(column), 24.0))]
    assert all(0 <= x <= 299 for x in numbers[::2])
    assert all(-0.1 <= y <= 24 for y in numbers[1::2])
    assert 299 == numbers[-2]


@given(VALUES, st.floats(1e-6, 10))
def test_a_usual_and_a_slow_await_are_both_inside_the_scale(
    column: list[float], limit: float
) -> None:
    low, high = decades = charts.await_decades(limit, 2 * limit)
    # A tenth of the limit, and thirty times as much, can be told from the edges.
    assert 10.0**low < limit / 10
    assert 10.0**high > 30 * limit
    assert 0 < charts.await_y(2 * limit, decades) < charts.await_y(limit, decades) < 100
    shape = charts.line(column, decades).replace("h.5", "")
    points = re.findall(r"(\d+) ([0-9.]+)", shape)
    assert all(0 <= int(x) < SAMPLES and 0 <= float(y) <= 100 for x, y in points)


@given(st.lists(st.sampled_from([0.0, 0.0004, 0.003, 9.0]), min_size=1, max_size=SAMPLES))
def test_a_curve_of_awaits_has_gaps_without_requests_and_marks_above_the_scale(
    column: list[float],
) -> None:
    decades = charts.await_decades(0.001)
    shape = charts.line(column, decades)
    first = SAMPLES - len(column)
    runs = [bool(value) for value in column]
    begun = sum(now and not before for before, now in itertools.pairwise([False, *runs]))
    assert shape.count("M") == max(begun, 1)
    marked = {
        x
        for begin, end in re.findall(r"M(\d+) 0H(\d+)", charts.cuts([column, column], decades))
        for x in range(int(begin), int(end))
    }
    assert marked == {first + index for index, value in enumerate(column) if value > 1}


@pytest.mark.parametrize(
    ("window", "shown"), [(0, 30), (1, 30), (31, 60), (120, 120), (200, 240), (300, 300)]
)
def test_the_first_minutes_have_a_shorter_axis(window: int, shown: int) -> None:
    assert shown == charts.span(window)
    assert 0 == shown % charts.time_parts(shown)


@given(st.floats(0, 1e12))
def test_the_top_of_a_throughput_chart_is_a_round_number(peak: float) -> None:
    top = charts.top_rate(peak)
    assert top >= max(peak, charts.MIN_PEAK)
    assert top <= 2.5 * max(peak, charts.MIN_PEAK)
    assert f"{top:e}"[0] in "125"


def test_equal_heights_need_no_points_of_their_own() -> None:
    assert "M0 24L0 24 299 24 299 24Z" == charts.area(iter([0.0] * SAMPLES), SAMPLES, 24.0)


@given(st.binary(max_size=SAMPLES))
@settings(max_examples=examples(50))
def test_the_strip_covers_each_sample_once(raw: bytes) -> None:
    statuses = bytes(byte % len(VERDICTS) for byte in raw)
    svg = charts.strip(statuses, len(statuses))
    widths = [int(width) for width in re.findall(r'width="(\d+)"', svg)]
    assert len(statuses) == sum(widths)
    lasted = charts.seconds_by_verdict(statuses, 1.0)
    assert len(statuses) - statuses.count(0) == sum(lasted.values())


def test_a_drive_without_io_has_no_bottleneck_in_the_strip() -> None:
    assert charts.rectangle(Verdict.NONE, 240, 60) == charts.strip(b"", 60)
    assert not charts.strip(b"", 0)


@given(
    st.lists(st.tuples(st.floats(1e9, 1.8e9), st.floats(0, 3)), min_size=1, max_size=20),
    st.floats(0, 3),
    st.none() | st.tuples(*[st.floats(0, 4e8)] * 3).map(lambda three: tuple(sorted(three))),
)
@settings(max_examples=examples(60))
def test_any_history_of_wear_is_drawn(
    points: list[tuple[float, float]], used: float, bounds: tuple[float, float, float] | None
) -> None:
    svg = wear_chart(sorted(points), used, bounds, 1.8e9)
    assert "nan" not in svg
    assert "inf" not in svg
    # Drives report up to 255 %, and a counter may fall. Nothing leaves the picture.
    heights = re.findall(r' (?:c?y[12]?)="(-?[\d.]+)"', svg)
    heights += [
        pair.split(",")[1] for pairs in re.findall(r'points="(.+?)"', svg) for pair in pairs.split()
    ]
    assert all(0 <= float(height) <= 240 for height in heights), heights


def test_texts_have_at_most_three_digits_and_a_unit() -> None:
    assert ["84.6", "120", "1\u2009204"] == [
        page_texts.megabytes(value) for value in (84.6e6, 119.6e6, 1.204e9)
    ]
    assert ("61", "/s") == page_texts.operations(61.2)
    assert ("6.2", "k/s") == page_texts.operations(6203)
    assert ["0.09", "1.0", "2.8", "41", "–"] == [
        page_texts.milliseconds(s) for s in (0.00009, 0.000999, 0.0028, 0.0413, None)
    ]
    assert ["–", "–", "0", "0.4", "8.1", "42", "100"] == [
        page_texts.percent(r) for r in (None, math.nan, 0.0, 0.004, 0.081, 0.42, 1.0)
    ]
    assert "1.00 TB" == page_texts.size(999_900_000_000)
    assert ["600 MB/s", "3.9 GB/s"] == [page_texts.speed(v) for v in (600e6, 3.938e9)]
    assert ["40 s", "5 min", "3 h 50 min", "84 days", "1.2 years"] == [
        page_texts.duration(s) for s in (40, 300, 13_800, 84 * 86400, 438 * 86400)
    ]
    assert not page_texts.day(1e20)


def test_columns_are_sent_as_whole_numbers() -> None:
    now = DriveNow(
        read_column=[1e6, 2e6],
        written_column=[0.0, 5e5],
        read_await_column=[0.0001, 0.0],
        write_await_column=[0.0, 0.0025],
        statuses=bytes([0, 1]),
    )
    assert [[2000], [500], [0], [2500], "1"] == live_texts.drive_columns(now, 1)
    assert [[], [], [], [], ""] == live_texts.drive_columns(now, 0)
    assert [[0, 0]] * 4 + ["00"] == live_texts.drive_columns(DriveNow(), 2)
