"""When each profile is due: a grid from the first slot on, so that equal ones fall together."""

import hashlib
from collections.abc import Mapping, Sequence

from exporter.tools.fio_profiles import Profile

#: Of the first delay, to both sides: a fleet on one storage does not probe at once.
_SPLAY_RATIO = 0.2

#: A profile that was skipped is tried again so soon, were its own interval a week.
_RETRY_SECONDS = 300.0

#: A rarer profile waits for its time over a restart too.
_RARE_SECONDS = 3600.0


def splayed(delay_seconds: float, host: str) -> float:
    """The delay of this host: the same one at each start."""
    place = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "big") / (1 << 32)
    return delay_seconds * (1 + _SPLAY_RATIO * (2 * place - 1))


class Schedule:
    """The profiles that have an interval; times are monotonic seconds.

    first: the first slot.
    ago_seconds: how long ago a profile ran last, before this process, where that is known.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        first: float,
        ago_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self.first = first
        self._profiles = {p.name: p for p in profiles if p.interval_seconds is not None}
        self._due: dict[str, float] = {}
        for name, profile in self._profiles.items():
            interval = profile.interval_seconds or 0.0
            ago = (ago_seconds or {}).get(name, interval)
            rare = interval >= _RARE_SECONDS and 0 <= ago < interval
            self._due[name] = first + (interval - ago if rare else 0.0)

    def due(self, now: float) -> tuple[Profile, ...]:
        return tuple(p for name, p in self._profiles.items() if self._due[name] <= now)

    @property
    def next(self) -> float:
        """When something is due next; for ever where nothing ever is."""
        return min(self._due.values(), default=float("inf"))

    def done(self, name: str, now: float) -> None:
        """It has run: it is due an interval later."""
        self._due[name] = self._after(self._profiles[name].interval_seconds or 0.0, now)

    def skipped(self, name: str, now: float) -> None:
        """It has not run, and is tried again soon."""
        interval = self._profiles[name].interval_seconds or 0.0
        self._due[name] = self._after(min(interval, _RETRY_SECONDS), now)

    def postponed(self, until: float) -> None:
        """What is due before that waits till then."""
        self._due = {name: max(due, until) for name, due in self._due.items()}

    def _after(self, interval: float, now: float) -> float:
        gone = max(0.0, now - self.first)
        due = self.first + (gone // interval + 1) * interval
        # In floating point a moment on the grid may lie on either side of it.
        return due if due > now else due + interval
