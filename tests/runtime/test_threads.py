"""PeriodicThread, LoopThread, lower_priority and WakePipe, on real threads with short intervals."""

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from exporter.runtime.clock import SystemClock
from exporter.runtime.threads import (
    NICE,
    LoopThread,
    PeriodicThread,
    TimeLimitedCall,
    WakePipe,
    lower_priority,
)
from tests.duration import PATIENCE_SECONDS, ahead_of_other_work, at_most, wait_until


class Steps:
    """A step function that records when each call started."""

    def __init__(self, duration: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.at: list[float] = []
        self._duration = duration
        self._now = now
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.at.append(self._now())
            self._changed.notify_all()
        time.sleep(self._duration)

    def reach(self, count: int, timeout: float = PATIENCE_SECONDS) -> bool:
        """Waits for a number of calls; returns False on a timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.at) >= count, timeout)

    def gaps(self) -> list[float]:
        return [b - a for a, b in zip(self.at, self.at[1:], strict=False)]


class ReadClock(SystemClock):
    """A clock that remembers two readings of a thread: when it began its grid, and its last step.

    On a busy machine, the test and the step itself would read other times.
    """

    def __init__(self) -> None:
        self.first = self.last = 0.0

    def monotonic(self) -> float:
        self.last = super().monotonic()
        self.first = self.first or self.last
        return self.last


def periodic(steps: Steps, interval: float, min_interval: float = 0.0) -> PeriodicThread:
    return PeriodicThread("test", steps, lambda: interval, SystemClock(), min_interval)


def test_steps_lie_on_a_grid_and_do_not_drift() -> None:
    steps = Steps(duration=0.02)
    clock = ReadClock()
    thread = PeriodicThread("test", steps, lambda: 0.05, clock)
    with ahead_of_other_work():
        thread.start()
    assert steps.reach(1)
    started = clock.first

    def is_on_grid() -> bool:
        """True if five successive steps were on successive points of the grid, not later."""
        points = [divmod(at - started + 0.005, 0.05) for at in steps.at]
        return any(
            all(part < 0.02 for _, part in five) and five[-1][0] - five[0][0] == 4
            for five in (points[start : start + 5] for start in range(len(points) - 4))
        )

    # A step of a loaded machine may be late. With drift, no five steps would be on the grid.
    wait_until(is_on_grid)
    assert thread.stop(PATIENCE_SECONDS)
    delays = [at - started - count * 0.05 for count, at in enumerate(steps.at, start=1)]
    assert all(delay >= -0.005 for delay in delays)


def test_a_step_that_takes_too_long_skips_the_steps_that_it_overlaps() -> None:
    steps = Steps(duration=0.13)
    thread = periodic(steps, 0.05)
    thread.start()
    assert steps.reach(4)
    thread.stop(PATIENCE_SECONDS)
    assert min(steps.gaps()) >= 0.125


def test_trigger_causes_a_step_soon() -> None:
    steps = Steps()
    thread = periodic(steps, 600)
    thread.start()
    started = time.monotonic()
    thread.trigger()
    assert steps.reach(1)
    assert thread.stop(PATIENCE_SECONDS)
    assert steps.at[0] - started < 600


def test_triggered_steps_keep_the_minimum_interval() -> None:
    """A device that appears and disappears all the time does not keep the survey running."""
    clock = ReadClock()
    steps = Steps(now=lambda: clock.last)
    thread = PeriodicThread("test", steps, lambda: 600, clock, 0.2)
    thread.start()
    started = time.monotonic()
    while time.monotonic() < started + 0.7 or not steps.at:
        thread.trigger()
        time.sleep(0.05)
    thread.stop(PATIENCE_SECONDS)
    assert 1 <= len(steps.at) <= 1 + (time.monotonic() - started) / 0.2
    assert all(gap >= 0.199 for gap in steps.gaps())


def test_triggered_steps_do_not_delay_the_regular_one() -> None:

    def is_regular() -> bool:
        """True if three steps were triggered, and the fourth came after the interval."""
        steps = Steps()
        thread = periodic(steps, 1.0)
        with ahead_of_other_work():
            started = time.monotonic()
            thread.start()
            for count in range(1, 4):
                thread.trigger()
                assert steps.reach(count)
            assert steps.reach(4)
            thread.stop(PATIENCE_SECONDS)
        return steps.at[2] - started < 0.9 and 0.5 < steps.at[3] - started < 1.5

    # A step of a loaded machine may be late. With the defect, the regular one is always late.
    wait_until(is_regular)


def test_a_step_that_raises_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    """The exception is logged with its traceback."""
    steps = Steps()

    def step() -> None:
        steps()
        raise RuntimeError("a bug")

    thread = PeriodicThread("test", step, lambda: 0.02, SystemClock())
    thread.start()
    assert steps.reach(3)
    assert thread.stop(PATIENCE_SECONDS)
    assert "RuntimeError: a bug" in caplog.text
    assert "please report this" in caplog.text


def test_stop_returns_false_while_a_step_hangs() -> None:
    begun, release = threading.Event(), threading.Event()

    def step() -> None:
        begun.set()
        release.wait(PATIENCE_SECONDS)

    thread = PeriodicThread("test", step, lambda: 0.01, SystemClock())
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    assert not thread.stop(0.05)
    release.set()
    assert thread.stop(PATIENCE_SECONDS)


def test_stop_does_not_wait_for_the_next_step() -> None:
    thread = periodic(Steps(), 600)
    thread.start()
    with at_most(1):
        assert thread.stop(PATIENCE_SECONDS)


def test_a_changed_interval_takes_effect() -> None:
    """A reload of the settings changes it."""
    intervals = [0.05]
    steps = Steps()
    thread = PeriodicThread("test", steps, lambda: intervals[0], SystemClock())
    thread.start()
    assert steps.reach(2)
    intervals[0] = 600
    reached = len(steps.at)
    assert not steps.reach(reached + 3, timeout=0.4)
    assert thread.stop(PATIENCE_SECONDS)


def test_a_low_priority_thread_and_its_children_are_nice_and_no_other_thread_is() -> None:
    niceness: list[str] = []
    done = threading.Event()

    def step() -> None:
        niceness.append(subprocess.run(["nice"], capture_output=True, text=True, check=True).stdout)
        done.set()
        time.sleep(0.01)

    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = LoopThread("test", step, lambda: None, lambda: None, low_priority=True)
    thread.start()
    assert done.wait(PATIENCE_SECONDS)
    assert thread.stop(PATIENCE_SECONDS)
    assert f"{max(before, NICE)}\n" == niceness[0]
    assert before == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("before", [0, 15])
def test_lower_priority_never_decreases_the_niceness(before: int) -> None:
    niceness: list[int] = []
    before = max(before, os.getpriority(os.PRIO_PROCESS, 0))  # of the tests

    def run() -> None:
        os.setpriority(os.PRIO_PROCESS, 0, before)
        lower_priority()
        niceness.append(os.getpriority(os.PRIO_PROCESS, 0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [max(before, NICE)] == niceness


def test_a_time_limited_call_returns_the_result_or_raises_the_error() -> None:
    assert 7 == TimeLimitedCall(lambda: 7, 60.0)()
    with pytest.raises(ZeroDivisionError):
        TimeLimitedCall(lambda: 1 / 0, 60.0)()


def test_time_limited_calls_that_hang_leave_few_threads() -> None:
    released = threading.Event()
    calls: list[int] = []

    def hang() -> None:
        calls.append(1)
        released.wait()

    limited = TimeLimitedCall(hang, 0.05)
    for _ in range(6):
        with pytest.raises(TimeoutError):
            limited()
    wait_until(lambda: 4 == len(calls), "the start of the last thread")
    released.set()


@pytest.fixture
def wake() -> Iterator[WakePipe]:
    wake = WakePipe()
    yield wake
    wake.close()


def is_set(wake: WakePipe) -> bool:
    return bool(select.select([wake.reading], [], [], 0)[0])


def test_a_wake_pipe_is_readable_from_set_to_clear(wake: WakePipe) -> None:
    assert not is_set(wake)
    wake.set()
    wake.set()
    assert is_set(wake)
    assert wake.clear()
    assert not is_set(wake)
    assert not wake.clear()


def test_a_full_wake_pipe_stays_set_and_does_not_block(wake: WakePipe) -> None:
    for _ in range(70_000):
        wake.set()
    assert is_set(wake)


def test_a_signal_at_another_thread_ends_the_wait_of_the_main_thread(wake: WakePipe) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        wake.wake_on_signals()
        assert other.ident is not None
        threading.Timer(0.05, signal.pthread_kill, (other.ident, signal.SIGUSR1)).start()
        assert [wake.reading] == select.select([wake.reading], [], [], PATIENCE_SECONDS)[0]
        assert [signal.SIGUSR1] == received
    finally:
        release.set()
        other.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_closed_wake_pipe_receives_no_signals() -> None:
    wake = WakePipe()
    wake.wake_on_signals()
    wake.close()
    assert -1 == signal.set_wakeup_fd(-1)
