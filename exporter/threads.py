"""What ends a wait on descriptors: another thread, or a signal.

Standing back: drives can wait where a database wants the CPU.

A thread of its own for what happens at a steady pace.
"""

import contextlib
import logging
import os
import select
import signal
import threading
from collections.abc import Callable

from exporter.clock import Clock

_MOST_BYTES = 4096


class WakePipe:
    """A pipe. `reading` is readable from `set` until `clear`, for whoever polls it."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._hears = False

    def set(self) -> None:
        """End the wait that goes on, or the next; from any thread. Nothing once it is closed."""
        # Full is as readable as it gets.
        if self._writing >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._writing, b"\0")

    def clear(self) -> bool:
        """Whether it was set."""
        try:
            os.read(self.reading, _MOST_BYTES)
        except BlockingIOError:
            return False
        return True

    def wake_on_signals(self) -> None:
        """Be set by each signal that has a handler, before that runs. For the main thread.

        A handler of Python's runs when the main thread comes to it: one that arrives just before
        a wait begins, or at another thread, would be heard when the wait is over (signal(7) calls
        the remedy the self-pipe trick).
        """
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._hears = True

    def close(self) -> None:
        """From the main thread, where it hears signals."""
        if self._hears:
            # Before its number is another file's.
            signal.set_wakeup_fd(-1)
            self._hears = False
        # First, for a signal may come between the two.
        writing, self._writing = self._writing, -1
        os.close(writing)
        os.close(self.reading)


#: Of every thread of ours that asks drives, and of the programs that it starts.
NICE = 10


def lower_priority() -> None:
    """Make the calling thread nice, and what it starts from now on; never less than it was.

    On Linux niceness is each thread's own (setpriority(2), NOTES). Nothing is lost where it is not
    allowed, as by the filter of a unit that has set it already.
    """
    with contextlib.suppress(OSError):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(NICE, now))


log = logging.getLogger(__name__)

#: A step that fails at once must not fill the log.
_AFTER_MISTAKE_SECONDS = 10.0


class PeriodicThread:
    """Calls `step` every `interval()` seconds until `stop`, or sooner when `trigger` asks for it.

    Steps stand on a grid from the first one, so that they do not drift; one that takes too long
    costs those that it overlaps, and never piles them up. `least` seconds lie between two steps
    that are hurried.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], None],
        interval: Callable[[], float],
        clock: Clock,
        least: float = 0.0,
    ) -> None:
        self._name = name
        self._step = step
        self._interval = interval
        self._clock = clock
        self._least = least
        # A poll on a descriptor, for a threading.Event takes as long to wake as a sample to parse.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first step comes one interval from now."""
        self._thread.start()

    def trigger(self) -> None:
        """Ask for a step soon."""
        os.eventfd_write(self._wake, 1)

    def request_stop(self) -> None:
        """End after the step under way."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def stop(self, timeout: float) -> bool:
        """`request_stop`, and wait for it; False where that takes longer than `timeout`."""
        self.request_stop()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        monotonic, poll = self._clock.monotonic, self._poll.poll
        due = last = monotonic()
        hurried = False
        while True:
            # A hurried step comes before the one that is due, and does not stand for it.
            if not hurried or due <= monotonic():
                due = self._next(due)
            # Few calls between two steps: with cold caches each costs microseconds, every second.
            left = due - monotonic()
            hurried = bool(poll(int(left * 1000) + 1 if left > 0 else 0))
            if hurried:
                if not self._stopping:
                    # A device that comes and goes ten times a second hurries no more than this.
                    self._rest(last + self._least)
                # In this order, or a stop that comes in between is cleared and not seen.
                os.eventfd_read(self._wake)
            if self._stopping:
                return
            last = monotonic()
            try:
                self._step()
            except Exception:
                # The last line of a thread that must not end: a mistake of ours costs one step.
                log.exception("%s: a step failed; please report this", self._name)

    def _next(self, due: float) -> float:
        interval, now = self._interval(), self._clock.monotonic()
        due += interval
        return due if due > now else now + interval - (now - due) % interval

    def _rest(self, until: float) -> None:
        while not self._stopping and (left := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, 0.1))


class LoopThread:
    """A thread that calls `step` again and again; each waits for itself.

    `wake` lets a step under way return soon, `close` is called on the thread after the last.
    low_priority: our other threads, and all else that runs here, go first.
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
        self._stands_back = low_priority
        self._step = step
        self._wake = wake
        self._close = close
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin with the first step."""
        self._thread.start()

    def request_stop(self) -> None:
        """End after the step under way."""
        self._stopping.set()
        self._wake()

    def stop(self, timeout: float) -> bool:
        """`request_stop`, and wait for it; False where that takes longer than `timeout`."""
        self.request_stop()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if self._stands_back:
            lower_priority()
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception:
                # The last line of a thread that must not end: a mistake of ours costs one step.
                log.exception("%s: a step failed; please report this", self._name)
                self._stopping.wait(_AFTER_MISTAKE_SECONDS)
        self._close()
