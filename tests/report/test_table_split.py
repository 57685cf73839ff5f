"""Tables that are wider than the terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.report import rich_output, terminal
from exporter.report.axis import x_axis
from exporter.report.content import Chart, ChartLine, Report, Table
from exporter.report.table_split import fitting
from tests.fakes import Terminal

WIDE = Table(
    "Rates",
    ("block size", "jobs", *(f"mode{number}" for number in range(6))),
    (("4 KiB", "1", *("123,456 / 1,234.5",) * 6),),
    frozenset(range(1, 8)),
    keys=2,
)


def test_a_wide_table_is_divided_and_repeats_the_columns_that_name_the_rows() -> None:
    parts = fitting(WIDE, 80, 2)
    assert [("block size", "jobs")] * len(parts) == [part.columns[:2] for part in parts]
    assert WIDE.columns[2:] == tuple(name for part in parts for name in part.columns[2:])
    assert [frozenset(range(1, len(part.columns))) for part in parts] == [p.numbers for p in parts]


def test_a_table_that_fits_is_one_table() -> None:
    assert [WIDE] == fitting(WIDE, 200, 2)


@given(
    st.lists(st.text("ab", max_size=30), min_size=1, max_size=9),
    st.integers(1, 120),
    st.integers(0, 10),
)
def test_every_column_is_shown_once_and_a_part_is_too_wide_only_with_one_column(
    names: list[str], width: int, keys: int
) -> None:
    table = Table("", tuple(names), (), keys=keys)
    parts = fitting(table, width, 2)
    keys = min(keys, len(names))
    assert names == [*names[:keys], *(n for part in parts for n in part.columns[keys:])]
    for part in parts:
        used = sum(map(len, part.columns)) + 2 * (len(part.columns) - 1)
        assert used <= width or len(part.columns) <= keys + 1


@pytest.mark.parametrize("module", [terminal, rich_output])
def test_no_cell_is_broken_on_80_columns(monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    module.write(Report("T", "V.", (), (WIDE,), (), {}), out)  # type: ignore[attr-defined]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert all(len(line) <= 80 for line in plain.splitlines())
    assert 6 == plain.count("123,456 / 1,234.5")


def test_an_axis_has_the_ticks_of_the_chart_and_fewer_if_they_do_not_fit() -> None:
    ticks = tuple((float(place), f"{10**place} KiB") for place in range(5))
    line = ChartLine("reads", ((0.0, 1.0), (4.0, 2.0)))
    chart = Chart("", "", "", (line,), x_ticks=ticks)
    axis = x_axis(chart, 1000, len)
    assert axis is not None
    assert (0.0, 4.0, ticks) == (axis.low, axis.high, axis.ticks)
    narrow = x_axis(chart, 20, len)
    assert narrow is not None
    assert ticks[::2] == narrow.ticks or ticks[::4] == narrow.ticks
