"""Tests of `io.block_completions`."""

import pytest

from exporter.io.block_completions import BlockCompletions
from exporter.linux.files import RawFile


def reading(*counts: int) -> RawFile:
    """Return /proc/softirqs with these BLOCK softirqs of each CPU."""
    names = " ".join(f"CPU{number}" for number in range(len(counts)))
    return RawFile("softirqs", f"{names}\n BLOCK: {' '.join(map(str, counts))}\n".encode())


def observed(*readings: RawFile) -> BlockCompletions:
    completions = BlockCompletions()
    for number, one in enumerate(readings):
        completions.observe(2.0 * number, one)
    return completions


def test_each_cpu_has_a_share_of_all_completions() -> None:
    completions = observed(reading(10, 20, 30), reading(60_010, 20_020, 30))
    assert {0: 0.75, 1: 0.25, 2: 0.0} == completions.shares(0.0)


def test_a_cpu_with_few_completions_is_left_out_but_counts_in_the_sum() -> None:
    completions = observed(reading(0, 0), reading(6000, 1500))
    assert {0: 0.8} == completions.shares(1000.0)


def test_a_count_that_starts_again_is_no_completion() -> None:
    completions = observed(reading(90_000, 0), reading(5, 8000))
    assert {1: 1.0} == completions.shares(1000.0)


def test_a_cpu_that_came_online_has_no_share_yet() -> None:
    completions = observed(reading(0), reading(8000, 70_000))
    assert {0: 1.0} == completions.shares(1000.0)


@pytest.mark.parametrize("readings", [[], [reading(9000)], [reading(5), reading(5)]])
def test_without_completions_no_cpu_has_a_share(readings: list[RawFile]) -> None:
    assert not {cpu for cpu, share in observed(*readings).shares(0.0).items() if share}
