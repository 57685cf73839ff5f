"""/proc/net/softnet_stat."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import softnet_stat
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.runtime.errors import NotAvailable, ParseError, SourceError
from tests.linux.texts import cut, texts

_REST = " 00000000" * 12

TEXT = f"""\
003fbea0 0000009c 00000001{_REST}
002d0aa5 00000010 000000ff{_REST}
"""


def test_hexadecimal_columns_are_summed_over_cpus() -> None:
    parsed = softnet_stat.parse(TEXT)
    assert (SoftnetCounters(dropped=0xAC, times_squeezed=0x100), ()) == (
        parsed.value,
        parsed.faults,
    )


def test_fewer_columns_of_old_kernels() -> None:
    """Kernels before 2.6.35 print nine columns; the first three are the same."""
    assert (
        SoftnetCounters(2, 3)
        == softnet_stat.parse("00000001 00000002 00000003 0 0 0 0 0 0\n").value
    )


@pytest.mark.parametrize("line", ["00000001 00000002", "1 xyz 3", "1 -2 3", "1 2 g", "\0", ""])
def test_malformed_line_affects_only_its_cpu(line: str) -> None:
    parsed = softnet_stat.parse(f"{line}\n{TEXT}")
    assert SoftnetCounters(0xAC, 0x100) == parsed.value
    (fault,) = parsed.faults
    assert str(fault).startswith("softnet_stat:1: ")


@pytest.mark.parametrize("text", ["", "\n", "garbage\n", "1 2\n", "\0\0"])
def test_text_without_valid_line_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^softnet_stat"):
        softnet_stat.parse(text)


def test_truncated_file_yields_no_wrong_number() -> None:
    """Complete lines are summed; an incomplete one is a fault."""
    for text in cut(TEXT):
        try:
            parsed = softnet_stat.parse(text)
        except ParseError:
            continue
        assert SoftnetCounters(0x9C, 1) == parsed.value
        assert parsed.faults or text.endswith("\n")


@given(st.lists(st.tuples(*[st.integers(0, (1 << 32) - 1)] * 3), min_size=1))
def test_round_trip(cpus: list[tuple[int, int, int]]) -> None:
    text = "".join(" ".join(f"{number:08x}" for number in cpu) + f"{_REST}\n" for cpu in cpus)
    parsed = softnet_stat.parse(text)
    expected = SoftnetCounters(sum(cpu[1] for cpu in cpus), sum(cpu[2] for cpu in cpus))
    assert (expected, ()) == (parsed.value, parsed.faults)


@given(texts("00000001", "00000001 00000002 00000003", "deadbeef"))
def test_any_text_yields_a_record_or_source_error(text: str) -> None:
    try:
        parsed = softnet_stat.parse(text)
    except SourceError:
        return
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert min(parsed.value.dropped, parsed.value.times_squeezed) >= 0


def test_missing_file_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        softnet_stat.read(tmp_path)


def test_this_machine() -> None:
    assert softnet_stat.read(Path("/proc")).faults == ()
