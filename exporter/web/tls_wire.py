"""A connected TLS socket that never blocks.

Apart from `wire`, so that ssl is imported where TLS is configured only: it takes 4 MB.
"""

import contextlib
import socket
import ssl
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE

from exporter.web.wire import CHUNK_BYTES, Wire

#: What one TLS record holds.
_RECORD_BYTES = 1 << 14


class TlsWire(Wire):
    """A wire on which TLS is spoken; `admits` judges the client once its handshake is done."""

    def __init__(
        self,
        link: socket.socket,
        context: ssl.SSLContext,
        admits: Callable[[ssl.SSLSocket], bool],
    ) -> None:
        super().__init__(link)
        self._tls = context.wrap_socket(link, server_side=True, do_handshake_on_connect=False)
        self.link = self._tls
        self._admits = admits

    def handshake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
            return False
        if not self._admits(self._tls):
            raise ssl.SSLError("no allowed name in the client's certificate")
        return True

    def receive(self) -> bytes | None:
        self.waits = EVENT_READ
        try:
            return self._tls.recv(CHUNK_BYTES)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
        return None

    def send(self, head: memoryview, body: memoryview) -> int:
        try:
            if head:
                room = max(0, _RECORD_BYTES - len(head))
                return self._tls.send(b"".join((head, body[:room])))
            return self._tls.send(body)
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
        return 0

    def end(self) -> None:
        # Sends close_notify, and would then wait for the client's.
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self._tls.unwrap()
        super().end()
