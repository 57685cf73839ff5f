"""/proc/diskstats."""

from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import diskstats
from exporter.linux.diskstats import DiskStats
from exporter.runtime.errors import ParseError, ReadError
from tests.duration import wait_until
from tests.io.machine import disk_line
from tests.io.records import ANY_DISK
from tests.linux.texts import cut, texts

#: Lines of kernels before 4.18, before 5.5, and since 5.5.
K3_10 = "   8       0 sda 5000 120 80016 2500 9000 300 144000 18000 2 9500 20500\n"
K4_18 = K3_10[:-1] + " 7 1 4096 12\n"
K5_5 = K4_18[:-1] + " 33 66\n"

BASIC = DiskStats(
    device="sda",
    number="8:0",
    reads_completed=5000,
    reads_merged=120,
    read_sectors=80016,
    read_milliseconds=2500,
    writes_completed=9000,
    writes_merged=300,
    written_sectors=144000,
    write_milliseconds=18000,
    io_now=2,
    io_milliseconds=9500,
    io_weighted_milliseconds=20500,
)
WITH_DISCARDS = BASIC._replace(
    discards_completed=7,
    discards_merged=1,
    discarded_sectors=4096,
    discard_milliseconds=12,
)
WITH_FLUSHES = WITH_DISCARDS._replace(flush_requests=33, flush_milliseconds=66)


def test_properties_convert_to_base_units() -> None:
    assert (40968192, 73728000, 2097152) == (
        WITH_FLUSHES.read_bytes,
        WITH_FLUSHES.written_bytes,
        WITH_FLUSHES.discarded_bytes,
    )
    assert (2.5, 18.0, 9.5, 20.5, 0.012, 0.066) == (
        WITH_FLUSHES.read_time_seconds,
        WITH_FLUSHES.write_time_seconds,
        WITH_FLUSHES.io_time_seconds,
        WITH_FLUSHES.io_time_weighted_seconds,
        WITH_FLUSHES.discard_time_seconds,
        WITH_FLUSHES.flush_requests_time_seconds,
    )
    assert (None, None, None) == (
        BASIC.discarded_bytes,
        BASIC.discard_time_seconds,
        BASIC.flush_requests_time_seconds,
    )


def disks(text: str) -> list[DiskStats]:
    parsed = diskstats.parse(text, {})
    assert parsed.faults == ()
    return list(parsed.value.values())


@pytest.mark.parametrize(
    ("line", "expected"), [(K3_10, BASIC), (K4_18, WITH_DISCARDS), (K5_5, WITH_FLUSHES)]
)
def test_formats_of_all_kernels(line: str, expected: DiskStats) -> None:
    """Values that the kernel does not count are None and not 0."""
    assert [expected] == disks(line)


def test_additional_columns_are_ignored() -> None:
    assert [WITH_FLUSHES] == disks(K5_5[:-1] + " 1 2 3 four\n")


@pytest.mark.parametrize("columns", [1, 3, 4, 7, 13, 15, 16, 17, 19])
def test_invalid_number_of_columns_is_a_fault(columns: int) -> None:
    """Also the 7 columns that kernel 2.6 prints for partitions, which lack the times."""
    line = " ".join(K5_5.split()[:columns])
    parsed = diskstats.parse(f"{line}\n{K3_10}", {})
    assert [BASIC] == list(parsed.value.values())
    (fault,) = parsed.faults
    assert str(fault).startswith(f"diskstats:1: {columns} columns instead of 14, 18, or")


def test_empty_text_has_no_records() -> None:
    assert [] == disks("")


@pytest.mark.parametrize("broken", ["-1", "x", "1.5", "18446744073709551616", "9" * 5000, "\0"])
def test_malformed_number_affects_only_its_device(broken: str) -> None:
    """The fault has the line number and the beginning of the line."""
    other = K5_5.replace("sda", "sdb")
    parsed = diskstats.parse(K5_5 + other.replace("9000", broken) + K5_5.replace("sda", "sdc"), {})
    assert ["sda", "sdc"] == [disk.device for disk in parsed.value.values()]
    (fault,) = parsed.faults
    assert str(fault).startswith("diskstats:2: ")
    assert "sdb" in str(fault)
    assert len(str(fault)) < 500


