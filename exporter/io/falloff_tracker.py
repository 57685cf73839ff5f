"""Counts the falloffs of a drive, and determines their cause while the drive is slow.

This module uses no files, no clock and no logs.
"""

import math
from collections.abc import Callable

from exporter.config.disk_rules import WriteFalloffRules
from exporter.io.interval import DiskInterval
from exporter.io.slowdown import SlowdownEvidence, slowdown_verdict
from exporter.io.verdict import Verdict
from exporter.io.write_falloff import WriteFalloff, WriteFalloffDetector

#: Time between two checks for the cause while a drive is slow, in seconds. The check is repeated,
#: because the drive may report a high temperature some time after it became slow.
_CAUSE_INTERVAL_SECONDS = 10.0


class WriteFalloffTracker:
    """Counts the falloffs of one drive, and determines the cause while the drive is slow.

    events: the number of sudden falloffs since the start. withdrawn: how many of them were
        disturbances: the throughput returned without a rest.
    last: the last sudden falloff that was not withdrawn; None before the first one.
    burst: the detector.
    busy_ratio: while `burst.is_open` is False, the caller may skip intervals with a smaller busy
        ratio and fewer than `MUCH_BYTES` written. This saves nearly all calls of `observe`.
    evidence (argument): returns the drive's temperature and link speed.
    """

    __slots__ = (
        "_before_last",
        "_cause",
        "_evidence",
        "_explained_at",
        "_is_sudden",
        "_over_temperature_seconds",
        "_slow_bytes_per_second",
        "burst",
        "busy_ratio",
        "events",
        "last",
        "withdrawn",
    )

    def __init__(self, rules: WriteFalloffRules, evidence: Callable[[], SlowdownEvidence]) -> None:
        self._evidence = evidence
        self.events = self.withdrawn = 0
        self._before_last: WriteFalloff | None = None
        self._slow_bytes_per_second: float | None = None
        self._is_sudden = True
        self.last: WriteFalloff | None = None
        self._cause: Verdict | None = None
        self._explained_at = -math.inf
        self._over_temperature_seconds: float | None = None
        self.reconfigure(rules)

    def reconfigure(self, rules: WriteFalloffRules) -> None:
        """Applies new settings. The state of a burst that is in progress is discarded."""
        self.busy_ratio = rules.busy_ratio
        self.burst = WriteFalloffDetector(rules)

    def observe(self, now: float, disk: DiskInterval, *, is_gap: bool = False) -> Verdict | None:
        """Records an interval; returns why the drive is slow after a falloff.

        A falloff is a drop of the write throughput during a long write. Its cause is returned while
        the throughput is still low. None at all other times, and if the cause is unknown.

        now: the end of the interval in seconds of any monotonic clock.
        is_gap: samples are missing in the interval.
        """
        burst = self.burst
        before = burst.withdrawn
        falloff = burst.observe(now, disk, is_gap=is_gap)
        if falloff is not None:
            self._record(falloff)
        if burst.withdrawn > before:
            self.withdrawn += 1
            self.last = self._before_last
        if not burst.is_slow:
            return None
        if now - self._explained_at >= _CAUSE_INTERVAL_SECONDS:
            self._explained_at = now
            self._cause = self._explain()
        return self._cause

    def _record(self, falloff: WriteFalloff) -> None:
        self._slow_bytes_per_second = falloff.sustained_bytes_per_second
        self._is_sudden = falloff.is_sudden
        if falloff.is_sudden:
            self.events += 1
            self._before_last, self.last = self.last, falloff
        self._over_temperature_seconds = self._evidence().over_temperature_seconds
        self._explained_at = -math.inf

    def _explain(self) -> Verdict | None:
        evidence = self._evidence()
        before, now = self._over_temperature_seconds, evidence.over_temperature_seconds
        return slowdown_verdict(
            bytes_per_second=self._slow_bytes_per_second,
            temperature_celsius=evidence.temperature_celsius,
            warning_celsius=evidence.warning_celsius,
            over_temperature_seconds=None if before is None or now is None else now - before,
            link_bytes_per_second=evidence.link_bytes_per_second,
            link_max_bytes_per_second=evidence.link_max_bytes_per_second,
            is_sudden=self._is_sudden,
        )
