"""Tests of `io.hangs.single_hang`: one request of many hangs for half a minute or longer."""

import itertools
import random
from collections.abc import Callable

import pytest

from exporter.config.disk_rules import BaselineRules, DiskRules, SingleHangRules
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.drive import drive_from_name
from exporter.io.hangs.single_hang import SingleHangDetector
from exporter.io.interval import DiskInterval
from exporter.io.verdict import DiskContext, Verdict
from exporter.runtime.sample_times import sample_time

HEALTHY = DiskContext(is_waited_for=False, is_cpu_bound=False)


def found_at(excesses: list[float], in_flight: float = 8.0) -> tuple[float | None, float]:
    """Returns the second in which a hang is found, or None, and the seconds that it counts."""
    detector = SingleHangDetector(SingleHangRules())
    for second, excess in enumerate(excesses, start=1):
        if added(detector, second, excess, in_flight):
            return second, detector.hung_seconds
    return None, 0.0


def added(
    detector: SingleHangDetector,
    now: float,
    excess: float,
    in_flight: float = 8.0,
    seconds: float = 1.0,
) -> bool:
    """Adds an interval; returns True if a request hangs."""
    detector.excesses.append(excess * seconds)
    is_due = (
        excess * seconds < detector.largest_usual or len(detector.excesses) >= detector.block_size
    )
    return is_due and detector.decide(now, seconds, in_flight, 0.0)


def noise(seconds: int, deviation: float, seed: int = 1, mean: float = 0.0) -> list[float]:
    """Returns the excess of a load whose requests in flight vary independently."""
    rng = random.Random(f"{seed} {deviation}")
    depths = [rng.gauss(mean, deviation) for _ in range(seconds + 1)]
    return [(before + after) / 2 for before, after in itertools.pairwise(depths)]


def hang(calm: int, seconds: int, deviation: float, seed: int = 1) -> list[float]:
    """Returns a load of which one request hangs, and then completes."""
    rest = noise(calm, deviation, seed)
    return [*rest, *noise(seconds, deviation, seed + 1, mean=1.0), -float(seconds)]


@pytest.mark.parametrize("seed", range(5))
def test_a_request_that_hangs_beside_a_steady_load_is_found_in_40_seconds(seed: int) -> None:
    second, hung = found_at(hang(60, 90, 0.3, seed))
    assert second is not None
    assert 90 <= second <= 100
    assert second - hung == pytest.approx(60, abs=5)


@pytest.mark.parametrize("seed", range(5))
def test_a_hang_that_the_load_hides_is_found_when_it_ends(seed: int) -> None:
    second, hung = found_at(hang(60, 90, 2.5, seed), in_flight=30.0)
    assert 151 == second
    assert 80 <= hung <= 90


@pytest.mark.parametrize("deviation", [0.3, 2.0, 10.0])
def test_a_healthy_load_has_no_hang(deviation: float) -> None:
    assert (None, 0.0) == found_at(noise(20_000, deviation), in_flight=deviation**2)


@pytest.mark.parametrize("deviation", [0.3, 2.0])
def test_a_queue_that_is_held_for_a_moment_is_no_hang(deviation: float) -> None:
    """Sixty requests wait for 0.8 seconds between two samples and complete together."""
    load = noise(200, deviation)
    assert (None, 0.0) == found_at([*load, -48.0, *load])


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.6])
def test_a_load_with_the_period_of_the_samples_has_no_hang(share: float, phase: float) -> None:
    """Twenty requests are in flight for a part of each second."""

    def depth(at: float) -> float:
        return 20.0 if (at + phase) % 1.0 < share else 1.0

    def credited(at: float) -> float:
        whole, part = divmod(at + phase, 1.0)
        return at + 19 * (whole * share + min(part, share))

    detector = SingleHangDetector(SingleHangRules())
    at, found = 0.0, False
    for number in range(1, 600):
        before, at = at, sample_time(number, 1.0)
        seconds = at - before
        excess = (depth(before) + depth(at)) / 2 - (credited(at) - credited(before)) / seconds
        found |= added(detector, at, excess, 10.0, seconds)
    assert not found


def test_an_excess_from_the_start_is_no_hang() -> None:
    """Some drivers leave a request in the count for ever. Without a calm time it is not known."""
    assert (None, 0.0) == found_at([1.0] * 600)


def test_a_moment_without_requests_in_flight_ends_a_hang() -> None:
    detector = SingleHangDetector(SingleHangRules())
    for second, excess in enumerate(hang(60, 60, 0.1)[:-1]):
        added(detector, second, excess, 4.0)
    assert detector.hung_seconds > 30
    assert not detector.add_other(121.0, 1.0, 0.0, 60.0)
    assert detector.has_ended
    assert 0.0 == detector.hung_seconds


def _record(
    excesses: list[float], show: Callable[[float, DiskActivity], None] = lambda *_: None
) -> DiskActivity:
    baselines = Baselines(BaselineRules()).for_drive("sda")
    activity = DiskActivity(drive_from_name("sdx"), DiskRules(), baselines, 0.0)
    for now, excess in enumerate(excesses, start=1):
        activity.record(now, _second(excess), HEALTHY)
        show(now, activity)
    return activity


def _second(excess: float) -> DiskInterval:
    return DiskInterval(
        *(1.0, 10_000, 8.0, 4096 * 10_000, 0, 0.0, 0, 0, 0.0),
        stalled=False,
        queue_depth=8.0,
        busy_ratio=1.0,
        excess_requests=excess,
    )


def test_a_hang_counts_once_although_its_end_shows_it_again() -> None:
    activity = _record([*hang(60, 90, 0.3), *noise(30, 0.3)])
    assert pytest.approx(90, abs=3) == activity.stalls.total_seconds
    assert not activity.stalls.is_stalled


def test_a_hang_that_is_found_at_its_end_counts_whole() -> None:
    activity = _record([*hang(60, 90, 2.5), *noise(30, 2.5)])
    assert 80 <= activity.stalls.total_seconds <= 90


def test_reloaded_settings_apply_to_a_device_that_was_busy_before() -> None:
    strict = SingleHangRules(standard_errors=1000.0, ended_evidence=1000.0)

    def reload(now: float, activity: DiskActivity) -> None:
        if now == 60:
            activity.reconfigure(DiskRules(single_hang=strict))

    assert 0.0 == _record(hang(60, 90, 0.3), reload).stalls.total_seconds


@pytest.mark.parametrize("deviation", [0.3, 2.5])
def test_the_verdict_is_device_in_the_second_in_which_a_hang_is_found(deviation: float) -> None:
    shown: list[tuple[bool, Verdict]] = []
    _record(
        hang(60, 90, deviation),
        lambda now, activity: shown.append(
            (activity.stalls.total_seconds > 0, activity.verdict.value(now))
        ),
    )
    first = [is_counted for is_counted, _ in shown].index(True)
    assert (Verdict.NONE, Verdict.DEVICE) == (shown[first - 1][1], shown[first][1])
