"""What is read from the files of the kernel's histograms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.latency.trace_histogram import (
    device_number,
    kernel_number,
    operation,
    parse,
)
from exporter.runtime.errors import ParseError
from tests.latency.tracefs import ISSUED_KEYS, issued_row, row, table

#: Linux 6.1.0-56-amd64, null_blk with 1 ms: two triggers of one event, and the count of the issued
#: requests beside the map of requeued ones.
REAL = """\
# event histogram
#
# trigger info: hist:keys=dev,op,lat.buckets=4096:vals=hitcount:sort=hitcount:size=2048 if lat >= 32768 && lat < 524288 [active]
#


Totals:
    Hits: 0
    Entries: 0
    Dropped: 0


# event histogram
#
# trigger info: hist:keys=dev,op,lat.buckets=65536:vals=hitcount:sort=hitcount:size=2048 if lat >= 524288 [active]
#

{ dev:  264241152, op: WS                                                , lat: ~ 3014656-3080191 } hitcount:          1
{ dev:  264241152, op: RS                                                , lat: ~ 1048576-1114111 } hitcount:          3
{ dev:  264241152, op: RS                                                , lat: ~ 1114112-1179647 } hitcount:         46

Totals:
    Hits: 50
    Entries: 3
    Dropped: 2

"""  # noqa: E501
REAL_ISSUED = """\
# event histogram
#
# trigger info: hist:keys=dev,sector,nr_sector:vals=hitcount:failed=common_timestamp-$t0:sort=hitcount:size=2048:clock=mono:onmatch(block.block_rq_issue).ssd_exporter_requeue($failed,dev,rwbs) if nr_sector > 0 [active]
#

{ dev:    8388624, sector:         16, nr_sector:          8 } hitcount:          1

Totals:
    Hits: 1
    Entries: 1
    Dropped: 9


# event histogram
#
# trigger info: hist:name=ssd_exporter_issued:keys=dev:vals=hitcount:sort=hitcount:size=2048 if nr_sector == 4294967295 [active]
#

{ dev:  264241153 } hitcount:         50
{ dev:  264241152 } hitcount:         51

Totals:
    Hits: 101
    Entries: 2
    Dropped: 0

"""  # noqa: E501


def test_the_tables_of_several_triggers_are_added() -> None:
    read = parse(REAL)
    assert () == read.faults
    assert {("252:0", "WS"): 1, ("252:0", "RS"): 49} == read.value.counts
    assert (50, 2) == (read.value.hits, read.value.dropped)
    reads = read.value.histograms["252:0", "RS"]
    assert [(3, 1_048_576), (46, 1_114_112)] == [
        (bucket.count, round(bucket.low_seconds * 1e9)) for bucket in reads.buckets
    ]
    # The kernel prints the highest value of a bucket. The next bucket begins after it.
    assert reads.buckets[0].high_seconds == reads.buckets[1].low_seconds


def test_the_map_of_requests_in_the_same_file_is_not_used() -> None:
    read = parse(REAL_ISSUED)
    assert () == read.faults
    assert {("252:1", ""): 50, ("252:0", ""): 51} == read.value.counts
    assert {} == read.value.histograms
    assert 0 == read.value.dropped


@pytest.mark.parametrize("cut", range(1, 30, 7))
def test_a_file_that_is_cut_off_is_an_error(cut: int) -> None:
    with pytest.raises(ParseError):
        parse(REAL[: -len("    Dropped: 2\n\n") - cut])


def test_a_line_with_another_format_is_a_fault() -> None:
    read = parse(table(["{ dev: 1, op: R, lat: ~ 2^20 } hitcount: 5", row(1, "R", 0, 9, 1)]))
    assert {("0:1", "R"): 1} == read.value.counts
    assert ["hist:6: '{ dev: 1, op: R, lat: ~ 2^20 } hitcount: 5'"] == [*map(str, read.faults)]


@given(st.text())
def test_any_text_gives_counts_or_a_parse_error(text: str) -> None:
    for whole in (text, table(text.split("\n"))):
        try:
            read = parse(whole)
        except ParseError:
            continue
        assert all(count >= 0 for count in read.value.counts.values())


_ROWS = st.lists(
    st.tuples(
        st.integers(0, 2**32 - 1),
        st.text("RWDFNSAMEP", max_size=8),
        st.integers(0, 2**40),
        st.integers(1, 10**9),
    ),
    max_size=20,
)


@given(_ROWS)
def test_every_row_that_the_kernel_prints_is_counted(rows: list[tuple[int, str, int, int]]) -> None:
    read = parse(table([row(dev, flags, low, low + 10, n) for dev, flags, low, n in rows]))
    assert () == read.faults
    assert sum(n for *_, n in rows) == sum(h.count for h in read.value.histograms.values())
    counted = parse(table([issued_row(dev, n) for dev, _, _, n in rows], ISSUED_KEYS))
    assert sum(n for *_, n in rows) == sum(counted.value.counts.values())


@given(st.integers(0, 2**32 - 1))
def test_a_device_number_is_converted_in_both_directions(dev: int) -> None:
    assert dev == kernel_number(device_number(dev))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        # Linux 6.1: a flush, its own completion, and one by a driver.
        *(("FF", "flush"), ("F", "flush")),
        *(("R", "read"), ("RA", "read"), ("RSM", "read")),
        *(("W", "write"), ("WM", "write"), ("WS", "sync_write"), ("WFS", "sync_write")),
        *(("FWS", "sync_write"), ("FWFS", "sync_write"), ("FW", "write")),
        *(("D", "discard"), ("DS", "discard"), ("DE", "discard")),
        *(("N", "other"), ("NS", "other"), ("", "other")),
    ],
)
def test_the_operation_is_that_of_the_flags(flags: str, expected: str) -> None:
    assert expected == operation(flags)
