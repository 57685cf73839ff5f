"""Handles Ctrl-C, SIGTERM and a closed terminal: they end the measurement, not this process."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptHandler:
    """Records the first signal while entered; a second Ctrl-C raises KeyboardInterrupt.

    The measurement polls `is_set`, then ends fio and settles its bytes. For the main thread.
    """

    def __init__(self) -> None:
        self.by: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}
        self._leaves = False

    @contextmanager
    def exit_at_once(self) -> Iterator[None]:
        """Inside the context a signal raises KeyboardInterrupt or SystemExit at once.

        For times when no fio runs. A signal that was recorded before raises on entry.
        """
        if self.by is not None:
            self._leave(self.by)
        self._leaves = True
        try:
            yield
        finally:
            self._leaves = False

    @property
    def is_set(self) -> bool:
        return self.by is not None

    @property
    def words(self) -> str:
        """What ended the measurement, for messages; empty if nothing did."""
        if self.by is None:
            return ""
        return "Ctrl-C" if self.by is signal.SIGINT else self.by.name

    def __enter__(self) -> "InterruptHandler":  # noqa: PYI034 - Self came with Python 3.11
        for number in _SIGNALS:
            # Under nohup(1) SIGHUP stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._record)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        self._before.clear()

    def _record(self, number: int, _frame: FrameType | None) -> None:
        if self.by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.by is None:
            self.by = signal.Signals(number)
            if self._leaves:
                self._leave(self.by)
            if sys.stderr.isatty():
                sys.stderr.write("\nending the measurement; press Ctrl-C again to exit at once\n")

    @staticmethod
    def _leave(number: signal.Signals) -> None:
        if number is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)
