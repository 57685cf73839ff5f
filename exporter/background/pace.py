"""A thread of its own for what happens at a steady pace."""

import logging
import os
import select
import threading
from collections.abc import Callable

from exporter.clock import Clock
from exporter.tools.niceness import stand_back

log = logging.getLogger(__name__)

#: A step that fails at once must not fill the log.
_AFTER_MISTAKE_SECONDS = 10.0


class Pace:
    """Calls `step` every `interval()` seconds until `stop`, or sooner when `hurry` asks for it.

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

    def hurry(self) -> None:
        """Ask for a step soon."""
        os.eventfd_write(self._wake, 1)

    def ask_to_stop(self) -> None:
        """End after the step under way."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def stop(self, timeout: float) -> bool:
        """`ask_to_stop`, and wait for it; False where that takes longer than `timeout`."""
        self.ask_to_stop()
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


class Rounds:
    """A thread that calls `step` again and again; each waits for itself.

    `wake` lets a step under way return soon, `close` is called on the thread after the last.
    stands_back: our other threads, and all else that runs here, go first.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], None],
        wake: Callable[[], None],
        close: Callable[[], None],
        *,
        stands_back: bool = False,
    ) -> None:
        self._name = name
        self._stands_back = stands_back
        self._step = step
        self._wake = wake
        self._close = close
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin with the first step."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """End after the step under way."""
        self._stopping.set()
        self._wake()

    def stop(self, timeout: float) -> bool:
        """`ask_to_stop`, and wait for it; False where that takes longer than `timeout`."""
        self.ask_to_stop()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if self._stands_back:
            stand_back()
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception:
                # The last line of a thread that must not end: a mistake of ours costs one step.
                log.exception("%s: a step failed; please report this", self._name)
                self._stopping.wait(_AFTER_MISTAKE_SECONDS)
        self._close()
