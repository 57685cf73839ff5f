"""Computes when each profile is due.

The due times of a profile are usually multiples of its interval after a common start. So profiles
with equal intervals are due at the same time. One fio runs them one after the other.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from exporter.config.profiles import Profile
from exporter.probe import budget_ledger

#: Largest change of the first delay, as a share of the delay. The change differs between hosts, so
#: that hosts with common storage do not all probe at the same time.
_SPLAY_RATIO = 0.2

#: A skipped profile is tried again after this many seconds, even if its interval is a week.
_RETRY_SECONDS = 300.0

#: A run that the guard ended is repeated after this many seconds, even if its interval is a week.
#: It is not repeated sooner, because it may have written most of the profile's bytes.
_ABORTED_RETRY_SECONDS = 86_400.0

#: A profile with at least this interval, in seconds, keeps its due time over a restart.
_RARE_SECONDS = 3600.0


def splayed_delay(delay_seconds: float, host: str) -> float:
    """Returns the delay before the first probe of this host, in seconds.

    It differs from `delay_seconds` by at most 20 %, and is the same at each start of the daemon.

    host: a string that identifies the host.
    """
    position = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "big") / (1 << 32)
    return delay_seconds * (1 + _SPLAY_RATIO * (2 * position - 1))


def spread_over_life(profile: Profile, run_bytes: int, life_bytes: int) -> Profile:
    """Returns the profile with an interval at which the bytes for a drive's life last ten years.

    The interval is unchanged if it is long enough, or if the profile has none.

    run_bytes: the bytes of one run.
    life_bytes: the bytes that probes may write over the life of the drive.
    """
    if profile.interval_seconds is None or life_bytes <= 0:
        return profile
    least = budget_ledger.LIFE_SECONDS * run_bytes / life_bytes
    return replace(profile, interval_seconds=max(profile.interval_seconds, least))


def counted_from(profile: Profile, ran_at: float, *, was_aborted: bool) -> float:
    """Returns the start of the interval before the first run after a restart, in unix seconds.

    It is the time of the last run. If the guard ended that run early, it is earlier by so much that
    the profile is due within a day.

    ran_at: the end of the last run, in unix seconds.
    was_aborted: True if the guard ended the last run early, for example because of load.
    """
    interval = profile.interval_seconds or 0.0
    return ran_at - max(0.0, interval - _ABORTED_RETRY_SECONDS) if was_aborted else ran_at


class ProbeSchedule:
    """Keeps the times at which the profiles are due, in monotonic seconds.

    Profiles without an interval are never due.

    first: the time at which the first profiles are due.
    ago_seconds: the seconds since the last run of each profile, keyed by profile name. Profiles
        that never ran are missing.
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
        """Returns the profiles that are due at the time `now`."""
        return tuple(p for name, p in self._profiles.items() if self._due[name] <= now)

    @property
    def next(self) -> float:
        """The time at which the next profile is due; infinite if no profile has an interval."""
        return min(self._due.values(), default=float("inf"))

    def done(self, name: str, now: float) -> None:
        """Records that a profile ran. It is due again after its interval."""
        self._due[name] = self._after(self._profiles[name].interval_seconds or 0.0, now)

    def skipped(self, name: str, now: float) -> None:
        """Records that a profile was due but did not run. It is due again within 300 s."""
        interval = self._profiles[name].interval_seconds or 0.0
        self._due[name] = self._after(min(interval, _RETRY_SECONDS), now)

    def aborted(self, name: str, now: float) -> None:
        """Records that the guard ended a run early. The profile is due again within a day."""
        interval = self._profiles[name].interval_seconds or 0.0
        self._due[name] = self._after(min(interval, _ABORTED_RETRY_SECONDS), now)

    def postponed(self, until: float) -> None:
        """Postpones the profiles that are due before the time `until` to that time."""
        self._due = {name: max(due, until) for name, due in self._due.items()}

    def _after(self, interval: float, now: float) -> float:
        """Returns the first multiple of the interval, counted from `first`, that is after `now`."""
        passed = max(0.0, now - self.first)
        due = self.first + (passed // interval + 1) * interval
        # If `now` is itself such a multiple, rounding may put the result at or before `now`.
        return due if due > now else due + interval
