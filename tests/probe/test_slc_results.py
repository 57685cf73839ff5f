"""What is kept of a probe of a write cache, and what is made of a file that is not as it was."""

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ParseError
from exporter.probe.cache_cliff import CacheCliff, CliffResult, WritePhase
from exporter.probe.slc_results import SlcResult, by_device, parse, serialize, supersedes

CLIFF = CacheCliff(
    CliffResult.CLIFF,
    9_000_000_000,
    (WritePhase(0, 540e6), WritePhase(8_500_000_000, 112.5e6)),
    cache_bytes=8_500_000_000,
    burst_bytes_per_second=540e6,
    sustained_bytes_per_second=112.5e6,
)
RESULT = SlcResult(("a  disk 1",), "nvme0n1", 1_700_000_000.5, CLIFF, {30: 0, 3600: 8_500_000_000})
ABORTED = CacheCliff(CliffResult.ABORTED, 1000)

SIZES = st.none() | st.integers(0, 1 << 60)
SPEEDS = st.none() | st.floats(1.0, 1e12)
CLIFFS = st.builds(
    CacheCliff,
    st.sampled_from(CliffResult),
    st.integers(0, 1 << 60),
    st.lists(st.builds(WritePhase, st.integers(0, 1 << 60), st.floats(1.0, 1e12)), max_size=3).map(
        tuple
    ),
    SIZES,
    SIZES,
    SPEEDS,
    SPEEDS,
)
RESULTS = st.builds(
    SlcResult,
    st.lists(st.text(min_size=1, max_size=100), min_size=1, max_size=5).map(tuple),
    st.just("sda"),
    st.floats(0, 1e11),
    CLIFFS,
    st.dictionaries(st.integers(0, 86_400), st.integers(0, 1 << 60), max_size=8),
)


def changed(**changes: Any) -> str:
    return json.dumps({**json.loads(serialize(RESULT)), **changes})


def test_what_is_kept_is_read_back() -> None:
    parsed = parse(serialize(RESULT))
    assert RESULT == parsed.value
    assert () == parsed.faults


@given(RESULTS)
def test_so_is_any_other(result: SlcResult) -> None:
    parsed = parse(serialize(result))
    assert result == parsed.value
    assert () == parsed.faults


@given(st.text())
def test_any_text_is_a_result_or_a_parse_error(text: str) -> None:
    with contextlib.suppress(ParseError):
        parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@given(st.sampled_from(["drives", "device", "at", "cliff", "recovered_bytes", "version"]), JSON)
def test_a_field_that_is_anything_else_costs_itself_or_the_file(name: str, value: Any) -> None:
    try:
        found = parse(changed(**{name: value})).value
    except ParseError:
        return
    assert found.drives
    assert found.cliff.falloff_ratio is None or found.cliff.falloff_ratio >= 0


@pytest.mark.parametrize("text", ["", "{", serialize(RESULT)[:200], "[]", "null", "1e999", "{}"])
def test_a_broken_file_is_said_to_be_one(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_file_of_a_later_version_is_not_guessed_at() -> None:
    with pytest.raises(ParseError, match="version 2 instead of 1"):
        parse(changed(version=2))


@pytest.mark.parametrize("drives", [[], [""], ["a", 1], "a", None, ["x"] * 100])
def test_a_file_that_does_not_say_of_which_drive_is_of_none(drives: object) -> None:
    with pytest.raises(ParseError, match="is missing"):
        parse(changed(drives=drives))


def test_a_speed_of_nothing_is_left_out_and_said() -> None:
    cliff = json.loads(serialize(RESULT))["cliff"]
    parsed = parse(changed(cliff={**cliff, "burst_bytes_per_second": 0}))
    assert parsed.value.cliff.burst_bytes_per_second is None
    assert parsed.value.cliff.falloff_ratio is None
    assert 8_500_000_000 == parsed.value.cliff.cache_bytes
    assert 1 == len(parsed.faults)


def test_rests_are_bounded() -> None:
    many = {str(n): 1 for n in range(100)}
    assert 8 == len(parse(changed(recovered_bytes=many)).value.recovered_bytes)
    parsed = parse(changed(recovered_bytes={"30": 1, "-1": 2, "99999999": 3, "x": 4}))
    assert {30: 1} == parsed.value.recovered_bytes
    assert 3 == len(parsed.faults)


def test_a_probe_that_was_ended_takes_away_nothing_that_is_known() -> None:
    aborted = replace(RESULT, cliff=ABORTED)
    assert not supersedes(aborted, RESULT)
    assert supersedes(aborted, None)
    assert supersedes(aborted, aborted)
    assert supersedes(RESULT, aborted)
    assert supersedes(RESULT, RESULT)


def test_a_drive_that_has_another_name_now_is_shown_by_that() -> None:
    assert {"nvme3n1": RESULT} == by_device([RESULT], {"nvme3n1": "a  disk 1", "sda": "other"})


def test_a_drive_that_is_not_there_is_not_shown() -> None:
    assert {} == by_device([RESULT], {"nvme0n1": "another in its place"})


def test_several_drives_below_one_filesystem_keep_its_name() -> None:
    array = replace(RESULT, drives=("a", "b"), device="md0")
    there = {"sda": "a", "sdb": "b", "md0": "md0"}
    assert {"md0": array} == by_device([array], there)
    assert {} == by_device([array], {"sda": "a", "md0": "md0"})
    assert {} == by_device([array], {"sda": "a", "sdb": "b"})


def test_of_two_results_of_one_label_the_later_is_shown() -> None:
    later = replace(RESULT, drives=("b",), at=RESULT.at + 1)
    both = {"sda": "a  disk 1", "sdb": "b"}
    assert {"sda": RESULT, "sdb": later} == by_device([later, RESULT], both)
    array = replace(RESULT, drives=("b", "a  disk 1"), device="sda", at=RESULT.at + 2)
    assert array == by_device([array, RESULT], both)["sda"]
