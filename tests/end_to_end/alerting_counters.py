"""Counters of a simulated host that advance while the test runs."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.hosts import growth

#: Intervals in seconds at which the counters are written: with the normal load, and during a fault.
CALM_SECONDS, STEP_SECONDS = 0.5, 0.04

_IDLE: Mapping[str, growth.Gains] = {
    f"cpu{number}": {"user": 20, "system": 8, "idle": 72} for number in range(4)
}
_HARDLY: growth.Gains = {"some": 20_000, "full": 5_000}
_PRESSURES = ("proc/pressure/io", "sys/fs/cgroup/system.slice/mysql.service/io.pressure")


class Counters:
    """The counters of /proc and of mysqld's control group, in files below `place`.

    disks: the normal increase of diskstats in a second, by device.
    stood_still_seconds: the longest time without an update while there was a load.
    """

    def __init__(self, place: Path, disks: Mapping[str, growth.Gains]) -> None:
        self._place = place
        self._calm = dict(disks)
        self._disks = dict(disks)
        self._cpus = _IDLE
        self._waiting = _HARDLY
        self._completions: Mapping[str, growth.Gains] = {}
        self._carried: dict[tuple[str, str, str], float] = {}
        self._grown_at = time.monotonic()
        self._lock = threading.Lock()
        self.stood_still_seconds = 0.0

    def loads(self, device: str, **gains: int) -> None:
        """Sets the increase of a device's counters per second; without arguments the normal one."""
        with self._lock:
            self._disks[device] = gains or self._calm[device]

    def waits(self, **totals: int) -> None:
        """Sets the microseconds per second that tasks, including mysqld's, wait for I/O.

        Without arguments the normal values apply.
        """
        with self._lock:
            self._waiting = {**_HARDLY, **totals}

    def computes(self, **cpus: growth.Gains) -> None:
        """Sets how CPUs spend their ticks; without arguments they are idle."""
        with self._lock:
            self._cpus = {**_IDLE, **cpus}

    def completes(self, **softirqs: int) -> None:
        """Sets how many requests per second the softirqs of each CPU complete; normally none."""
        with self._lock:
            self._completions = {"BLOCK": softirqs} if softirqs else {}

    def rows(self, changed: Callable[[str], str]) -> None:
        """Changes the rows of diskstats."""
        with self._lock:
            self._rewrite("proc/diskstats", changed)

    def grow(self) -> None:
        """Advances the counters to the current time."""
        with self._lock:
            calm = self._disks == self._calm and self._cpus == _IDLE
            seconds = time.monotonic() - self._grown_at
            if seconds < (CALM_SECONDS if calm else STEP_SECONDS):
                return
            self._grown_at += seconds
            self.stood_still_seconds = max(self.stood_still_seconds, 0.0 if calm else seconds)
            self._grow("proc/diskstats", growth.diskstats, self._disks, seconds)
            self._grow("proc/stat", growth.stat, self._cpus, seconds)
            if self._completions:
                self._grow("proc/softirqs", growth.softirqs, self._completions, seconds)
            for file in _PRESSURES:
                if (self._place / file).exists():
                    totals = self._whole(file, "", self._waiting, seconds)
                    self._rewrite(file, partial(growth.pressure, totals=totals))

    def _grow(
        self,
        file: str,
        grown: Callable[[str, Mapping[str, growth.Gains]], str],
        gains: Mapping[str, growth.Gains],
        seconds: float,
    ) -> None:
        whole = {who: self._whole(file, who, its, seconds) for who, its in gains.items()}
        self._rewrite(file, lambda text: grown(text, whole))

    def _whole(self, file: str, who: str, gains: growth.Gains, seconds: float) -> dict[str, int]:
        """Returns the increase in whole numbers; the remainder is carried over."""
        whole = {}
        for what, rate in gains.items():
            if what == "in_flight":
                whole[what] = rate
                continue
            key = file, who, what
            gained = self._carried.get(key, 0.0) + rate * seconds
            whole[what] = int(gained)
            self._carried[key] = gained - whole[what]
        return whole

    def _rewrite(self, file: str, changed: Callable[[str], str]) -> None:
        path = self._place / file
        replace_whole(path, changed(path.read_text()))


@contextmanager
def running(all_counters: Iterable[Counters]) -> Iterator[None]:
    """Advances the counters of several hosts."""
    stopping = threading.Event()
    known = list(all_counters)

    def run() -> None:
        while not stopping.wait(STEP_SECONDS / 2):
            for each in known:
                each.grow()

    thread = threading.Thread(target=run, name="counters", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def replace_whole(file: Path, text: str) -> None:
    """Replaces a file atomically."""
    new = file.parent / f".{file.name}.new"
    new.write_text(text)
    os.replace(new, file)
