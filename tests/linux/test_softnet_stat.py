"""/proc/net/softnet_stat."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import NotAvailable, ParseError, SourceError
from exporter.linux import softnet_stat
from exporter.linux.softnet_stat import SoftnetCounters
from tests.linux.texts import cut, texts

_REST = " 00000000" * 12

TEXT = f"""\
003fbea0 0000009c 00000001{_REST}
002d0aa5 00000010 000000ff{_REST}
"""


def test_cpus_are_summed_and_hexadecimal() -> None:
    parsed = softnet_stat.parse(TEXT)
    assert (SoftnetCounters(dropped=0xAC, times_squeezed=0x100), ()) == (
        parsed.value,
        parsed.faults,
    )


def test_old_kernels_print_fewer_columns() -> None:
    """Nine before 2.6.35; the first three are the same."""
    assert (
        SoftnetCounters(2, 3)
        == softnet_stat.parse("00000001 00000002 00000003 0 0 0 0 0 0\n").value
    )


@pytest.mark.parametrize("line", ["00000001 00000002", "1 xyz 3", "1 -2 3", "1 2 g", "\0", ""])
def test_a_broken_line_costs_its_own_cpu(line: str) -> None:
    parsed = softnet_stat.parse(f"{line}\n{TEXT}")
    assert SoftnetCounters(0xAC, 0x100) == parsed.value
    (fault,) = parsed.faults
    assert str(fault).startswith("softnet_stat:1: ")


@pytest.mark.parametrize("text", ["", "\n", "garbage\n", "1 2\n", "\0\0"])
def test_without_a_line_nothing_is_understood(text: str) -> None:
    with pytest.raises(ParseError, match=r"^softnet_stat"):
        softnet_stat.parse(text)


def test_a_file_cut_off_anywhere_yields_no_wrong_number() -> None:
    """What is whole is summed; what is not is a fault."""
    for text in cut(TEXT):
        try:
            parsed = softnet_stat.parse(text)
        except ParseError:
            continue
        assert SoftnetCounters(0x9C, 1) == parsed.value
        assert parsed.faults or text.endswith("\n")


@given(st.lists(st.tuples(*[st.integers(0, (1 << 32) - 1)] * 3), min_size=1))
def test_what_a_kernel_prints_is_what_is_read(cpus: list[tuple[int, int, int]]) -> None:
    text = "".join(" ".join(f"{number:08x}" for number in cpu) + f"{_REST}\n" for cpu in cpus)
    parsed = softnet_stat.parse(text)
    expected = SoftnetCounters(sum(cpu[1] for cpu in cpus), sum(cpu[2] for cpu in cpus))
    assert (expected, ()) == (parsed.value, parsed.faults)


@given(texts("00000001", "00000001 00000002 00000003", "deadbeef"))
def test_any_text_gives_a_record_or_a_source_error(text: str) -> None:
    try:
        parsed = softnet_stat.parse(text)
    except SourceError:
        return
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert min(parsed.value.dropped, parsed.value.times_squeezed) >= 0


def test_without_the_file_there_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        softnet_stat.read(tmp_path)


def test_this_machine_is_understood() -> None:
    assert softnet_stat.read(Path("/proc")).faults == ()
