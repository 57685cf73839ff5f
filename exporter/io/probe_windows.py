"""Records when recent probes ran. The sampler does not count their load as that of production."""

from collections.abc import Collection
from dataclasses import dataclass, replace

#: How long the time of a run is kept after its end, in seconds. The daemon's sampler of disk
#: counters needs it when it processes its readings, which is at most 20 s later.
_WINDOW_KEPT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ProbeWindow:
    """The time in which a probe ran on some devices.

    devices: the names of the devices.
    begin, end: the start and the end, in monotonic seconds; `end` is infinite while the probe runs.
    """

    devices: frozenset[str]
    begin: float
    end: float = float("inf")


class ProbeWindows:
    """Records when recent probes ran, so that their load is not counted as load of production.

    All times are in monotonic seconds. Call `begin` and `end` on one thread. Any thread may call
    the other methods.
    """

    def __init__(self) -> None:
        self._windows: tuple[ProbeWindow, ...] = ()

    def begin(self, devices: Collection[str], now: float) -> None:
        """Record the start of a run.

        devices: the names of the probed device and of its drives.
        """
        recent = tuple(
            window for window in self._windows if window.end > now - _WINDOW_KEPT_SECONDS
        )
        self._windows = (*recent, ProbeWindow(frozenset(devices), now))

    def end(self, now: float) -> None:
        """Record the end of the current run."""
        self._windows = tuple(
            replace(window, end=now) if window.end == float("inf") else window
            for window in self._windows
        )

    def covers(self, device: str, begin: float, end: float) -> bool:
        """Returns True if a probe ran on the device at any time between `begin` and `end`."""
        # This is called every second for each busy device. It must be cheap without a recent probe.
        return bool(self._windows) and any(
            device in window.devices and window.begin < end and begin < window.end
            for window in self._windows
        )

    def is_running(self, device: str) -> bool:
        """Returns True while a probe runs on the device."""
        return any(
            window.end == float("inf") and device in window.devices for window in self._windows
        )
