"""Logs when a drive stops answering and when it answers again, and tracks the missing documents.

A poll document is the result of one poll of a drive.
"""

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator

from exporter.runtime.clock import Clock
from exporter.smart.smartctl import Address

log = logging.getLogger(__name__)

#: Minimum time in seconds between two warnings about the same drive. A drive that fails every
#: second poll thus logs at most twelve lines per hour.
_MIN_LOG_INTERVAL_SECONDS = 600.0


class AnswerLog:
    """Compares the result of each poll with the last line that was logged about the drive."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: The monotonic time of the last warning about each drive.
        self._warned_at: dict[Address, float] = {}
        #: The drives whose last line was the warning.
        self._silent: set[Address] = set()
        #: The addresses at which no drive has ever answered, and that were logged.
        self._empty: set[Address] = set()

    def record_empty(self, address: Address, message: str) -> None:
        """Logs once that no drive answers at an address at which no drive was ever seen.

        message: the reason, as text for people.
        """
        if address not in self._empty:
            self._empty.add(address)
            log.info("no drive answers at %s: %s", address, message or "no reason is known")

    def record(
        self, address: Address, *, answers: bool, message: str, name: Callable[[], str]
    ) -> None:
        """Records the result of a poll, and logs a line if the drive changed its state.

        message: why the drive does not answer, as text for people.
        name: returns the address, model and serial number of the drive. It is called only if a line
            is logged.
        """
        if answers:
            if address in self._silent:
                self._silent.remove(address)
                log.info("%s answers again", name())
        elif address not in self._silent:
            now = self._clock.monotonic()
            if now - self._warned_at.get(address, -math.inf) >= _MIN_LOG_INTERVAL_SECONDS:
                self._warned_at[address] = now
                self._silent.add(address)
                log.warning("%s does not answer: %s", name(), message or "no reason is known")

    def keep(self, addresses: Collection[Address]) -> None:
        """Forgets the drives that are not in `addresses`."""
        self._silent.intersection_update(addresses)
        self._empty.intersection_update(addresses)
        for address in self._warned_at.keys() - addresses:
            del self._warned_at[address]


class FirstDocuments:
    """The drives that the poller lists, and of which no poll document has arrived yet.

    There are three causes: the agent cannot write the document, the document is not valid, or other
    drives on the same host adapter hang and are polled first.

    limit_seconds: a drive without a document for this time is not answering.
    """

    def __init__(self, clock: Clock, limit_seconds: float) -> None:
        self._clock = clock
        self.limit_seconds = limit_seconds
        #: When each drive was listed first, in monotonic seconds.
        self._since: dict[Address, float] = {}

    def expect(self, addresses: Iterable[Address]) -> None:
        """Replaces the list of drives without a document.

        For a drive that was in the list before, the time without a document continues.
        """
        now = self._clock.monotonic()
        self._since = {address: self._since.get(address, now) for address in addresses}

    def waiting(self) -> Iterator[tuple[Address, float]]:
        """Yields each drive without a document, and for how long, in seconds."""
        now = self._clock.monotonic()
        for address, since in self._since.items():
            yield address, now - since

    @property
    def are_over(self) -> bool:
        """True if each document has arrived or has taken too long."""
        return all(seconds >= self.limit_seconds for _, seconds in self.waiting())


def no_document(seconds: float) -> str:
    """Returns the message about a drive without a poll document, as text for people."""
    return f"no result of a poll arrived within {seconds:.0f} s"
