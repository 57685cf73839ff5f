"""A process that removes the tracing instance if the measuring process is killed.

The kernel does not remove an instance with its process, and no handler runs after SIGKILL. The
guard is a fork that waits until the other end of a pipe is closed.
"""

import os
import signal
from collections.abc import Callable
from types import TracebackType

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
_DONE = b"."


class TraceGuard:
    """Context manager that runs a clean-up in another process if this one ends without `__exit__`.

    Use it while the process has one thread.

    clean_up: must use neither stdin nor stdout. Its exceptions are lost.

    process: the ID of the guard.
    """

    def __init__(self, clean_up: Callable[[], object]) -> None:
        self._clean_up = clean_up
        self._pipe = self.process = -1

    def __enter__(self) -> "TraceGuard":  # noqa: PYI034 - Self came with Python 3.11
        reading, self._pipe = os.pipe()
        self.process = os.fork()
        if not self.process:
            try:
                self._guard(reading)
            finally:
                os._exit(0)
        os.close(reading)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            os.write(self._pipe, _DONE)
        except BrokenPipeError:
            # The guard was killed. This process has cleaned up.
            pass
        finally:
            os.close(self._pipe)
            os.waitpid(self.process, 0)

    def _guard(self, reading: int) -> None:
        # A session of its own: Ctrl-C and a closed terminal are for the other process.
        os.setsid()
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.close(self._pipe)
        # A reader of the output of the other process must see its end.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if os.read(reading, 1) != _DONE:
            self._clean_up()
