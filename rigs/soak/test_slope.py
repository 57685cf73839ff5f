"""The slope of measurements, and its verdict."""

import csv
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rigs.soak.__main__ import table, write_measurements
from rigs.soak.run import Result
from rigs.soak.slope import Point, Slope, Verdict, minima, slope


def run(start: float, value: float, per_hour: float, count: int = 100) -> list[Point]:
    return [(start + 10 * i, value + per_hour * 10 * i / 3600) for i in range(count)]


def test_a_restart_does_not_hide_the_slope() -> None:
    found = slope([run(0, 30.0, 2.0, count=200), run(3000, 25.0, 2.0)])
    assert found is not None
    assert pytest.approx(2.0) == found.per_hour
    assert Verdict.TOO_STEEP is found.verdict(1.0)
    assert Verdict.WITHIN is found.verdict(3.0)


def test_constant_values_are_within_any_bound() -> None:
    found = slope([run(0, 7.0, 0.0)])
    assert found is not None
    assert Verdict.WITHIN is found.verdict(0.0)


def memory(
    chance: random.Random, grown: Callable[[float], float], part: float = 2700.0
) -> list[list[Point]]:
    """Returns KiB of a process with one restart, as of two hours: pages of 4 KiB are in use or not.

    grown: the growth in KiB at a time in seconds.
    """
    runs, noise = [], 0.0
    for start in (0.0, part):
        run = []
        for i in range(int(part / 10)):
            noise = 0.9 * noise + chance.gauss(0, 4)
            at = start + 10.0 * i
            run.append((at, 35000.0 + 4 * round((grown(at) + noise) / 4)))
        runs.append(run)
    return runs


def stairs(kilobytes: float, begin: float, seconds: float) -> Callable[[float], float]:
    """Returns growth by equal steps: the first at `begin`, the next ones every so many seconds."""
    return lambda at: kilobytes * max(0, (at - begin) // seconds + 1)


def verdicts(bound: float, scenes: Iterable[list[list[Point]]]) -> Counter[Verdict]:
    return Counter(found.verdict(bound) for runs in scenes if (found := slope(runs)) is not None)


@pytest.mark.parametrize("kilobytes", [50.0, 100.0, 200.0, 400.0])
def test_one_step_at_any_time_is_never_too_steep(kilobytes: float) -> None:
    """With the error of independent measurements, 36 of 100 steps of 200 KiB were too steep."""
    chance = random.Random(1)
    begins = [chance.uniform(0, 5400) for _ in range(100)]
    scenes = (memory(chance, stairs(kilobytes, begin, 7200)) for begin in begins)
    assert verdicts(128, scenes)[Verdict.TOO_STEEP] == 0


@pytest.mark.parametrize("seconds", [10.0, 60.0, 300.0, 900.0])
def test_a_leak_of_twice_the_bound_is_too_steep_however_rare_its_steps_are(seconds: float) -> None:
    chance = random.Random(1)
    begins = [chance.uniform(0, seconds) for _ in range(100)]
    scenes = (memory(chance, stairs(256 * seconds / 3600, begin, seconds)) for begin in begins)
    assert {Verdict.TOO_STEEP: 100} == verdicts(128, scenes)


def test_a_soak_fails_after_one_large_step_although_its_slope_is_undecided() -> None:
    runs = memory(random.Random(1), stairs(400, 1350, 7200))
    result = Result(runs={"daemon: resident memory": [[(t, v * 1024) for t, v in r] for r in runs]})
    lines, is_good = table(result)
    assert lines[1].endswith("undecided")
    assert not is_good


def test_memory_that_does_not_grow_is_within_the_bound() -> None:
    chance = random.Random(1)
    scenes = (memory(chance, lambda _: 0.0) for _ in range(100))
    assert {Verdict.WITHIN: 100} == verdicts(128, scenes)


def test_noise_in_a_short_run_is_undecided() -> None:
    chance = random.Random(1)
    noise = [(10.0 * i, chance.uniform(0, 1)) for i in range(10)]
    found = slope([noise])
    assert found is not None
    assert Verdict.UNDECIDED is found.verdict(0.5)


@pytest.mark.parametrize("points", [[], [(0.0, 1.0)], [(0.0, 1.0), (1.0, 2.0)]])
def test_few_measurements_have_no_slope(points: list[Point]) -> None:
    assert slope([points]) is None


def test_the_verdict_depends_on_the_error() -> None:
    assert Verdict.TOO_STEEP is Slope(10.0, 1.0, 3600.0).verdict(5.0)
    assert Verdict.UNDECIDED is Slope(10.0, 2.0, 3600.0).verdict(5.0)


def test_a_steep_slope_of_a_short_run_is_undecided() -> None:
    """A process fills its caches after its start."""
    assert Verdict.UNDECIDED is Slope(10.0, 1.0, 600.0).verdict(5.0)


def test_a_leak_shows_in_the_minima_of_a_count_that_rises_for_moments() -> None:
    chance = random.Random(1)
    busy = [(10.0 * i, 9.0 + chance.choice((0, 0, 2, 5))) for i in range(700)]
    leaking = [(at, value + at // 1800) for at, value in busy]
    constant, growing = slope([minima(busy, 300)]), slope([minima(leaking, 300)])
    assert constant is not None
    assert growing is not None
    assert Verdict.WITHIN is constant.verdict(0.05)
    assert Verdict.TOO_STEEP is growing.verdict(0.05)
    noisy = slope([busy])
    assert noisy is not None
    assert Verdict.UNDECIDED is noisy.verdict(0.05)


def test_a_window_that_is_not_complete_has_no_minimum() -> None:
    assert [(5.0, 1.0)] == minima([(0.0, 2.0), (9.0, 1.0), (10.0, 7.0)], 10)
    assert [] == minima([], 10)


def test_all_measurements_of_a_restarted_process_begin_a_new_run() -> None:
    result = Result()
    for name in ("agent: resident memory", "agent: threads", "daemon: threads", "files: state"):
        result.add(name, 0.0, 1.0)
    result.restart("agent")
    assert [2, 2, 1, 1] == [len(runs) for runs in result.runs.values()]


def test_each_measurement_is_written_with_its_run_and_its_time(tmp_path: Path) -> None:
    result = Result()
    result.add("agent: threads", 10.2, 1.0)
    result.restart("agent")
    result.add("agent: threads", 20.2, 2.0)
    write_measurements(result, tmp_path / "var/soak.csv")
    with (tmp_path / "var/soak.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [("agent: threads", "1", "10", "1.0"), ("agent: threads", "2", "20", "2.0")] == [
        tuple(row.values()) for row in rows
    ]
