"""fio's bandwidth log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.fio_log import Throughput, parse


def test_a_row_is_of_the_time_since_the_row_before() -> None:
    log = parse("145, 204800, 1, 0, 0\n300, 102400, 1, 0, 0\n")
    assert (
        Throughput(0.145, 0.145, 204_800 * 1024),
        Throughput(0.3, pytest.approx(0.155), 102_400 * 1024),  # type: ignore[arg-type]
    ) == log.writes
    assert () == log.faults


def test_columns_that_newer_versions_add_are_not_looked_at() -> None:
    assert 2 == len(parse("100, 5, 1, 0, 0, 0x0004\n200, 5, 1, 0, 0, 0, new\n").writes)


def test_reads_are_left_out() -> None:
    log = parse("100, 5, 0, 0, 0\n150, 7, 1, 0, 0\n")
    assert (Throughput(0.15, 0.15, 7 * 1024),) == log.writes


def test_a_last_line_that_is_cut_off_may_be_half_a_number() -> None:
    log = parse("100, 5, 1, 0, 0\n200, 20")
    assert (1, 1) == (len(log.writes), len(log.faults))


@pytest.mark.parametrize(
    "line", ["garbage", "1,2", "x, 5, 1", "100, -5, 1", "100, 5, 1", "0, 5, 1", "1" * 5000 + ",5,1"]
)
def test_a_broken_row_costs_itself(line: str) -> None:
    log = parse(f"100, 5, 1, 0, 0\n{line}\n200, 6, 1, 0, 0\n")
    assert [0.1, 0.2] == [row.end_seconds for row in log.writes]
    assert 1 == len(log.faults)


def test_an_empty_log_is_of_a_run_without_writes() -> None:
    assert ((), ()) == (parse("").writes, parse("").faults)


@given(st.text(alphabet="0123456789, .-x\n") | st.text())
def test_any_text_yields_rows_in_order_of_time(text: str) -> None:
    ends = [row.end_seconds for row in parse(text).writes]
    assert sorted(set(ends)) == ends
    assert all(row.seconds > 0 and row.bytes_per_second >= 0 for row in parse(text).writes)
