"""Which connection makes room for another when the server is full."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable

from exporter.web.connection import Connection, Phase

#: Nobody is thrown out sooner. 64 connections then change hands 2,560 times a second, so behind
#: 1,000 others a scraper waits 0.4 s in the kernel's queue.
GRACE_SECONDS = 0.025

#: Of these groups the largest loses a connection. So a herd that is silent, idle or slow to read
#: crowds out its like, and never the others.
_GROUPS = {
    Phase.LINGERING: "asking",
    Phase.SHAKING: "asking",
    Phase.READING: "asking",
    Phase.IDLE: "idle",
    Phase.WRITING: "writing",
}

#: How many are asked what they have moved: all of them would cost too much at each accept.
_CANDIDATES = 8


def victim(connections: Collection[Connection], now: float) -> Connection | None:
    """Who is to go; None where all wait for their answers.

    Of the largest group, and in it of the client with most connections, one of the oldest: the
    one that has sent and taken least. A scraper is quick to do both, so it stays while its
    handshake goes back and forth, however fast a herd of silent clients comes and goes. Where
    the grace (`GRACE_SECONDS` before `now`) protects them all, it is the oldest.
    """
    found = [c for c in connections if c.phase in _GROUPS]
    if not found:
        return None
    group = _most_frequent(_GROUPS[c.phase] for c in found)
    found = [c for c in found if _GROUPS[c.phase] == group]
    peer = _most_frequent(c.peer for c in found)
    crowd = (c for c in found if c.peer == peer)
    oldest = heapq.nsmallest(_CANDIDATES, crowd, key=lambda c: c.since)
    free = [c for c in oldest if c.since <= now - GRACE_SECONDS]
    return min(free or oldest[:1], key=lambda c: c.wire.moved_bytes())


def _most_frequent(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]