@pytest.mark.parametrize("name", ["sda", "dm-0"])
@pytest.mark.parametrize("space", [" ", "\t", "\v"])
def test_negative_number_is_a_fault(name: str, space: str) -> None:
    good = diskstats.parse(K5_5.replace("sda", name), {})
    bad = diskstats.parse(K5_5.replace("sda", name).replace(" 9000", f"{space}-9"), {})
    assert (1, 0) == (len(good.value), len(good.faults))
    assert (0, 1) == (len(bad.value), len(bad.faults))


def test_truncated_file_yields_no_wrong_number() -> None:
    """An unterminated line may lack digits as well as columns."""
    whole = K5_5 + K3_10.replace("sda", "sdb")
    expected = disks(whole)
    for text in cut(whole):
        parsed = diskstats.parse(text, {})
        complete = text.count("\n")
        assert expected[:complete] == list(parsed.value.values())
        assert (not text.endswith("\n") and text != "") == bool(parsed.faults)


def test_negative_in_flight_counts_as_zero() -> None:
    """If a driver miscounts, the kernel prints -1 as a huge unsigned number."""
    for huge in ("4294967295", "18446744073709551615"):
        (disk,) = disks(K5_5.replace(" 2 9500", f" {huge} 9500"))
        assert WITH_FLUSHES._replace(io_now=0) == disk


def test_time_just_below_the_wrap() -> None:
    (disk,) = disks(K5_5.replace(" 2500 ", " 4294967295 "))
    assert 4294967.295 == disk.read_time_seconds


def test_unchanged_line_keeps_its_record() -> None:
    """The sampler compares objects to skip devices without I/O."""
    other = K5_5.replace("sda", "sdb")
    first = diskstats.parse(K5_5 + other, {}).value
    again = diskstats.parse(K5_5.replace(" 2 9500", " 3 9500") + other, first).value
    changed, same = again.values()
    assert first[other[:-1]] is same
    assert 3 == changed.io_now
    assert 2 == len(again), "old lines must not be kept"


def of_kernel(columns: int, disk: DiskStats) -> DiskStats:
    """Returns the record with only the values that fit in this number of columns."""
    known = columns - 1
    return DiskStats(*[value or 0 for value in disk[:known]])  # type: ignore[arg-type]


@given(st.lists(st.builds(of_kernel, st.sampled_from([14, 18, 20]), ANY_DISK)))
def test_round_trip(expected: list[DiskStats]) -> None:
    lines = dict.fromkeys(map(disk_line, expected))
    assert list(dict.fromkeys(expected)) == disks("".join(lines))


@given(texts("sda", K3_10, K4_18, K5_5, "   8       0 sda"))
def test_any_text_yields_records_and_faults(text: str) -> None:
    parsed = diskstats.parse(text, {})
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    for disk in parsed.value.values():
        assert all(value is None or value >= 0 for value in disk[2:])
    assert len(parsed.value) + len(parsed.faults) <= text.count("\n") + 1


_LINES = (
    "sda",
    "259",
    K3_10,
    K4_18,
    K5_5,
    K5_5.replace("sda", "sda1"),
    "8       0 259",
    " 1",
    "-1",
)


@given(texts(*_LINES), texts(*_LINES))
def test_the_previous_reading_does_not_change_the_records(before: str, text: str) -> None:
    """It only saves work."""
    known = diskstats.parse(before, {}).value
    expected, parsed = diskstats.parse(text, {}), diskstats.parse(text, known)
    assert list(expected.value.items()) == list(parsed.value.items())
    assert list(map(str, expected.faults)) == list(map(str, parsed.faults))


