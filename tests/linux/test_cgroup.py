"""io.stat of cgroup v2, and the root of the hierarchy."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import cgroup
from exporter.linux.cgroup import CgroupIo
from exporter.runtime.errors import NotAvailable, ParseError
from tests.linux.texts import cut, texts

TEXT = """\
259:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021
8:16 rbytes=0 wbytes=4096 rios=0 wios=1 dbytes=0 dios=0
"""

STAT = {"259:0": CgroupIo(90430464, 299008000, 8950, 1252), "8:16": CgroupIo(0, 4096, 0, 1)}


def test_bytes_by_device_number() -> None:
    parsed = cgroup.parse_io_stat(TEXT)
    assert (STAT, ()) == (parsed.value, parsed.faults)


def test_empty_file_has_no_counters() -> None:
    parsed = cgroup.parse_io_stat("")
    assert ({}, ()) == (parsed.value, parsed.faults)


def test_device_without_counters_is_skipped() -> None:
    parsed = cgroup.parse_io_stat(f"8:32\n8:48 \n{TEXT}")
    assert (STAT, ()) == (parsed.value, parsed.faults)


def test_unknown_keys_are_ignored() -> None:
    """For example those of io.cost and io.latency, in any order."""
    line = "8:16 cost.usage=5 wbytes=4096 use_delay=0 rbytes=0 depth=max\n"
    assert {"8:16": CgroupIo(0, 4096)} == cgroup.parse_io_stat(line).value


@pytest.mark.parametrize(
    "line",
    [
        "8:0 rbytes=1",
        "8:0 rbytes=1 wbytes=x",
        "8:0 rbytes=-1 wbytes=1",
        "8:0 rbytes=1 wbytes",
        "8:0 rbytes=1 wbytes=1 rios=x wios=1",
        "8 rbytes=1 wbytes=1",
        "8:0:1 rbytes=1 wbytes=1",
        "a:b rbytes=1 wbytes=1",
        "garbage",
        "\0",
    ],
)
def test_malformed_line_affects_only_its_device(line: str) -> None:
    parsed = cgroup.parse_io_stat(f"{line}\n{TEXT}")
    assert STAT == parsed.value
    (fault,) = parsed.faults
    assert str(fault).startswith("io.stat:1: ")


def test_truncated_file_yields_no_wrong_number() -> None:
    for text in cut(TEXT):
        parsed = cgroup.parse_io_stat(text)
        assert parsed.value.items() <= STAT.items()
        assert parsed.faults or text.endswith("\n") or not text


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4095), st.integers(0, 1 << 20)),
        st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1)),
    )
)
def test_round_trip(
    devices: dict[tuple[int, int], tuple[int, int]],
) -> None:
    text = "".join(
        f"{major}:{minor} rbytes={read} wbytes={written} rios=1 wios=1 dbytes=0 dios=0\n"
        for (major, minor), (read, written) in devices.items()
    )
    expected = {f"{a}:{b}": CgroupIo(*counted, 1, 1) for (a, b), counted in devices.items()}
    parsed = cgroup.parse_io_stat(text)
    assert (expected, ()) == (parsed.value, parsed.faults)


@given(texts("8:0", "259:0", "rbytes=", "wbytes=", "rbytes=1 wbytes=2", TEXT))
def test_any_text_yields_records_and_faults(text: str) -> None:
    parsed = cgroup.parse_io_stat(text)
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert all(min(io.read_bytes, io.written_bytes) >= 0 for io in parsed.value.values())


def test_group_without_io_controller_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        cgroup.read_io_stat(tmp_path)


def test_root_on_hybrid_hosts(tmp_path: Path) -> None:
    root = tmp_path / "fs" / "cgroup"
    root.mkdir(parents=True)
    assert root == cgroup.unified_root(tmp_path)
    (root / "unified").mkdir()
    assert root / "unified" == cgroup.unified_root(tmp_path)
