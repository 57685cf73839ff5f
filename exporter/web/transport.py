"""Reads from and writes to a connected TCP socket without blocking."""

import contextlib
import socket
import struct
from selectors import EVENT_READ, EVENT_WRITE

#: Maximum number of bytes per read from a socket.
CHUNK_BYTES = 1 << 14

#: Start and end of the two adjacent fields tcpi_bytes_acked and tcpi_bytes_received in struct
#: tcp_info, in bytes (linux/tcp.h, since kernel 4.1).
_TCP_INFO_BYTES_START = 120
_TCP_INFO_BYTES_END = 136

#: A struct linger with l_onoff=1 and l_linger=0. It makes close() send a reset.
_LINGER_RESET = struct.pack("ii", 1, 0)


class Transport:
    """Receives bytes from one client and sends bytes to it, without blocking.

    Every method may raise OSError; the connection is then unusable.

    sock: the connected socket.
    needed_events: the selector event to wait for before the next attempt, if the last operation
        would have blocked.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.needed_events = EVENT_READ
        self.sock = sock

    def handshake(self) -> bool:
        """Continue the TLS handshake; returns True if it is complete. Always True without TLS."""
        return True

    def receive(self) -> bytes | None:
        """Returns bytes from the client, at most `CHUNK_BYTES` of them.

        None means that no bytes have arrived yet. b"" means that the client has closed its side.
        """
        self.needed_events = EVENT_READ
        try:
            return self.sock.recv(CHUNK_BYTES)
        except BlockingIOError:
            return None

    def send(self, head: memoryview, body: memoryview) -> int:
        """Send as much of head and body as possible; returns the number of bytes sent.

        0 means that the send buffer is full, because the client does not read. Head and body are
        sent in one system call. With two calls, the second packet could wait for the
        acknowledgement of the first.
        """
        try:
            return self.sock.sendmsg((head, body))
        except BlockingIOError:
            self.needed_events = EVENT_WRITE
        return 0

    def transferred_bytes(self) -> int:
        """Returns the number of bytes that the client has sent and acknowledged; 0 if unknown.

        The number includes the overhead of TLS.
        """
        try:
            info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES_END)
        except OSError:
            return 0
        if len(info) != _TCP_INFO_BYTES_END:
            return 0
        return sum(struct.unpack("QQ", info[_TCP_INFO_BYTES_START:]))

    def end(self) -> None:
        """Close the sending side. Data of the client can still be received."""
        self.sock.shutdown(socket.SHUT_WR)

    def close(self, *, abort: bool = False) -> None:
        """Close the socket.

        abort: True makes the kernel send a reset and discard data that the client has not
            acknowledged.
        """
        with contextlib.suppress(OSError):
            if abort:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        self.sock.close()
