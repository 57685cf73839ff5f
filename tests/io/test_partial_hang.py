"""Tests of `io.partial_hang`: some requests hang while others complete."""

import random

from exporter.config.disk_rules import BaselineRules, DiskRules, PartialHangRules
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.drive import drive_from_name
from exporter.io.hangs.partial_hang import PartialHangDetector
from exporter.io.interval import DiskInterval
from exporter.io.verdict import DiskContext


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


def test_a_hang_that_takes_more_requests_every_second_is_detected_after_six_seconds() -> None:
    """The excesses of a hang of 1 of 24 queues of the scenes."""
    normal = [0.1, -0.6, 0.3, -0.6, 0.5, 1.1, 0.6, 0.1, -0.2, 0.1]
    found, _ = after([*normal, 6.3, 13.9, 20.7, 26.4, 31.6, 39.0], queue_depth=3.0)
    assert [False] * 15 + [True] == found


def test_a_queue_that_becomes_deeper_is_not_a_hang() -> None:
    """With ten times the depth, the noise is ten times as large."""
    detector = PartialHangDetector(PartialHangRules())
    rng = random.Random(2)
    for _ in range(200):
        assert not detector.observe(rng.gauss(0, 0.5), 2.0, 1.0)
    for excess in (4.6, 6.1, 4.2, 5.0, 5.6, 4.4, 5.2, 4.8):
        assert not detector.observe(excess, 20.0, 1.0)


def test_an_excess_that_ends_counts_as_noise_and_a_hang_does_not() -> None:
    def until(excesses: list[float]) -> int:
        found, _ = after([*excesses, *[2.0] * 20], queue_depth=1.0)
        return found[len(excesses) :].index(True)

    assert until(([4.0] * 5 + [0.0]) * 3) > until([0.1] * 18)
    assert until([4.0] * 10 + [-40.0]) <= until([0.1] * 5)


def test_a_hang_has_ended_for_one_interval() -> None:
    detector = PartialHangDetector(PartialHangRules())
    for _ in range(8):
        detector.observe(4.0, 1.0, 1.0)
    detector.observe(-20.0, 20.0, 1.0)
    assert detector.has_ended
    detector.observe(0.2, 1.0, 1.0)
    assert not detector.has_ended


def _second(excess: float | None, queue_depth: float = 1.0) -> DiskInterval:
    """A second of a device; None: no request completed."""
    reads = 0 if excess is None else 1000
    return DiskInterval(
        seconds=1.0,
        reads=reads,
        read_seconds=reads / 1000,
        read_bytes=reads * 4096,
        writes=0,
        write_seconds=0.0,
        written_bytes=0,
        flushes=0,
        flush_seconds=0.0,
        stalled=excess is None,
        queue_depth=queue_depth,
        busy_ratio=1.0,
        excess_requests=excess,
    )


def test_a_full_hang_after_a_partial_one_counts_with_a_half_of_its_last_second() -> None:
    baselines = Baselines(BaselineRules()).for_drive("sda")
    activity = DiskActivity(drive_from_name("sdx"), DiskRules(), baselines, 0.0)
    context = DiskContext(is_waited_for=False, is_cpu_bound=False)
    partial = [_second(4.0)] * 8 + [_second(-20.0)] + [_second(0.0)] * 3
    for now, disk in enumerate(partial):
        activity.record(now, disk, context)
    before = activity.stalls.total_seconds
    assert 8 == before
    for now, disk in enumerate([_second(None)] * 5 + [_second(0.0)], start=20):
        activity.record(now, disk, context)
    assert 5.5 == activity.stalls.total_seconds - before
