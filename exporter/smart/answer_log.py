"""Logs one line when a drive stops answering its polls, and one when it answers again."""

import logging
import math
from collections.abc import Callable, Collection

from exporter.clock import Clock
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
        """Logs once that no drive answers at an address, where none was ever seen.

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
