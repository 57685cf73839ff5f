"""Handles Ctrl-C, SIGTERM and a closed terminal during a measurement.

These signals end the measurement. This process continues, so that it can end fio, charge the
written bytes to the budget and remove files.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptHandler:
    """Context manager that records the first signal. A later Ctrl-C raises KeyboardInterrupt.

    The measurement polls `is_set`. If it is True, the measurement ends fio and counts the written
    bytes against the budget. Use this class on the main thread only.

    signal: the recorded signal; None if there was none.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}
        self._exits_at_once = False

    @contextmanager
    def exit_at_once(self) -> Iterator[None]:
        """Context manager in which a signal raises KeyboardInterrupt or SystemExit at once.

        Use it while fio does not run. If a signal is already recorded, entering the context raises
        the exception.
        """
        if self.signal is not None:
            self._exit(self.signal)
        self._exits_at_once = True
        try:
            yield
        finally:
            self._exits_at_once = False

    @property
    def is_set(self) -> bool:
        return self.signal is not None

    @property
    def words(self) -> str:
        """The name of the signal for messages, such as "Ctrl-C"; empty if there was none."""
        if self.signal is None:
            return ""
        return "Ctrl-C" if self.signal is signal.SIGINT else self.signal.name

    def __enter__(self) -> "InterruptHandler":  # noqa: PYI034 - Self came with Python 3.11
        for number in _SIGNALS:
            # Ignored signals stay ignored, such as SIGHUP under nohup(1).
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
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is None:
            self.signal = signal.Signals(number)
            if self._exits_at_once:
                self._exit(self.signal)
            if sys.stderr.isatty():
                sys.stderr.write("\nending the measurement; press Ctrl-C again to exit at once\n")

    @staticmethod
    def _exit(number: signal.Signals) -> None:
        if number is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)
