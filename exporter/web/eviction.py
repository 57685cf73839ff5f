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

#: Time in seconds after which the workers count as hanging, if a request has waited for longer.
HANG_SECONDS = 0.5

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


def connection_to_evict(connections: Collection[Connection], now: float) -> Connection | None:
    """Returns the connection to close for a new one; None if the workers of all of them hang.

    A connection whose client has received its last response comes first. Otherwise the choice has
    three steps:

    1. The client address with the most connections loses one. If several addresses have the same
       number, all of them are candidates.
    2. Of their connections, the group with the most connections loses one, see `_GROUPS`.
    3. The oldest connections of this group are compared. The one that has transferred the fewest
       bytes is selected, and of several the oldest. A scraper transfers bytes at once. So it keeps
       its connection during its TLS handshake, even while many silent clients connect and
       disconnect.

    The result may be in its grace time (`grace_seconds`): then the caller must wait for the end of
    this time, and select again. It may also be processing a request: then the caller must wait for
    the response, and close the connection after it. A request that has waited for longer than
    `HANG_SECONDS` shows that the workers hang. Then connections that are processing are no
    candidates.

    now: the monotonic time.
    """
    finished = [c for c in connections if c.phase is ConnectionPhase.LINGERING]
    if finished:
        return min(finished, key=_phase_since)
    processing = [c for c in connections if c.phase is ConnectionPhase.PROCESSING]
    is_hanging = any(now - c.phase_since > HANG_SECONDS for c in processing)
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
    oldest = heapq.nsmallest(_MAX_CANDIDATES, candidates, key=_phase_since)
    return min(oldest, key=lambda c: (c.transport.transferred_bytes(), c.phase_since))


def connection_to_displace(connections: Collection[Connection], peer: str) -> Connection | None:
    """Returns a connection whose request is dropped for a client, although it is being processed.

    This is the last resort if all connections wait for workers that hang. The result belongs to the
    client address with the most connections, and is the one that has waited for the shortest time.
    None means that the client itself would then have as many connections as that address.

    peer: the address of the client.
    """
    counts = Counter(c.peer for c in connections)
    busiest = max(counts.values(), default=0)
    if busiest <= counts[peer] + 1:
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
    return max(0.0, connection.phase_since + GRACE_SECONDS - now)


def _of_busiest_addresses(
    candidates: Collection[Connection], connections: Collection[Connection]
) -> list[Connection]:
    """Returns the candidates of those client addresses that have the most connections."""
    counts = Counter(c.peer for c in connections)
    most = max(counts[c.peer] for c in candidates)
    return [c for c in candidates if counts[c.peer] == most]


def _most_frequent(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


def _phase_since(connection: Connection) -> float:
    return connection.phase_since
