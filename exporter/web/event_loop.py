"""Defines the event loop: one thread waits for many sockets and calls functions on their events."""

import collections
import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable

from exporter.runtime.logs import UnexpectedErrors

Callback = Callable[[], None]

_log = logging.getLogger(__name__)

#: Time in seconds until the timer is called again after it raised an exception.
_TIMER_RETRY_SECONDS = 1.0


class EventLoop:
    """Runs callbacks when sockets are ready, and callbacks that other threads post.

    The loop works in turns: each turn waits for the sockets, and then runs the callbacks of the
    sockets that are ready. Other threads may call only `post`.

    An exception of a callback or of the timer is logged, and the loop continues. If the callback of
    a socket raises one, the loop no longer watches that socket, because its event would occur again
    at once.

    asyncio is not used because its TLS allocates half a megabyte per connection at the accept,
    before the server can reject the connection (docs/http-server.md).
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._posted: collections.deque[Callback] = collections.deque()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._wake_sender.setblocking(False)
        self._lock = threading.Lock()
        self._open = True
        self._errors = UnexpectedErrors(_log)
        self.watch(self._wake_receiver, 0, selectors.EVENT_READ, self._run_posted)

    def post(self, callback: Callback) -> None:
        """Make the loop run the callback soon. Other threads may call it.

        After `close` the callback is never run.
        """
        self._posted.append(callback)
        with self._lock, contextlib.suppress(BlockingIOError):
            # The byte wakes up the loop. If the buffer is full, earlier bytes wake it up.
            if self._open:
                self._wake_sender.send(b"\0")

    def watch(self, sock: socket.socket, old: int, new: int, callback: Callback) -> int:
        """Watch a socket for the events `new` instead of the events `old`; returns `new`.

        old, new: the sum of EVENT_READ and EVENT_WRITE of the module selectors, or 0 for no event.
        callback: the function that the loop calls when one of the events occurs.
        """
        if old and not new:
            self._selector.unregister(sock)
        elif new and not old:
            self._selector.register(sock, new, callback)
        elif new != old:
            self._selector.modify(sock, new, callback)
        return new

    def run(self, until: Callable[[], bool], timer: Callable[[float], float]) -> None:
        """Run the loop until `until` returns True. It is checked once per turn.

        timer: the loop calls it before each wait, with the monotonic time. It returns the monotonic
            time at which the wait must end at the latest, or infinity.
        """
        while not until():
            try:
                due = timer(time.monotonic())
            except Exception as e:  # noqa: BLE001
                self._errors.record(e, "the timer of the event loop failed")
                due = time.monotonic() + _TIMER_RETRY_SECONDS
            timeout = None if due == float("inf") else max(0.0, due - time.monotonic())
            for key, _ in self._selector.select(timeout):
                # An earlier callback of this turn may have closed this socket, and a new socket
                # may have the same descriptor.
                is_watched = self._selector.get_map().get(key.fd) is key
                if is_watched and not self._succeeds(key.data):
                    self.forget(key.fileobj)  # type: ignore[arg-type]

    def forget(self, sock: socket.socket) -> None:
        """Stop watching a socket, whatever the loop knows of it."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(sock)

    def close(self) -> None:
        """Close the selector and the loop's own sockets. Posted callbacks that wait are dropped."""
        with self._lock:
            self._open = False
            self._selector.close()
            self._wake_receiver.close()
            self._wake_sender.close()

    def _run_posted(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_receiver.recv(4096)
        # Callbacks that these callbacks post run in the next turn. So the sockets are not delayed.
        for _ in range(len(self._posted)):
            self._succeeds(self._posted.popleft())

    def _succeeds(self, callback: Callback) -> bool:
        """Run a callback; returns False if it raised an exception, which is logged."""
        try:
            callback()
        except Exception as e:  # noqa: BLE001
            self._errors.record(e, "a callback of the event loop failed")
            return False
        return True
