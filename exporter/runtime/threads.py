"""Provides threads that call a function periodically or in a loop, and a pipe that wakes threads.

A step is one call of that function.
"""

import contextlib
import logging
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from exporter.runtime.clock import Clock
from exporter.runtime.logs import UnexpectedErrors

log = logging.getLogger(__name__)

#: The niceness, see nice(1), of threads that poll drives or run probes, and of the programs that
#: they start. They get a smaller share of the CPU time than other threads.
NICE = 10

#: Pause in seconds after a step that raised an exception, so that repeated failures do not fill the
#: log.
_PAUSE_AFTER_ERROR_SECONDS = 10.0

#: Bytes per read from the wake-up pipe. One read empties it unless more wake-ups are pending.
_READ_BYTES = 4096


#: The largest number of threads that a time-limited call leaves behind. Each takes some 100 KB.
#: More than one is needed: an operator replaces a file that hangs, and requests another reload.
_MAX_HANGING_CALLS = 4

ResultT = TypeVar("ResultT")


class TimeLimitedCall(Generic[ResultT]):
    """Calls a function that may hang, such as one that reads a file of a network file system.

    function: runs on a thread of its own. A thread that hangs is left behind.
    seconds: the time limit of a call.
    """

    def __init__(self, function: Callable[[], ResultT], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._hanging: list[threading.Thread] = []

    def __call__(self) -> ResultT:
        """Returns the result of the function, or raises its exception.

        Raises:
            TimeoutError: the function has not ended in time, or too many earlier calls hang.
        """
        self._hanging = [thread for thread in self._hanging if thread.is_alive()]
        if len(self._hanging) >= _MAX_HANGING_CALLS:
            raise TimeoutError
        results: list[ResultT] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                results.append(self._function())
            except Exception as e:  # noqa: BLE001 - it is raised on the calling thread
                errors.append(e)

        thread = threading.Thread(target=run, name="time-limited", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if thread.is_alive():
            self._hanging.append(thread)
        if errors:
            raise errors[0]
        if not results:
            raise TimeoutError
        return results[0]


class WakePipe:
    """A pipe that wakes a thread.

    The thread waits with poll(2) until the file descriptor `reading` is readable.
    """

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wakes_on_signals = False

    def set(self) -> None:
        """Make the descriptor `reading` readable until `clear`. Any thread may call it.

        A call after `close` has no effect.
        """
        # A pipe that is full raises BlockingIOError. It is ignored, because the pipe is readable.
        if self._writing >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._writing, b"\0")

    def clear(self) -> bool:
        """Empty the pipe; returns True if `set` was called since the last `clear`."""
        try:
            os.read(self.reading, _READ_BYTES)
        except BlockingIOError:
            return False
        return True

    def wake_on_signals(self) -> None:
        """Let each signal that has a handler make `reading` readable. Call it on the main thread.

        Python runs a signal handler only when the main thread executes Python code again. Without
        the pipe, a signal that arrives just before the main thread starts to wait, or that another
        thread receives, would take effect only when the wait ends. This method is known as the
        self-pipe trick.
        """
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._wakes_on_signals = True

    def close(self) -> None:
        """Close both ends. If `wake_on_signals` was called, call this on the main thread."""
        if self._wakes_on_signals:
            # This comes before the descriptor is closed, because another file may then get its
            # number.
            signal.set_wakeup_fd(-1)
            self._wakes_on_signals = False
        # The attribute is reset before the descriptor is closed, because a signal handler may call
        # `set` in between.
        writing, self._writing = self._writing, -1
        os.close(writing)
        os.close(self.reading)


def lower_priority() -> None:
    """Raise the niceness of the calling thread to `NICE`. Programs that it starts inherit it.

    On Linux each thread has its own niceness: setpriority(2), NOTES. If a system call filter
    forbids the call, the niceness does not change.
    """
    with contextlib.suppress(OSError):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(NICE, now))


class PeriodicThread:
    """Calls `step` on a thread every `interval()` seconds until `stop`, and also after `trigger`.

    The start times are multiples of the interval after the first one, so they do not drift. If a
    step takes longer than the interval, the steps that are due in this time are skipped. A
    triggered step starts at least `min_interval_seconds` after the start of the previous step.
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
        # poll() is used because threading.Event.wait is slower: its wake-up takes as long as
        # parsing a sample.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._stopping = False
        self._errors = UnexpectedErrors(log, clock.monotonic)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread. The first step starts after one interval."""
        self._thread.start()

    def trigger(self) -> None:
        """Request a step as soon as `min_interval_seconds` permits. Any thread may call it."""
        os.eventfd_write(self._wake, 1)

    def request_stop(self) -> None:
        """Let the thread end after the current step. Any thread may call it."""
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
            # A triggered step is additional: the next regular step still runs when it is due.
            if not triggered or due <= monotonic():
                due = self._next_due(due)
            # This code makes as few calls as possible. It runs every second with cold CPU caches,
            # so each call takes microseconds.
            left = due - monotonic()
            triggered = bool(poll(int(left * 1000) + 1 if left > 0 else 0))
            if triggered:
                if not self._stopping:
                    self._sleep_until(last + self._min_interval_seconds)
                # The event is cleared before `_stopping` is checked. In the other order, a stop
                # that is requested in between would be cleared and lost.
                os.eventfd_read(self._wake)
            if self._stopping:
                return
            last = monotonic()
            try:
                self._step()
            except Exception as e:  # noqa: BLE001
                # After an error in one step the thread continues with the next one.
                self._errors.record(e, f"{self._name}: a step failed")

    def _next_due(self, due: float) -> float:
        interval, now = self._interval(), self._clock.monotonic()
        due += interval
        return due if due > now else now + interval - (now - due) % interval

    def _sleep_until(self, until: float) -> None:
        while not self._stopping and (left := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, 0.1))


class LoopThread:
    """Calls `step` on a thread in a loop until `stop`. Each step waits for its work.

    wake: makes a step that waits return soon. It is called on the thread that requests the stop.
    close: called on the loop's thread after the last step.
    low_priority: the thread runs with the niceness `NICE`.
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
        self._errors = UnexpectedErrors(log)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread. The first step starts at once."""
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
            except Exception as e:  # noqa: BLE001
                # After an error in one step the thread continues with the next one.
                self._errors.record(e, f"{self._name}: a step failed")
                self._stopping.wait(_PAUSE_AFTER_ERROR_SECONDS)
        self._close()
