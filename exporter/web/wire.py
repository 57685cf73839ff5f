"""A connected socket that never blocks, plain or TLS."""

import contextlib
import socket
import ssl
import struct
from selectors import EVENT_READ, EVENT_WRITE

_CHUNK_BYTES = 1 << 14

#: What one TLS record holds.
_RECORD_BYTES = 1 << 14

#: Where tcpi_bytes_acked and tcpi_bytes_received stand in struct tcp_info (linux/tcp.h, 4.1).
_MOVED = 120
_MOVED_END = 136

_NO_LINGER = struct.pack("ii", 1, 0)


class Wire:
    """Bytes in and out; after an operation that could not go on, `waits` is the event it needs.

    Everything may raise OSError (ssl.SSLError is one): the connection is then of no more use.
    """

    def __init__(self, link: socket.socket, context: ssl.SSLContext | None) -> None:
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waits = EVENT_READ
        self.link = link
        self.tls: ssl.SSLSocket | None = None
        if context:
            self.link = self.tls = context.wrap_socket(
                link, server_side=True, do_handshake_on_connect=False
            )

    def handshake(self) -> bool:
        """Whether the TLS handshake is done; True at once without TLS."""
        try:
            if self.tls:
                self.tls.do_handshake()
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
            return False
        return True

    def receive(self) -> bytes | None:
        """What has come; None where nothing has, b"" where the client has ended."""
        self.waits = EVENT_READ
        try:
            return self.link.recv(_CHUNK_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
        return None

    def send(self, head: memoryview, body: memoryview) -> int:
        """How many bytes of both were taken; 0 where the client does not read.

        Head and body leave in one write: of two, the second can wait for the first one's
        acknowledgement.
        """
        try:
            if not self.tls:
                return self.link.sendmsg((head, body))
            if head:
                room = max(0, _RECORD_BYTES - len(head))
                return self.tls.send(b"".join((head, body[:room])))
            return self.tls.send(body)
        except (BlockingIOError, ssl.SSLWantWriteError):
            self.waits = EVENT_WRITE
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
        return 0

    def moved_bytes(self) -> int:
        """What the client has sent and taken so far, TLS and all; 0 if the kernel does not say."""
        try:
            info = self.link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MOVED_END)
        except OSError:
            return 0
        return sum(struct.unpack("QQ", info[_MOVED:])) if len(info) == _MOVED_END else 0

    def end(self) -> None:
        """Say that nothing more will be sent; what the client still sends can be received."""
        if self.tls:
            # Sends close_notify, and would then wait for the client's.
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self.tls.unwrap()
        self.link.shutdown(socket.SHUT_WR)

    def close(self, *, abort: bool = False) -> None:
        """Close; with `abort` the kernel forgets what the client has not fetched."""
        with contextlib.suppress(OSError):
            if abort:
                self.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.link.close()
