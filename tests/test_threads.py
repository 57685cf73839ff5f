"""Steps at a steady pace, on real threads with short intervals."""

import os
import subprocess
import threading
import time

import pytest

from exporter.clock import SystemClock
from exporter.threads import NICE, LoopThread, PeriodicThread


class Steps:
    """Notes when each step began, and waits for so many."""

    def __init__(self, lasts: float = 0.0) -> None:
        self.at: list[float] = []
        self._lasts = lasts
        self._news = threading.Condition()

    def __call__(self) -> None:
        with self._news:
            self.at.append(time.monotonic())
            self._news.notify_all()
        time.sleep(self._lasts)

    def reach(self, count: int, timeout: float = 10.0) -> bool:
        with self._news:
            return self._news.wait_for(lambda: len(self.at) >= count, timeout)


def paced(steps: Steps, interval: float, least: float = 0.0) -> PeriodicThread:
    return PeriodicThread("test", steps, lambda: interval, SystemClock(), least)


def test_steps_stand_on_a_grid_and_do_not_drift() -> None:
    steps = Steps(lasts=0.02)
    pace = paced(steps, 0.05)
    begun = time.monotonic()
    pace.start()
    assert steps.reach(10)
    assert pace.stop(5)
    for count, at in enumerate(steps.at, start=1):
        late = (at - begun) - count * 0.05
        assert late >= -0.005
    # A step of a loaded machine may be late; drift would make each later than the last.
    assert min(at - begun - count * 0.05 for count, at in enumerate(steps.at, start=1)) < 0.03


def test_a_step_that_takes_too_long_costs_those_it_overlaps() -> None:
    """And they are not made up for."""
    steps = Steps(lasts=0.13)
    pace = paced(steps, 0.05)
    pace.start()
    assert steps.reach(4)
    pace.stop(5)
    apart = [b - a for a, b in zip(steps.at, steps.at[1:], strict=False)]
    assert min(apart) >= 0.125


def test_hurry_brings_a_step_soon() -> None:
    steps = Steps()
    pace = paced(steps, 600)
    pace.start()
    begun = time.monotonic()
    pace.trigger()
    assert steps.reach(1)
    assert pace.stop(5)
    assert steps.at[0] - begun < 5


def test_hurried_steps_keep_their_distance() -> None:
    """A device that comes and goes all the time does not keep the survey running."""
    steps = Steps()
    pace = paced(steps, 600, least=0.2)
    pace.start()
    for _ in range(12):
        pace.trigger()
        time.sleep(0.05)
    pace.stop(5)
    assert 1 <= len(steps.at) <= 4
    assert all(b - a >= 0.19 for a, b in zip(steps.at, steps.at[1:], strict=False))


def test_hurried_steps_put_off_no_regular_one() -> None:
    steps = Steps()
    pace = paced(steps, 1.0)
    begun = time.monotonic()
    pace.start()
    for count in range(1, 4):
        pace.trigger()
        assert steps.reach(count)
    assert steps.reach(4)
    pace.stop(5)
    assert steps.at[2] - begun < 0.9, "three were hurried"
    assert pytest.approx(1.0, abs=0.5) == steps.at[3] - begun


def test_a_step_that_fails_costs_itself(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake of ours ends no thread; it is said, with its trace."""
    steps = Steps()

    def step() -> None:
        steps()
        raise RuntimeError("a mistake of ours")

    pace = PeriodicThread("test", step, lambda: 0.02, SystemClock())
    pace.start()
    assert steps.reach(3)
    assert pace.stop(5)
    assert "a mistake of ours" in caplog.text
    assert "please report this" in caplog.text


def test_stop_says_where_a_step_hangs() -> None:
    release = threading.Event()

    def step() -> None:
        release.wait(10)

    pace = PeriodicThread("test", step, lambda: 0.01, SystemClock())
    pace.start()
    time.sleep(0.1)
    assert not pace.stop(0.05)
    release.set()
    assert pace.stop(5)


def test_stop_does_not_wait_for_the_next_step() -> None:
    pace = paced(Steps(), 600)
    pace.start()
    begun = time.monotonic()
    assert pace.stop(5)
    assert time.monotonic() - begun < 1


def test_an_interval_that_changes_is_followed() -> None:
    """The settings were read again."""
    intervals = [0.05]
    steps = Steps()
    pace = PeriodicThread("test", steps, lambda: intervals[0], SystemClock())
    pace.start()
    assert steps.reach(2)
    intervals[0] = 600
    reached = len(steps.at)
    assert not steps.reach(reached + 3, timeout=0.4)
    assert pace.stop(5)


def test_a_nice_thread_and_what_it_starts_give_way_and_no_other_thread_does() -> None:
    said: list[str] = []
    done = threading.Event()

    def step() -> None:
        said.append(subprocess.run(["nice"], capture_output=True, text=True, check=True).stdout)
        done.set()
        time.sleep(0.01)

    before = os.getpriority(os.PRIO_PROCESS, 0)
    rounds = LoopThread("test", step, lambda: None, lambda: None, low_priority=True)
    rounds.start()
    assert done.wait(5)
    assert rounds.stop(5)
    assert f"{max(before, NICE)}\n" == said[0]
    assert before == os.getpriority(os.PRIO_PROCESS, 0)
