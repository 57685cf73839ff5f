"""A connected, non-blocking TCP socket."""

import contextlib
import socket
import struct
from selectors import EVENT_READ, EVENT_WRITE

#: Bytes per read from a socket.
CHUNK_BYTES = 1 << 14

#: Offsets of tcpi_bytes_acked and tcpi_bytes_received in struct tcp_info (linux/tcp.h, since 4.1).
_TCP_INFO_BYTES_START = 120
_TCP_INFO_BYTES_END = 136

#: struct linger that makes close() send a reset: on, 0 seconds.
_LINGER_RESET = struct.pack("ii", 1, 0)


class Transport:
    """Reads and writes bytes of one client without blocking.

    After an operation that would block, `needed_events` is the selector event to wait for before
    the next attempt. Every method may raise OSError; the connection is then unusable.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.needed_events = EVENT_READ
        self.sock = sock

    def handshake(self) -> bool:
        """Continue the TLS handshake, if any. Returns True when it is complete."""
        return True

    def receive(self) -> bytes | None:
        """Returns received bytes; None if there are none yet, b"" if the client closed its side."""
        self.needed_events = EVENT_READ
        try:
            return self.sock.recv(CHUNK_BYTES)
        except BlockingIOError:
            return None

    def send(self, head: memoryview, body: memoryview) -> int:
        """Send head and body; returns the number of bytes sent, 0 if the client does not read.

        Both are sent in one system call. With two, the second could wait for the acknowledgement
        of the first.
        """
        try:
            return self.sock.sendmsg((head, body))
        except BlockingIOError:
            self.needed_events = EVENT_WRITE
        return 0

    def transferred_bytes(self) -> int:
        """Returns the bytes that the client has sent and acknowledged, with TLS; 0 if unknown."""
        try:
            info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES_END)
        except OSError:
            return 0
        if len(info) != _TCP_INFO_BYTES_END:
            return 0
        return sum(struct.unpack("QQ", info[_TCP_INFO_BYTES_START:]))

    def end(self) -> None:
        """Close the sending side. Data from the client can still be received."""
        self.sock.shutdown(socket.SHUT_WR)

    def close(self, *, abort: bool = False) -> None:
        """Close the socket. With `abort` the kernel discards data that was not acknowledged."""
        with contextlib.suppress(OSError):
            if abort:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        self.sock.close()
