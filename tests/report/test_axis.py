"""The ranges and ticks of axes."""

import itertools

from hypothesis import given

from exporter.report.axis import Axis, x_axis, y_axis, y_words
from exporter.report.content import Band, Chart, ChartLine, Mark
from tests.report import reports


def chart(*points: tuple[float, float], **more: object) -> Chart:
    fields: dict[str, object] = {"lines": (ChartLine("a", points),), **more}
    return Chart("t", "x", "y", **fields)  # type: ignore[arg-type]


def words(axis: Axis | None) -> list[str]:
    assert axis is not None
    return [text for _, text in axis.ticks]


def test_ticks_are_round_and_share_one_prefix() -> None:
    axis = y_axis(chart((0, 2.1e9), (1, 0.4e9), y_unit="B/s"), 5)
    expected = ["0", "0.5 GB/s", "1.0 GB/s", "1.5 GB/s", "2.0 GB/s", "2.5 GB/s"]
    assert expected == words(axis)


def test_small_times_have_their_prefix() -> None:
    axis = y_axis(chart((0, 0.00031), y_unit="s"), 5)
    assert ["0", "100 µs", "200 µs", "300 µs", "400 µs"] == words(axis)


def test_rounds_are_counted_in_whole_numbers() -> None:
    axis = x_axis(chart(*((n, 1.0) for n in range(1, 6))), 1000, len)
    assert ["1", "2", "3", "4", "5"] == words(axis)


def test_one_round_is_an_axis_too() -> None:
    assert ["1"] == words(x_axis(chart((1, 5)), 1000, len))


def test_there_are_as_many_ticks_as_there_is_room_for() -> None:
    drawn = chart((0, 1), (80e9, 1), x_unit="B")
    assert 9 == len(words(x_axis(drawn, 1000, len)))
    assert ["0", "50 GB"] == words(x_axis(drawn, 10, len))


def test_x_begins_at_zero_where_the_first_point_is_near_it() -> None:
    axis = x_axis(chart((64e6, 1), (80e9, 1), x_unit="B"), 100, len)
    assert axis is not None
    assert 0 == axis.low


def test_a_mark_beyond_the_last_point_is_on_the_axis() -> None:
    axis = x_axis(chart((0, 1), (10e9, 1), marks=(Mark(38e9, "end"),), x_unit="B"), 100, len)
    assert axis is not None
    assert 38e9 == axis.high


def test_y_begins_at_zero() -> None:
    axis = y_axis(chart((0, 900), (1, 1000)), 5)
    assert (0, 1000) == (axis.low, axis.high)


def test_windows_far_above_zero_fill_the_axis_and_the_label_says_so() -> None:
    drawn = chart((1, 100), (2, 104), bands=(Band(90, 110, "20 %"),))
    axis = y_axis(drawn, 5)
    assert (90, 110) == (axis.low, axis.high)
    assert "y, not from zero" == y_words(drawn, axis)


def test_a_chart_without_points_has_no_x_axis() -> None:
    assert x_axis(chart((float("nan"), 1)), 100, len) is None


@given(reports.charts)
def test_every_chart_has_axes_with_ticks_that_rise_within_them(drawn: Chart) -> None:
    for axis in (x_axis(drawn, 80, len), y_axis(drawn, 5)):
        if axis is None:
            continue
        assert axis.low < axis.high
        places = [axis.share(value) for value, _ in axis.ticks]
        assert 0 < len(places) + 1 <= 20
        assert all(a < b for a, b in itertools.pairwise(places))
