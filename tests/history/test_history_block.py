"""The format of the history files: values, damage at any place, and files of anybody."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.history import history_block
from exporter.history.history_block import CODES, HOURS, MINUTES
from exporter.history.io_summary import IDLE, IoSummary, Period
from exporter.io.verdict import Verdict

_RATE = st.just(0.0) | st.floats(1.0, 6e10)
_AWAIT = st.just(0.0) | st.floats(1e-6, 60.0)
_VERDICTS = st.dictionaries(
    st.sampled_from(list(CODES)), st.integers(1, 3600).map(float), max_size=3
)
_IO = st.builds(IoSummary, _RATE, _RATE, _AWAIT, _AWAIT, _AWAIT, _AWAIT, _VERDICTS)
_PERIODS = st.lists(
    st.builds(
        Period,
        st.integers(0, (1 << 32) - 1),
        st.integers(1, 3600).map(float),
        st.dictionaries(st.text(max_size=40), st.just(IDLE) | _IO, max_size=12),
    ),
    max_size=5,
)


def packed(periods: Sequence[Period], kind: int = MINUTES) -> bytes:
    table: dict[str, int] = {}
    parts = [
        history_block.encoded_period(each.ordinal, each.seconds, each.drives, table)
        for each in periods
    ]
    ordinals = [each.ordinal for each in periods] or [0]
    plain = history_block.encoded_table(table) + b"".join(parts)
    return history_block.encoded(kind, min(ordinals), max(ordinals), plain)


def unpacked(data: bytes, only: str | None = None) -> list[Period]:
    def read(offset: int, count: int) -> bytes:
        return data[offset : offset + count]

    return [
        period
        for block in history_block.blocks(read, len(data))
        if (plain := history_block.body(read, block)) is not None
        for period in history_block.decoded(plain, only)
    ]


def minute(number: int, drives: int = 2) -> Period:
    names = (f"naa.{number}.{each}" for each in range(drives))
    io = IoSummary(1e6, 2e6, 0.001, 0.002, 0.003, 0.004, {Verdict.DEVICE: 12.0})
    return Period(number, 60.0, dict.fromkeys(names, io))


#: A file with three blocks, and where they begin.
BLOCKS = [packed([minute(number)]) for number in (1, 2, 3)]
FILE = b"".join(BLOCKS)


@given(_PERIODS)
def test_what_is_written_is_read_with_three_digits(periods: list[Period]) -> None:
    found = unpacked(packed(periods))
    assert [(each.ordinal, each.seconds) for each in periods] == [
        (each.ordinal, each.seconds) for each in found
    ]
    for before, after in zip(periods, found, strict=True):
        assert {history_block.stored_name(name) for name in before.drives} == set(after.drives)
        for name, io in before.drives.items():
            read = after.drives[history_block.stored_name(name)]
            assert io.verdicts == read.verdicts or io == IDLE
            for old, new in zip(io[:6], read[:6], strict=True):
                assert new == pytest.approx(old, rel=1e-3, abs=1e-6 if old < 1 else 0.1)


@given(_PERIODS)
def test_one_drive_is_read_as_from_all_of_them(periods: list[Period]) -> None:
    data = packed(periods)
    everything = unpacked(data)
    for name in {name for each in periods for name in each.drives}:
        stored = history_block.stored_name(name)
        expected = [each.drives.get(stored) for each in everything]
        assert expected == [each.drives.get(stored) for each in unpacked(data, name)]


def test_a_drive_that_is_idle_is_not_one_that_is_absent() -> None:
    periods = [Period(1, 60.0, {"a": IDLE}), Period(2, 60.0, {"a": IDLE, "b": IDLE})]
    first, second = unpacked(packed(periods))
    assert {"a": IDLE} == first.drives
    assert {"a": IDLE, "b": IDLE} == second.drives


def test_every_verdict_has_a_number_of_its_own() -> None:
    assert {*Verdict} - {Verdict.NONE} == set(CODES)
    assert len(CODES) == len(set(CODES.values()))


@given(st.binary(max_size=400), st.binary(max_size=400))
@pytest.mark.parametrize("kept", [b"", FILE])
def test_bytes_of_anybody_cost_only_themselves(kept: bytes, before: bytes, after: bytes) -> None:
    found = unpacked(before + kept + after)
    assert [each.ordinal for each in found][:3] == ([1, 2, 3] if kept else [])


@given(st.binary(max_size=300))
def test_a_body_of_anybody_is_read_without_an_error(plain: bytes) -> None:
    assert isinstance(history_block.decoded(plain), list)
    assert isinstance(unpacked(history_block.encoded(HOURS, 0, 0, plain)), list)


def test_a_file_that_is_cut_at_any_byte_keeps_the_blocks_before() -> None:
    ends = [len(BLOCKS[0]), len(BLOCKS[0]) + len(BLOCKS[1]), len(FILE)]
    for length in range(len(FILE) + 1):
        expected = [number for number, end in enumerate(ends, 1) if end <= length]
        assert expected == [each.ordinal for each in unpacked(FILE[:length])]


def test_a_block_that_was_cut_at_any_byte_does_not_hide_the_next_one() -> None:
    """So it is after kill -9 during a write, and a start that appends."""
    for length in range(len(BLOCKS[1])):
        data = BLOCKS[0] + BLOCKS[1][:length] + BLOCKS[2]
        assert [1, 3] == [each.ordinal for each in unpacked(data)]


def test_any_byte_that_changes_costs_one_block() -> None:
    for place in range(len(FILE)):
        damaged = bytearray(FILE)
        damaged[place] ^= 0x55
        found = [each.ordinal for each in unpacked(bytes(damaged))]
        assert 2 == len(found), place
        assert set(found) < {1, 2, 3}


def test_a_body_that_unpacks_to_more_than_the_limit_is_damaged() -> None:
    bomb = history_block.encoded(MINUTES, 0, 0, bytes(5 << 20))
    assert len(bomb) < 10_000
    assert [] == unpacked(bomb)


@given(st.lists(st.sampled_from(BLOCKS), max_size=4), st.data())
def test_a_reader_stops_at_a_file_that_shrinks(parts: list[bytes], data: Any) -> None:
    content = b"".join(parts)
    shorter = data.draw(st.integers(0, len(content)))

    def read(offset: int, count: int) -> bytes:
        return content[:shorter][offset : offset + count]

    for block in history_block.blocks(read, len(content)):
        history_block.body(read, block)


def test_an_hour_of_the_most_drives_is_within_the_limits() -> None:
    periods = [minute(number, drives=256) for number in range(3)]
    names = dict.fromkeys((f"naa.{each}" for each in range(256)), periods[0].drives["naa.0.0"])
    whole = [Period(number, 60.0, names) for number in range(180)]
    assert 180 == len(unpacked(packed(whole)))
