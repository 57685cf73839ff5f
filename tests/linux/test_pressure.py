"""/proc/pressure/* and a control group's *.pressure."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import pressure
from exporter.linux.pressure import Pressure
from exporter.runtime.errors import NotAvailable, ParseError, SourceError
from tests.linux.texts import cut, texts

SOME = "some avg10=0.06 avg60=0.21 avg300=0.99 total=8537362\n"
FULL = "full avg10=0.00 avg60=0.13 avg300=0.96 total=8183134\n"


def test_totals_are_converted_to_seconds() -> None:
    assert Pressure(8.537362, 8.183134) == pressure.parse(SOME + FULL)


def test_missing_line_is_unknown() -> None:
    """cpu had no "full" before 5.13, and irq has no "some"."""
    assert Pressure(8.537362, None) == pressure.parse(SOME)
    assert Pressure(None, 8.183134) == pressure.parse(FULL)


def test_unknown_keys_are_ignored() -> None:
    later = SOME.replace("avg300", "avg900=0.00 avg300").replace("\n", " max=77\n")
    assert Pressure(8.537362, None) == pressure.parse(later)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "garbage\n",
        "some\n",
        "some avg10=0.00\n",
        "some total=\n",
        "some total=-1\n",
        "some total=1.5\n",
        f"some total={1 << 64}\n",
        f"some total={'9' * 5000}\n",
        "other total=5\n",
        SOME + "full avg10=0.00\n",
        "\0\0\0\0",
    ],
)
def test_malformed_text_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^pressure") as raised:
        pressure.parse(text)
    assert len(str(raised.value)) < 300


def test_truncated_file_is_a_parse_error() -> None:
    """The total is at the end of a line, so a truncated one would lack digits."""
    for text in cut(SOME + FULL):
        if text == SOME:
            continue
        with pytest.raises(ParseError):
            pressure.parse(text)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_round_trip(some: int, full: int) -> None:
    text = SOME.replace("8537362", str(some)) + FULL.replace("8183134", str(full))
    assert Pressure(some / 1_000_000, full / 1_000_000) == pressure.parse(text)


@given(texts("some", "full", "total=", "total=5", "avg10=0.00", SOME, FULL))
def test_any_text_yields_a_record_or_source_error(text: str) -> None:
    try:
        found = pressure.parse(text)
    except SourceError:
        return
    known = [seconds for seconds in (found.waiting_seconds, found.stalled_seconds) if seconds]
    assert all(seconds > 0 for seconds in known)


def test_kernel_without_psi_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        pressure.read(tmp_path / "pressure" / "io")


def test_this_machine() -> None:
    found = pressure.read(Path("/proc/pressure/io"))
    assert found.waiting_seconds is not None
    assert found.stalled_seconds is not None
    assert 0 <= found.stalled_seconds <= found.waiting_seconds
