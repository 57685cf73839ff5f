"""Tests of `io.partial_hang`: some requests hang while others complete."""

import random

from exporter.io.partial_hang import PartialHangDetector, PartialHangRules


def after(excesses: list[float], queue_depth: float = 4.0) -> tuple[list[bool], float]:
    detector = PartialHangDetector(PartialHangRules())
    found = [detector.observe(excess, queue_depth, 1.0) for excess in excesses]
    return found, detector.hung_seconds


def test_a_constant_excess_is_a_hang_after_six_seconds() -> None:
    found, hung = after([3.0] * 8, queue_depth=1.0)
    assert [False] * 5 + [True] * 3 == found
    assert 8.0 == hung


def test_a_single_request_that_hangs_beside_two_short_ones_is_detected() -> None:
    assert after([1.0] * 10, queue_depth=0.1)[0][-1]


def test_an_excess_that_varies_around_zero_is_not_a_hang() -> None:
    rng = random.Random(1)
    assert not any(after([rng.gauss(0, 3) for _ in range(20_000)])[0])


def test_an_interval_without_excess_ends_the_hang() -> None:
    found, hung = after([5.0] * 10 + [-40.0, 0.0])
    assert found[9]
    assert not any(found[10:])
    assert 0.0 == hung


def test_five_slow_seconds_are_not_a_hang() -> None:
    assert not any(after([20.0] * 5 + [0.0] + [20.0] * 5)[0])
