"""One probe a host: a command waits for the daemon's to end, and says who has the lock.

One probe runs on a host at a time: a measurement's turn, taken, given up, and taken again.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.errors import ConfigError, SourceError
from exporter.linux import files, locks
from exporter.measurement.account import Conditions
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.report.progress import Progress

#: A slot of the daemon's takes less.
_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.5

#: As `HostLock` has it.
_NAME = "ssd-exporter-probe.lock"


def acquire(
    lock: HostLock,
    leftover: ProbePidFile,
    places: Sequence[Path],
    *,
    clock: Clock,
    progress: Progress,
    patience_seconds: float = _PATIENCE_SECONDS,
) -> None:
    """Have the host's probe lock, after a while where another has it.

    places: the directories of `lock`.

    Raises:
        ConfigError: the other goes on, or the lock cannot be had at all.
    """
    until = clock.monotonic() + patience_seconds
    while not (leftover.end() and lock.acquire()):
        left = until - clock.monotonic()
        if not any(os.path.exists(place / _NAME) for place in places):
            listed = " and ".join(map(str, places))
            raise ConfigError(f"the probe lock cannot be made in {listed}", "run this as root")
        who = holder(places) or "another process"
        if left <= 0:
            raise ConfigError(
                f"{who} is probing on this host", "one probe runs at a time: try again later"
            )
        progress.show(f"waiting for {who}, which is probing", None)
        clock.sleep(min(_LOOK_SECONDS, left))


def holder(places: Sequence[Path], proc: Path = Path("/proc")) -> str:
    """Who has the lock, as "ssd-exporter (process 12)"; empty where nobody is told to."""
    for place in places:
        pid = locks.read_flock_holder(proc, place / _NAME)
        if pid is not None:
            return f"{_name(proc, pid)} (process {pid})"
    return ""


def _name(proc: Path, pid: int) -> str:
    try:
        command = files.read(proc / str(pid) / "cmdline").split("\0")
    except SourceError:
        command = []
    # Run as `python -m exporter` or by its script, the program's name is in the second place.
    if any("ssd-exporter" in each or each == "exporter" for each in command[:4]):
        return "ssd-exporter"
    return files.read_attribute(proc / str(pid) / "comm") or "another program"


class HostLockSession:
    """The host's lock, and what a killed run left. places: where the lock may be.

    state: where the leftover is noted. says: where it is said who is waited for.
    """

    def __init__(
        self, conditions: Conditions, places: Sequence[Path], state: Path, says: TextIO
    ) -> None:
        self.lock, self.leftover = HostLock(places), ProbePidFile(state)
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
            acquire(self.lock, self.leftover, self._places, clock=its.clock, progress=progress)
        its.account.recover()
