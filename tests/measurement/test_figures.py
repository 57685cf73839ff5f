"""Tests the formatting of durations and sizes, and the parsing of sizes."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import bench_matrix, slc
from exporter.measurement import figures
from exporter.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (5400, "1 h 30 min"), (7200, "2 h")],
)
def test_durations_are_formatted(seconds: float, expected: str) -> None:
    assert expected == figures.span(seconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1GB", 10**9), ("1GiB", 1 << 30), ("1G", 1 << 30), ("1000", 1000), ("16kb", 16_000)],
)
def test_all_commands_parse_a_size_equally(text: str, expected: int) -> None:
    assert expected == figures.size_bytes("--size", text, "1G")
    if expected >= 1 << 26:
        assert expected == slc.size_bytes(text)
        assert expected == bench_matrix.matrix(size_text=text).size_bytes


@given(st.text(max_size=12) | st.from_regex(r"\A\d*\.?\d*\s?[kmgtKMGT]?i?[bB]?\Z"))
def test_any_text_is_a_size_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert figures.size_bytes("--size", text, "1G") >= 0


@pytest.mark.parametrize(
    ("count", "expected"),
    [(512, "512 B"), (16_384, "16 KiB"), (1 << 20, "1 MiB"), (1000, "1000 B")],
)
def test_block_sizes_have_binary_units(count: int, expected: str) -> None:
    assert expected == figures.blocks(count)
