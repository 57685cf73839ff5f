"""Threads that call a function periodically or in a loop, CPU priority, and a wake-up pipe."""

import contextlib
import logging
import os
import select
import signal
import threading
from collections.abc import Callable

from exporter.clock import Clock

log = logging.getLogger(__name__)

#: The niceness (see nice(1)) of threads that poll drives or run probes, and of their programs.
NICE = 10

#: Pause in seconds after a step that raised an exception, so that repeated failures do not fill the
#: log.
_PAUSE_AFTER_ERROR_SECONDS = 10.0

#: Bytes per read from the wake-up pipe. One read empties it unless more wake-ups are pending.
_READ_BYTES = 4096


class WakePipe:
    """A pipe that wakes a thread which polls the descriptor `reading`."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wakes_on_signals = False

    def set(self) -> None:
        """Make `reading` readable until `clear`. Any thread may call it.

        A call after `close` has no effect.
        """
        # A full pipe is readable too.
        if self._writing >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._writing, b"\0")

    def clear(self) -> bool:
        """Empty the pipe. Returns True if it was set."""
        try:
            os.read(self.reading, _READ_BYTES)
        except BlockingIOError:
            return False
        return True

    def wake_on_signals(self) -> None:
        """Set the pipe at each signal that has a handler. Call it on the main thread.

        Python runs a signal handler when the main thread next executes Python code. A signal that
        arrives just before a wait starts, or at another thread, would therefore take effect only
        when the wait ends. This is the self-pipe trick of signal(7).
        """
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._wakes_on_signals = True

    def close(self) -> None:
        """Close both ends. Call it on the main thread after `wake_on_signals`."""
        if self._wakes_on_signals:
            # Before another file can take the descriptor's number.
            signal.set_wakeup_fd(-1)
            self._wakes_on_signals = False
        # Reset first: a signal handler that runs between the two lines may call `set`.
        writing, self._writing = self._writing, -1
        os.close(writing)
        os.close(self.reading)


def lower_priority() -> None:
    """Raise the calling thread's niceness to NICE; programs that it starts inherit it.

    On Linux each thread has its own niceness: setpriority(2), NOTES. If a system call filter
    forbids the call, the niceness does not change.
    """
    with contextlib.suppress(OSError):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(NICE, now))


class PeriodicThread:
    """Calls `step` every `interval()` seconds until `stop`, and additionally after `trigger`.

    Steps start on a fixed time grid, so they do not drift. If a step takes longer than the
    interval, the steps that are due meanwhile are skipped. A triggered step starts at least
    `min_interval_seconds` after the previous step.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], None],
        interval: Callable[[], float],
        clock: Clock,
        min_interval_seconds: float = 0.0,
    ) -> None:
        self._name = name
        self._step = step
        self._interval = interval
        self._clock = clock
        self._min_interval_seconds = min_interval_seconds
        # threading.Event.wait is slower than poll(): waking up takes as long as parsing a sample.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread. The first step runs after one interval."""
        self._thread.start()

    def trigger(self) -> None:
        """Request a step as soon as `min_interval_seconds` permits. Any thread may call it."""
        os.eventfd_write(self._wake, 1)

    def request_stop(self) -> None:
        """Let the thread end after the current step. Any thread may call this method."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def stop(self, timeout: float) -> bool:
        """Request a stop and wait. Returns False if the thread still runs after `timeout`."""
        self.request_stop()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        monotonic, poll = self._clock.monotonic, self._poll.poll
        due = last = monotonic()
        triggered = False
        while True:
            # A triggered step is additional: the step that is due on the grid still runs.
            if not triggered or due <= monotonic():
                due = self._next_due(due)
            # As few calls as possible: each takes microseconds every second, with cold caches.
            left = due - monotonic()
            triggered = bool(poll(int(left * 1000) + 1 if left > 0 else 0))
            if triggered:
                if not self._stopping:
                    self._sleep_until(last + self._min_interval_seconds)
                # Read before `_stopping` is checked. Otherwise a stop that arrives in between is
                # cleared and lost.
                os.eventfd_read(self._wake)
            if self._stopping:
                return
            last = monotonic()
            try:
                self._step()
            except Exception:
                # A bug in a step costs that step. The thread must continue.
                log.exception("%s: a step failed; please report this", self._name)

    def _next_due(self, due: float) -> float:
        interval, now = self._interval(), self._clock.monotonic()
        due += interval
        return due if due > now else now + interval - (now - due) % interval

    def _sleep_until(self, until: float) -> None:
        while not self._stopping and (left := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, 0.1))


class LoopThread:
    """Calls `step` in a loop. Each step blocks until it has work or `wake` is called.

    wake: makes a running step return soon. It is called on the thread that requests the stop.
    close: called on the loop's thread after the last step.
    low_priority: the thread runs with the niceness NICE.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], None],
        wake: Callable[[], None],
        close: Callable[[], None],
        *,
        low_priority: bool = False,
    ) -> None:
        self._name = name
        self._low_priority = low_priority
        self._step = step
        self._wake = wake
        self._close = close
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread with the first step."""
        self._thread.start()

    def request_stop(self) -> None:
        """Let the thread end after the current step. Any thread may call it."""
        self._stopping.set()
        self._wake()

    def stop(self, timeout: float) -> bool:
        """Request a stop and wait. Returns False if the thread still runs after `timeout`."""
        self.request_stop()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if self._low_priority:
            lower_priority()
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception:
                # A bug in a step costs that step. The thread must continue.
                log.exception("%s: a step failed; please report this", self._name)
                self._stopping.wait(_PAUSE_AFTER_ERROR_SECONDS)
        self._close()
