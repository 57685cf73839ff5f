"""One probe runs on a host at a time: a measurement's turn, taken, given up, and taken again."""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from exporter.background.probe_lock import HostLock, Leftover
from exporter.commands import host_lock
from exporter.commands.conditions import Conditions
from exporter.report.progress import Progress


class Turn:
    """The host's lock, and what a killed run left. places: where the lock may be.

    state: where the leftover is noted. says: where it is said who is waited for.
    """

    def __init__(
        self, conditions: Conditions, places: Sequence[Path], state: Path, says: TextIO
    ) -> None:
        self.lock, self.leftover = HostLock(places), Leftover(state)
        self._conditions = conditions
        self._places = places
        self._says = says

    def take(self) -> None:
        """Have the host's probe lock, and settle what a killed run left.

        Raises:
            ConfigError: another has it. ReadError: the budget cannot be read or written.
        """
        its = self._conditions
        with its.interruption.leaving(), Progress(self._says) as progress:
            host_lock.acquire(
                self.lock, self.leftover, self._places, clock=its.clock, progress=progress
            )
        its.account.recover()
