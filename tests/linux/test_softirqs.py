"""/proc/softirqs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import softirqs
from exporter.runtime.errors import NotAvailable, ParseError, SourceError
from tests.linux.texts import cut, texts

TEXT = """\
                    CPU0       CPU2
          HI:          1          0
       TIMER:     400000     500000
      NET_RX:         70          8
       BLOCK:       9000         10
"""

COUNTS = {
    "HI": {0: 1, 2: 0},
    "TIMER": {0: 400000, 2: 500000},
    "NET_RX": {0: 70, 2: 8},
    "BLOCK": {0: 9000, 2: 10},
}


def test_header_has_the_numbers_of_the_cpus() -> None:
    """The numbers may have gaps."""
    parsed = softirqs.parse(TEXT)
    assert (COUNTS, ()) == (parsed.value, parsed.faults)


def test_unknown_vector_is_read() -> None:
    assert {0: 3, 2: 4} == softirqs.parse(TEXT + "  BUDGET:  3  4\n").value["BUDGET"]


@pytest.mark.parametrize(
    "line", ["BLOCK: 1", "BLOCK: 1 2 3", "BLOCK: 1 -2", "BLOCK: 1 x", "BLOCK:", "BLOCK 1 2", "\0"]
)
def test_malformed_line_affects_only_its_vector(line: str) -> None:
    lines = TEXT.splitlines()
    parsed = softirqs.parse("\n".join([*lines[:-1], line, "  SCHED: 5 6"]) + "\n")
    assert ["HI", "TIMER", "NET_RX", "SCHED"] == list(parsed.value)
    (fault,) = parsed.faults
    assert str(fault).startswith("softirqs:5: ")


@pytest.mark.parametrize("text", ["", "\n", "HI: 1 2\n", "CPU0 CPU-1\n", "CPU\n", "cpu0\n", "x"])
def test_text_without_header_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^softirqs:1: "):
        softirqs.parse(text)


def test_truncated_file_yields_no_wrong_number() -> None:
    for text in cut(TEXT):
        try:
            parsed = softirqs.parse(text)
        except ParseError:
            continue
        assert parsed.value.items() <= COUNTS.items()
        assert parsed.faults or text.endswith("\n")


@given(
    st.lists(st.integers(0, 8191), min_size=1, unique=True).flatmap(
        lambda cpus: st.dictionaries(
            st.from_regex(r"[A-Z_]{1,12}", fullmatch=True),
            st.fixed_dictionaries({cpu: st.integers(0, (1 << 64) - 1) for cpu in cpus}),
            min_size=1,
            max_size=32,
        )
    )
)
def test_round_trip(expected: dict[str, dict[int, int]]) -> None:
    header, *_ = expected.values()
    lines = ["".join(f" CPU{cpu:<8}" for cpu in header)]
    lines += [
        f"{vector:>12}:" + "".join(f" {counts[cpu]:10}" for cpu in header)
        for vector, counts in expected.items()
    ]
    parsed = softirqs.parse("\n".join(lines) + "\n")
    assert (expected, ()) == (parsed.value, parsed.faults)


@given(texts("CPU0", "CPU1", "          CPU0 CPU1\n", "HI:", "BLOCK:"))
def test_any_text_yields_records_or_source_error(text: str) -> None:
    try:
        parsed = softirqs.parse(text)
    except SourceError:
        return
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert all(count >= 0 for counts in parsed.value.values() for count in counts.values())


def test_missing_file_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        softirqs.read(tmp_path)


def test_this_machine() -> None:
    parsed = softirqs.read(Path("/proc"))
    assert parsed.faults == ()
    assert {"TIMER", "BLOCK", "NET_RX"} <= parsed.value.keys()


def test_cpu_number_with_too_many_digits_is_a_parse_error() -> None:
    with pytest.raises(ParseError, match="not the name of a CPU"):
        softirqs.parse(f"CPU{'9' * 5000}\nNET_RX: 1\n")
