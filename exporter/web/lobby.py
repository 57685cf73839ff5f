"""Holds accepted connections that wait for a place, and selects the next one by client address.

The kernel's listen queue is served in order: a client would wait behind every connection of another
address. Therefore connections are accepted at once and wait here. The next one belongs to the
address that has the fewest connections. No data of a waiting connection is read.
"""

import resource
import socket
from collections import Counter, deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from exporter.web.connection import Connection, network_of

#: Maximum number of waiting connections. As many fit into the kernel's listen queue, which takes
#: about as much memory for each of them.
MAX_WAITING = 2048

#: File descriptors that are left for everything else in this process, such as open files, the
#: connections that are served, and the pipes of child processes.
_OTHER_DESCRIPTORS = 512

#: A network with more than one of this number of places counts as one client, as for evictions.
_MAX_NETWORK_SHARE = 4


def raise_descriptor_limit() -> None:
    """Raises the soft limit of open files so that the lobby can be full.

    systemd and many shells set it to 1,024, for programs that use select(2), and permit to raise
    it. If that is not permitted, fewer connections can wait.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_WAITING + _OTHER_DESCRIPTORS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


#: The response to a connection that is refused.
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
    b"Connection: close\r\n\r\n"
)


def refuse(sock: socket.socket, *, is_encrypted: bool) -> None:
    """Closes a connection that gets no place. Without TLS it receives status 503."""
    with suppress(OSError):
        sock.setblocking(False)
        if not is_encrypted:
            sock.send(_FULL)
    sock.close()


@dataclass(slots=True)
class _Address:
    """The waiting connections of one client address, and its network."""

    network: str
    sockets: deque[socket.socket] = field(default_factory=deque)


class Lobby:
    """Accepted connections, by the address of the client. Each address is served in order."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Address] = {}
        self._networks: Counter[str] = Counter()
        self._size = 0
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_WAITING if soft == resource.RLIM_INFINITY else soft - _OTHER_DESCRIPTORS
        self._places = max(1, min(limit, MAX_WAITING))

    def __len__(self) -> int:
        return self._size

    @property
    def can_take(self) -> bool:
        """True if another connection can be added.

        False means that it must wait in the kernel's queue: all places are in use, and no address
        has more than one.
        """
        return self._size < self._places or self._size > len(self._waiting)

    def add(self, sock: socket.socket, peer: str) -> socket.socket | None:
        """Adds a connection. Returns one that must be refused; None if there is a place for each.

        peer: the address of the client.
        """
        address = self._waiting.get(peer)
        if address is None:
            address = self._waiting[peer] = _Address(network_of(peer))
        address.sockets.append(sock)
        self._networks[address.network] += 1
        self._size += 1
        return self.newest_of_busiest() if self._size > self._places else None

    def newest_of_busiest(self) -> socket.socket | None:
        """Removes and returns the newest connection of the busiest address; None if none waits.

        That is the address with the most waiting connections. If a network has more than a quarter
        of all, it is an address of this network.
        """
        if not self._size:
            return None
        network, most = self._networks.most_common(1)[0]
        is_busy = most * _MAX_NETWORK_SHARE > self._size
        peer, address = max(
            (item for item in self._waiting.items() if not is_busy or item[1].network == network),
            key=lambda item: len(item[1].sockets),
        )
        sock = address.sockets.pop()
        self._removed(peer, address)
        return sock

    def take(self, connections: Collection[Connection]) -> tuple[socket.socket, str]:
        """Removes and returns the next connection and its address. There must be one.

        It belongs to the address with the fewest of the open connections; of several, to the one
        whose turn is longest ago. Addresses of a network with more than a quarter of the
        connections come last.
        """
        peer = next(iter(self._waiting))
        if len(self._waiting) > 1:
            peers = Counter(each.peer for each in connections)
            networks = Counter(each.network for each in connections)
            share = len(connections) / _MAX_NETWORK_SHARE
            busy = {name: count for name, count in networks.items() if count > share}
            peer = min(
                self._waiting,
                key=lambda each: (busy.get(self._waiting[each].network, 0), peers[each]),
            )
        address = self._waiting.pop(peer)
        sock = address.sockets.popleft()
        # The address goes to the end: addresses with as many connections take turns.
        self._waiting[peer] = address
        self._removed(peer, address)
        return sock, peer

    def close(self) -> None:
        """Closes all waiting connections."""
        while (sock := self.newest_of_busiest()) is not None:
            sock.close()

    def _removed(self, peer: str, address: _Address) -> None:
        self._networks[address.network] -= 1
        if not self._networks[address.network]:
            del self._networks[address.network]
        if not address.sockets:
            del self._waiting[peer]
        self._size -= 1
