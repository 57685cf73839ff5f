"""What ends a wait on descriptors: another thread, or a signal."""

import contextlib
import os
import signal

_MOST_BYTES = 4096


class Wake:
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

    def hear_signals(self) -> None:
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