@given(
    st.lists(st.builds(of_kernel, st.sampled_from([14, 18, 20]), ANY_DISK), max_size=3), st.data()
)
def test_the_next_reading_of_the_same_devices(disks: list[DiskStats], data: st.DataObject) -> None:
    """Counters grow, start again, or are malformed. A device may be named like its number."""
    lines, later = [], []
    for number, disk in enumerate(disks):
        name = data.draw(st.sampled_from([f"sd{number}", f"8{number}", f"dm-{number}", "8"]))
        line = disk_line(disk._replace(device=name))
        lines.append(line)
        old, new = data.draw(
            st.sampled_from([("0 ", "1 "), (" 1", " -1"), ("1", "x"), (name, f"{name}1"), ("", "")])
        )
        later.append(line.replace(old, new))
    known = diskstats.parse("".join(lines), {}).value
    expected, parsed = diskstats.parse("".join(later), {}), diskstats.parse("".join(later), known)
    assert list(expected.value.items()) == list(parsed.value.items())
    assert list(map(str, expected.faults)) == list(map(str, parsed.faults))


def test_missing_file_is_a_read_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"check --path\.procfs, and ProcSubset="):
        diskstats.read(tmp_path)


def test_this_machine() -> None:
    def names() -> list[str]:
        return [line.split()[2] for line in Path("/proc/diskstats").read_text().splitlines()]

    def is_complete() -> bool:
        before, parsed, after = names(), diskstats.read(Path("/proc")), names()
        assert parsed.faults == ()
        return before == [disk.device for disk in parsed.value.values()] == after

    wait_until(is_complete)  # while no other test creates a device


def _of_this_machine() -> dict[str, DiskStats]:
    return diskstats.records_by_device(diskstats.read(Path("/proc")).value.values())


def test_psutil_agrees_on_this_machine() -> None:
    """psutil's counters are between those of a reading before and a reading after."""
    before = {disk.device: disk for disk in diskstats.read(Path("/proc")).value.values()}
    theirs = psutil.disk_io_counters(perdisk=True, nowrap=False)
    after = {disk.device: disk for disk in diskstats.read(Path("/proc")).value.values()}
    common = before.keys() & theirs.keys() & after.keys()
    assert common
    for name in common:
        io = theirs[name]
        for ours, counted in (
            ("reads_completed", io.read_count),
            ("writes_completed", io.write_count),
            ("reads_merged", io.read_merged_count),
            ("writes_merged", io.write_merged_count),
            ("read_bytes", io.read_bytes),
            ("written_bytes", io.write_bytes),
            ("read_time_seconds", io.read_time / 1000),
            ("write_time_seconds", io.write_time / 1000),
            ("io_time_seconds", io.busy_time / 1000),
        ):
            assert getattr(before[name], ours) <= counted <= getattr(after[name], ours), ours


def test_multipath_head_gets_the_sum_of_its_paths() -> None:
    """Before Linux 6.4 only the hidden paths of NVMe multipath count."""
    zeros: dict[str, Any] = dict.fromkeys(DiskStats._fields[2:], 0)
    head = WITH_FLUSHES._replace(device="nvme0n1", **zeros)
    paths = [WITH_FLUSHES._replace(device=f"nvme0c{number}n1") for number in (0, 1)]
    other = WITH_FLUSHES._replace(device="nvme0c0n2")
    found = diskstats.records_by_device([head, *paths, other])
    counted = WITH_FLUSHES._asdict()
    doubled = {name: 2 * counted[name] for name in DiskStats._fields[2:]}
    assert head._replace(**doubled) == found["nvme0n1"]
    assert {"nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme0c0n2"} == found.keys()


def test_multipath_head_with_own_counters_is_unchanged() -> None:
    head = WITH_FLUSHES._replace(device="nvme0n1")
    path = WITH_FLUSHES._replace(device="nvme0c0n1", reads_completed=7)
    assert head is diskstats.records_by_device([head, path])["nvme0n1"]


def test_sum_of_paths_without_discard_counters() -> None:
    head = BASIC._replace(device="nvme0n1", reads_completed=0, writes_completed=0)
    path = BASIC._replace(device="nvme0c0n1")
    assert path._replace(device="nvme0n1") == diskstats.records_by_device([head, path])["nvme0n1"]
