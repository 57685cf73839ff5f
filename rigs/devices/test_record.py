"""The recorded seconds match their phases."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

TRACE = json.loads((Path(__file__).parent / "data" / "slow_disk_seconds.json").read_text())


def growth(phase: str) -> list[tuple[int, int, int, int]]:
    """Completed requests, their milliseconds, io_ticks, and requests in flight, for each second."""
    pairs = pairwise(TRACE["seconds"])
    return [second(*pair) for pair in pairs if pair[1]["phase"] == phase]


def second(before: dict[str, Any], after: dict[str, Any]) -> tuple[int, int, int, int]:
    rows = [[int(word) for word in one["diskstats"].split()[3:]] for one in (before, after)]
    grown = [new - old for old, new in zip(*rows, strict=True)]
    return grown[0] + grown[4], grown[3] + grown[7], grown[9], rows[1][8]


def test_readings_are_one_second_apart() -> None:
    expected = ["start", "calm", "slow", "free", "hang", "after", "calm again"]
    assert expected == list(dict.fromkeys(one["phase"] for one in TRACE["seconds"]))
    for before, after in pairwise(TRACE["seconds"]):
        passed = after["monotonic_seconds"] - before["monotonic_seconds"]
        assert pytest.approx(1, abs=0.05) == passed


def test_a_slow_second_is_limited_with_33_in_flight() -> None:
    for completed, ticks, io_ticks, in_flight in growth("slow")[1:]:
        assert pytest.approx(TRACE["slow_write_iops"], rel=0.1) == completed
        assert pytest.approx(33_000, rel=0.02) == ticks
        assert pytest.approx(1000, rel=0.01) == io_ticks
        assert in_flight == 33


def test_a_second_of_the_hang_has_requests_in_flight_and_only_io_ticks_grow() -> None:
    hang = growth("hang")
    assert len(hang) == 4
    for completed, ticks, io_ticks, in_flight in hang:
        assert (completed, ticks) == (0, 0)
        assert pytest.approx(1000, rel=0.01) == io_ticks
        assert in_flight > 1


def test_the_wait_time_of_a_hang_is_counted_afterwards() -> None:
    first, *later = growth("after")
    assert first[1] > 4 * 1000 * growth("hang")[0][3]
    assert all(ticks < 1000 for _, ticks, _, _ in later)


@pytest.mark.parametrize("phase", ["calm", "calm again"])
def test_a_low_load_second_is_almost_idle(phase: str) -> None:
    for completed, ticks, io_ticks, _ in growth(phase):
        assert pytest.approx(125, rel=0.1) == completed
        assert max(ticks, io_ticks) < 50
