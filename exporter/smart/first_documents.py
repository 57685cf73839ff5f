"""Keeps for how long the poller has listed each drive without any poll document of it."""

from collections.abc import Iterable, Iterator

from exporter.clock import Clock
from exporter.smart.smartctl import Address


class FirstDocuments:
    """The drives that the poller lists, and of which no poll document has arrived yet.

    The agent may be unable to write their documents, or the documents are not valid, or many other
    drives on the same host adapter hang and are polled before.

    limit_seconds: a drive without a document for this time is not answering.
    """

    def __init__(self, clock: Clock, limit_seconds: float) -> None:
        self._clock = clock
        self.limit_seconds = limit_seconds
        #: When each drive was listed first, in monotonic seconds.
        self._since: dict[Address, float] = {}

    def expect(self, addresses: Iterable[Address]) -> None:
        """Replaces the drives that have no document. The others keep their time."""
        now = self._clock.monotonic()
        self._since = {address: self._since.get(address, now) for address in addresses}

    def waiting(self) -> Iterator[tuple[Address, float]]:
        """Yields each drive without a document, and for how long, in seconds."""
        now = self._clock.monotonic()
        for address, since in self._since.items():
            yield address, now - since

    @property
    def are_over(self) -> bool:
        """True if no document is expected any more: each has arrived, or has taken too long."""
        return all(seconds >= self.limit_seconds for _, seconds in self.waiting())


def no_document(seconds: float) -> str:
    """Returns why nothing is known about a drive without a document, as text for people."""
    return f"no result of a poll arrived within {seconds:.0f} s"
