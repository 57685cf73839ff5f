"""A measurement's file is filled as it is run: only while production does not need the device."""

from collections import deque
from collections.abc import Callable, Mapping

from exporter.background.probe_load import Watch
from exporter.background.probe_run import LOOK_SECONDS
from exporter.clock import Clock
from exporter.commands.interruption import Interruption
from exporter.diagnosis.probe_gate import GateRules, Reason
from exporter.diagnosis.probe_guard import GuardSample, guard
from exporter.errors import ReadError
from exporter.tools import probe_file

_GUARD_WORDS: Mapping[Reason, str] = {
    Reason.BUSY: "production needs the device",
    Reason.CGROUP_PRESSURE: "mysqld waits for I/O",
    Reason.HOT: "the drive is too hot",
    Reason.NO_SPACE: "the filesystem is nearly full",
}


def guard_words(reason: Reason) -> str:
    """Why the guard ended something, for people."""
    return _GUARD_WORDS.get(reason, reason.value)


class GuardedFilling:
    """One filling. avail: what is free of the filesystem. missing: how much is written.

    written_bytes: what may have been written by now.
    """

    def __init__(
        self,
        watch: Watch,
        avail: Callable[[], int | None],
        rules: GateRules,
        *,
        clock: Clock,
        interruption: Interruption,
        missing: int,
    ) -> None:
        self._watch = watch
        self._avail = avail
        self._rules = rules
        self._clock = clock
        self._interruption = interruption
        self._missing = missing
        self._samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples))
        self._samples.append(watch.look(avail()))
        self._looked_at = clock.monotonic()
        # Where it ends in the middle of a piece, that may have been written all the same.
        self.written_bytes = min(missing, probe_file.CHUNK_BYTES)

    def go_on(self, left: int) -> None:
        """Hear that `left` bytes are still missing; the device is looked at every LOOK_SECONDS.

        Raises:
            ReadError: it must end.
        """
        written = self._missing - left + probe_file.CHUNK_BYTES
        self.written_bytes = max(0, min(self._missing, written))
        if self._interruption.is_set:
            raise ReadError(f"nothing was measured: ended by {self._interruption.words}")
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        self._samples.append(self._watch.look(self._avail()))
        if reason := guard(tuple(self._samples), self._rules):
            words = guard_words(reason)
            raise ReadError(f"nothing was measured: the file is not filled, for {words}")
