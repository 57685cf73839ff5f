"""Computes when each profile is due.

Due times are multiples of the profile's interval after the first slot, so that profiles with equal
intervals are due together and run in one fio.
"""

import hashlib
from collections.abc import Mapping, Sequence

from exporter.probe.profiles import Profile

#: Share of the first delay by which hosts differ, so that a fleet on one storage does not probe at
#: the same time.
_SPLAY_RATIO = 0.2

#: A skipped profile is tried again after this many seconds, even if its interval is a week.
_RETRY_SECONDS = 300.0

#: A profile with at least this interval keeps its due time over a restart.
_RARE_SECONDS = 3600.0


def splayed_delay(delay_seconds: float, host: str) -> float:
    """Returns the delay for this host, within 20 % of `delay_seconds` and equal at each start.

    host: a string that identifies the host.
    """
    position = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "big") / (1 << 32)
    return delay_seconds * (1 + _SPLAY_RATIO * (2 * position - 1))


class ProbeSchedule:
    """The due times of all profiles that have an interval, in monotonic seconds.

    first: the time of the first slot.
    ago_seconds: seconds since a profile's last run before this process started, by the profile's
        name.
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
            is_rare = interval >= _RARE_SECONDS and 0 <= ago < interval
            self._due[name] = first + (interval - ago if is_rare else 0.0)

    def due(self, now: float) -> tuple[Profile, ...]:
        """Returns the profiles that are due."""
        return tuple(p for name, p in self._profiles.items() if self._due[name] <= now)

    @property
    def next(self) -> float:
        """The next due time; infinite if no profile has an interval."""
        return min(self._due.values(), default=float("inf"))

    def done(self, name: str, now: float) -> None:
        """Record a run: the profile is due again after its interval."""
        self._due[name] = self._after(self._profiles[name].interval_seconds or 0.0, now)

    def skipped(self, name: str, now: float) -> None:
        """Record a skip: the profile is tried again soon."""
        interval = self._profiles[name].interval_seconds or 0.0
        self._due[name] = self._after(min(interval, _RETRY_SECONDS), now)

    def postponed(self, until: float) -> None:
        """Move every earlier due time to `until`."""
        self._due = {name: max(due, until) for name, due in self._due.items()}

    def _after(self, interval: float, now: float) -> float:
        """Returns the first time after `now` on the grid of an interval."""
        passed = max(0.0, now - self.first)
        due = self.first + (passed // interval + 1) * interval
        # Floating point may put a time on the grid on either side of it.
        return due if due > now else due + interval
