"""One thread that waits for many sockets."""

import collections
import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable

Call = Callable[[], None]


class EventLoop:
    """Calls what is registered with a socket when that is ready, and what other threads post.

    Not asyncio: its TLS takes half a megabyte for each connection, from the accept on and before
    a server is told of the connection (docs/http-server.md).
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._posted: collections.deque[Call] = collections.deque()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._lock = threading.Lock()
        self._open = True
        self.watch(self._woken, 0, selectors.EVENT_READ, self._run_posted)

    def post(self, call: Call) -> None:
        """Have the loop call this soon. From any thread; forgotten once the loop is closed."""
        self._posted.append(call)
        with self._lock, contextlib.suppress(BlockingIOError):
            # A full pipe will wake the loop as well.
            if self._open:
                self._wake.send(b"\0")

    def watch(self, link: socket.socket, old: int, new: int, call: Call) -> int:
        """Wait for the events `new` of a socket instead of `old`; 0 is none. Returns `new`."""
        if old and not new:
            self._selector.unregister(link)
        elif new and not old:
            self._selector.register(link, new, call)
        elif new != old:
            self._selector.modify(link, new, call)
        return new

    def run(self, until: Callable[[], bool], timer: Callable[[float], float]) -> None:
        """Go on until that holds. `timer` is told the time, and tells when it wants to be next."""
        while not until():
            due = timer(time.monotonic())
            wait = None if due == float("inf") else max(0.0, due - time.monotonic())
            for key, _ in self._selector.select(wait):
                # A call of this turn may have closed it, and another may have its descriptor.
                if self._selector.get_map().get(key.fd) is key:
                    key.data()

    def close(self) -> None:
        with self._lock:
            self._open = False
            self._selector.close()
            self._woken.close()
            self._wake.close()

    def _run_posted(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        # Only what is there now: a call may post itself again.
        for _ in range(len(self._posted)):
            self._posted.popleft()()
