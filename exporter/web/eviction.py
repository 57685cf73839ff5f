"""Selects the connection that a full server closes for a new client.

The client address with the most connections loses one. So a client whose address has only one
connection gets in, whatever the clients of another address do: send nothing, read slowly, or send
one request after the other.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable

from exporter.web.connection import Connection, ConnectionPhase

#: Minimum time in seconds that a connection is in a phase before it can be evicted. With 64
#: connections, 2,560 per second can be replaced. So a scraper that connects after 1,000 other
#: clients waits 0.4 s in the kernel's queue.
GRACE_SECONDS = 0.025

#: Time in seconds after which the workers count as hanging, if none of them has started or ended a
#: job meanwhile. It is longer than a page takes, and short enough for a probe with a timeout of
#: 1 s. A queue that is long but served is not a hang, however long its requests wait.
HANG_SECONDS = 0.5

#: A network of which more than one of this number of connections come counts as one client. So a
#: client with many addresses has no advantage. The limit is 16 of 64 connections: two Prometheus
#: servers, several health checkers and a browser in one network do not reach it.
_MAX_NETWORK_SHARE = 4

#: Maximum number of connections whose transferred bytes are compared for an eviction. Comparing all
#: of them at each accept would take too much CPU time.
_MAX_CANDIDATES = 8

#: The group of each phase, for eviction. The largest group loses a connection. So a large number of
#: silent, idle or slow clients evicts only connections of its own group.
_GROUPS = {
    ConnectionPhase.HANDSHAKE: "requesting",
    ConnectionPhase.READING: "requesting",
    ConnectionPhase.IDLE: "idle",
    ConnectionPhase.WRITING: "writing",
    ConnectionPhase.PROCESSING: "processing",
}


def connection_to_evict(
    connections: Collection[Connection], stuck_seconds: float
) -> Connection | None:
    """Returns the connection to close for a new one; None if the workers of all of them hang.

    A connection whose client has received its last response comes first. Otherwise the choice has
    three steps:

    1. If more than a quarter of all connections belong to one network, the network with the most
       connections loses one. In it, or else of all, the client address with the most connections
       loses one. If several addresses have the same number, all of them are candidates.
    2. Of their connections, the group with the most connections loses one, see `_GROUPS`.
    3. The connections of this group that have waited for the client for longest are compared. The
       one that has transferred the fewest bytes is selected, and of several the oldest. A scraper
       transfers bytes at once. So it keeps its connection during its TLS handshake, even while many
       silent clients connect and disconnect. Of a connection that receives a response, only the
       bytes of this response count. Otherwise a new client would lose against an old one.

    The result may be in its grace time (`grace_seconds`): then the caller must wait for the end of
    this time, and select again. It may also be processing a request: then the caller must wait for
    the response, and close the connection after it. If the workers hang, connections that are
    processing are no candidates.

    stuck_seconds: the time for which no worker has started or ended a job, in seconds.
    """
    finished = [c for c in connections if c.phase is ConnectionPhase.LINGERING]
    if finished:
        return min(finished, key=_phase_since)
    is_hanging = stuck_seconds > HANG_SECONDS
    candidates = [
        c
        for c in connections
        if c.phase in _GROUPS and not (is_hanging and c.phase is ConnectionPhase.PROCESSING)
    ]
    if not candidates:
        return None
    candidates = _of_busiest_addresses(candidates, connections)
    group = _most_frequent(_GROUPS[c.phase] for c in candidates)
    candidates = [c for c in candidates if _GROUPS[c.phase] == group]
    if group == "processing":
        # The next one in the queue of the workers that does not close anyway.
        return min(candidates, key=lambda c: (c.is_last_request, c.phase_since))
    oldest = heapq.nsmallest(_MAX_CANDIDATES, candidates, key=_waiting_since)
    return min(oldest, key=lambda c: (c.transferred_bytes(), c.phase_since))


def connection_to_displace(connections: Collection[Connection], peer: str) -> Connection | None:
    """Returns a connection whose request is dropped for a client, although it is being processed.

    This is the last resort if all connections wait for workers that hang. The result belongs to the
    client address with the most connections, and is the one that has waited for the shortest time.
    An address without a connection always gets one: its request may be a health check, which needs
    no worker. None means that an address with connections would then have as many as the busiest.

    peer: the address of the client.
    """
    counts = Counter(c.peer for c in connections)
    busiest = max(counts.values(), default=0)
    if counts[peer] and busiest <= counts[peer] + 1:
        return None
    processing = [
        c
        for c in connections
        if counts[c.peer] == busiest and c.phase is ConnectionPhase.PROCESSING
    ]
    return max(processing, key=_phase_since, default=None)


def grace_seconds(connection: Connection, now: float) -> float:
    """Returns the time in seconds until a connection may be evicted; 0 if it may be evicted now.

    now: the monotonic time.
    """
    if connection.phase in {ConnectionPhase.IDLE, ConnectionPhase.LINGERING}:
        return 0.0
    return max(0.0, _waiting_since(connection) + GRACE_SECONDS - now)


def _of_busiest_addresses(
    candidates: Collection[Connection], connections: Collection[Connection]
) -> list[Connection]:
    """Returns the candidates of those client addresses that have the most connections.

    If a network has more than its share, only the addresses of the busiest network are compared.
    """
    networks = Counter(c.network for c in connections)
    most = max(networks[c.network] for c in candidates)
    if most * _MAX_NETWORK_SHARE > len(connections):
        candidates = [c for c in candidates if networks[c.network] == most]
    counts = Counter(c.peer for c in connections)
    most = max(counts[c.peer] for c in candidates)
    return [c for c in candidates if counts[c.peer] == most]


def _most_frequent(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


def _phase_since(connection: Connection) -> float:
    return connection.phase_since


def _waiting_since(connection: Connection) -> float:
    """Returns the monotonic time since which the connection waits for its client."""
    if connection.phase is ConnectionPhase.WRITING:
        return connection.sent_at
    return connection.phase_since
