"""When probes ran, so that their seconds are not taken for production's."""

from collections.abc import Collection
from dataclasses import dataclass, replace

#: The sampler works through what it has read at the latest after 20 s.
_KEPT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Window:
    """A run on some devices; `end` is infinite while it is under way."""

    devices: frozenset[str]
    begin: float
    end: float = float("inf")


class ProbeWindows:
    """The runs of late, in monotonic seconds. One thread notes them, others ask."""

    def __init__(self) -> None:
        self._windows: tuple[Window, ...] = ()

    def begin(self, devices: Collection[str], now: float) -> None:
        """A run begins on these devices: the one that is probed and the drives below it."""
        kept = tuple(each for each in self._windows if each.end > now - _KEPT_SECONDS)
        self._windows = (*kept, Window(frozenset(devices), now))

    def end(self, now: float) -> None:
        self._windows = tuple(
            replace(each, end=now) if each.end == float("inf") else each for each in self._windows
        )

    def covers(self, device: str, begin: float, end: float) -> bool:
        """Whether a probe ran on the device in a part of that time."""
        # Asked of every busy device and second, and hardly ever was there one.
        return bool(self._windows) and any(
            device in each.devices and each.begin < end and begin < each.end
            for each in self._windows
        )

    def is_running(self, device: str) -> bool:
        return any(each.end == float("inf") and device in each.devices for each in self._windows)
