"""/proc/stat."""

from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import files, proc_stat
from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuStat, CpuTimes
from exporter.runtime.errors import ParseError, ReadError, SourceError
from tests.io.machine import cpu_line
from tests.linux.texts import cut, texts

TEXT = """\
cpu  1000 20 300 40000 500 60 70 80 9 1
cpu0 600 20 200 20000 300 30 60 40 5 0
cpu1 400 0 100 20000 200 30 10 40 4 1
intr 5000 1 2 3
ctxt 12345
btime 1700000000
softirq 99 1 2
"""


def times(*ticks: int) -> CpuTimes:
    return CpuTimes(*[tick / TICKS_PER_SECOND for tick in ticks])


CPU0 = (600, 20, 200, 20000, 300, 30, 60, 40)
CPU1 = (400, 0, 100, 20000, 200, 30, 10, 40)
TOTAL = (1000, 20, 300, 40000, 500, 60, 70, 80)


def test_each_cpu_and_the_total() -> None:
    """Guest time is already part of user and nice, and is not counted twice."""
    parsed = proc_stat.parse(TEXT)
    assert (CpuStat(TOTAL, {0: CPU0, 1: CPU1}), ()) == (parsed.value, parsed.faults)


def test_ticks_are_converted_to_seconds() -> None:
    stat = proc_stat.parse(TEXT).value
    assert (times(*TOTAL), {0: times(*CPU0), 1: times(*CPU1)}) == (stat.total, stat.cpus)


def test_missing_steal_is_zero() -> None:
    parsed = proc_stat.parse("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n")
    assert times(1, 2, 3, 4, 5, 6, 7, 0) == parsed.value.total


def test_additional_columns_are_ignored() -> None:
    parsed = proc_stat.parse("cpu  1 2 3 4 5 6 7 8 9 10 11 twelve\n")
    assert (times(1, 2, 3, 4, 5, 6, 7, 8), ()) == (parsed.value.total, parsed.faults)


def test_offline_cpus_leave_gaps() -> None:
    parsed = proc_stat.parse(TEXT.replace("cpu1 ", "cpu7 "))
    assert {0: CPU0, 7: CPU1} == parsed.value.ticks


@pytest.mark.parametrize("broken", ["-300", "x", "3.5", "18446744073709551616", "9" * 5000])
def test_malformed_line_affects_only_its_cpu(broken: str) -> None:
    parsed = proc_stat.parse(TEXT.replace(" 300 30 ", f" {broken} 30 "))
    assert CpuStat(TOTAL, {1: CPU1}) == parsed.value
    (fault,) = parsed.faults
    assert str(fault).startswith("stat:2: ")
    assert len(str(fault)) < 500


@pytest.mark.parametrize("text", ["", "\n", "garbage\n", "cpu\n", "cpux 1 2 3 4 5 6 7\n", "\0"])
def test_text_without_cpu_line_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^stat"):
        proc_stat.parse(text)


def test_truncated_file_yields_no_wrong_number() -> None:
    whole = proc_stat.parse(TEXT).value
    for text in cut(TEXT):
        try:
            parsed = proc_stat.parse(text)
        except ParseError:
            continue
        assert parsed.value.total in (None, whole.total)
        assert parsed.value.cpus.items() <= whole.cpus.items()
        assert parsed.faults or text.endswith("\n")


@given(st.dictionaries(st.integers(0, 4095), st.tuples(*[st.integers(0, 1 << 48)] * 8)))
def test_round_trip(cpus: dict[int, tuple[int, ...]]) -> None:
    text = "".join(cpu_line(f"cpu{number}", times(*ticks)) for number, ticks in cpus.items())
    parsed = proc_stat.parse(cpu_line("cpu", times(*TOTAL)) + text + "intr 1\n")
    assert (CpuStat(TOTAL, cpus), ()) == (parsed.value, parsed.faults)


@given(texts("cpu", "cpu0", "cpu1", "cpu 1 2 3 4 5 6 7 8", "intr 5"))
def test_any_text_yields_records_or_source_error(text: str) -> None:
    try:
        parsed = proc_stat.parse(text)
    except SourceError:
        return
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert all(min(its) >= 0 for its in parsed.value.cpus.values())


def test_missing_file_is_a_read_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"check --path\.procfs, and ProcSubset="):
        files.decode_required(files.read_raw(tmp_path / "stat"))


def test_psutil_agrees_on_this_machine() -> None:
    before = proc_stat.parse(files.read("/proc/stat"))
    theirs = psutil.cpu_times(percpu=True)
    after = proc_stat.parse(files.read("/proc/stat"))
    assert before.faults == after.faults == ()
    assert len(theirs) == len(before.value.cpus)
    tick = 1.5 / TICKS_PER_SECOND
    for number, its in enumerate(theirs):
        begin, end = before.value.cpus[number], after.value.cpus[number]
        for field in ("user", "nice", "system", "irq", "softirq", "steal"):
            assert getattr(begin, field) - tick <= getattr(its, field), field
            assert getattr(its, field) <= getattr(end, field) + tick, field
        # The kernel moves an idle period between iowait and idle until it has ended.
        idle = its.idle + its.iowait
        assert begin.idle + begin.iowait - tick <= idle <= end.idle + end.iowait + tick
