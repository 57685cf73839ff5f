"""Several programs at once: what who asks drives needs of them. They run in `system_children`."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from exporter.tools.child import Finished


class Children(Protocol):
    """Runs programs side by side. To be used from one thread."""

    @property
    def next_start(self) -> float:
        """From when another is best started, by the clock's monotonic seconds."""

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        """Start a program; `wait` tells how it ended, also where it could not be started.

        may_kill: False for what does harm when it is killed: after its time it is `STUCK`.
        """

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        """Those that have ended, as soon as one has; else nothing, after `timeout` seconds.

        Nothing sooner where the descriptor `wake` is readable, or a stuck child has gone.
        gather: nobody is looked at before so many seconds: each look costs cold caches.
        """

    def stuck(self) -> frozenset[Hashable]:
        """Whose child was given up and is still there."""

    def end_all(self) -> None:
        """End those that run, within a bounded time; nobody hears of them.

        Those that may not be killed, or cannot be, go on and are among the `stuck` until they end.
        """

    def close(self) -> None:
        """As `end_all`, and what goes on is no longer known: nothing can be started after."""
