"""The folders of recorded hosts: their trees, and the growth of their counters."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hosts import growth, tree
from tests.hosts.host import FOLDERS, folders, shown

DISKSTATS = (
    "   8       0 sda 9 0 72 4294967290 5 1 40 7 3 4294967295 11 0 0 0 0 2 1\n"
    "   8      16 sdb 1 0 8 1 1 0 8 1 0 2 2\n"
)
TREE = """\
# The one disk.
devices/virtual/block/md0/
  size = 8
  md/level := 72616964310a
  stat |
    | 1 2
    |   3
  slaves/

block/md0 -> ../devices/virtual/block/md0
"""


def test_every_folder_is_a_tested_host() -> None:
    found = {f.name for f in FOLDERS.iterdir() if f.is_dir() and not f.name.startswith("_")}
    assert found == {f.name for f in folders()}


def test_tree_has_directories_files_and_links() -> None:
    place = "devices/virtual/block/md0"
    expected = [
        tree.Directory(place),
        tree.File(f"{place}/size", b"8\n"),
        tree.File(f"{place}/md/level", b"raid1\n"),
        tree.File(f"{place}/stat", b"1 2\n  3\n"),
        tree.Directory(f"{place}/slaves"),
        tree.Link("block/md0", "../devices/virtual/block/md0"),
    ]
    assert expected == list(tree.parse(TREE))


def test_later_tree_replaces_files(tmp_path: Path) -> None:
    tree.create_tree(tmp_path, TREE)
    tree.create_tree(tmp_path, "block/md0 -> ../devices/virtual/block/md0\nblock/md0/size = 16\n")
    assert "16\n" == (tmp_path / "devices/virtual/block/md0/size").read_text()


@given(st.text())
def test_any_text_is_a_tree_or_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        list(tree.parse(text))


def test_times_wrap_at_32_bits_and_in_flight_is_set() -> None:
    gains = {"reads": 1, "read_ms": 10, "io_ms": 5, "in_flight": 0, "flushes": 4}
    sda, sdb = growth.diskstats(DISKSTATS, {"sda": gains}).splitlines()
    assert "   8       0 sda 10 0 72 4 5 1 40 7 0 4 11 0 0 0 0 6 1" == sda
    assert DISKSTATS.splitlines()[1] == sdb


def test_unknown_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="flushes"):
        growth.diskstats(DISKSTATS, {"sdb": {"flushes": 1}})


def test_total_line_increases_by_the_sum() -> None:
    text = "cpu  3 0 3 3 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\ncpu2 2 0 2 2 0 0 0 0 0 0\nbtime 9\n"
    grown = growth.stat(text, {"cpu0": {"user": 5}, "cpu2": {"user": 1, "softirq": 7}})
    expected = (
        "cpu  9 0 3 3 0 0 7 0 0 0\ncpu0 6 0 1 1 0 0 0 0 0 0\ncpu2 3 0 2 2 0 0 7 0 0 0\nbtime 9\n"
    )
    assert expected == grown


def test_pressure_increases_in_microseconds() -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0.00 total=5\n"
    expected = "some avg10=0.00 avg60=0.00 avg300=0.00 total=18\nfull avg10=0.00 total=5\n"
    assert expected == growth.pressure(text, {"some": 10})


def test_softirqs_increase_per_cpu() -> None:
    head = f"{'CPU0':>19}{'CPU1':>11}\n  NET_RX: {1:>10} {2:>10}\n"
    grown = growth.softirqs(f"{head}   BLOCK: {3:>10} {4:>10}\n", {"BLOCK": {"CPU0": 10}})
    assert f"{head}   BLOCK: {13:>10} {4:>10}\n" == grown


def test_shown_lines_have_selected_devices_or_none() -> None:
    page = '# HELP a b\na{device="sda"} 1\na{device="sdb"} 2\na{x="1",device="sdb"} 2\nb 3\n'
    assert '# HELP a b\na{device="sda"} 1\nb 3\n' == shown(page, ("sda",))
    assert page == shown(page, ())
