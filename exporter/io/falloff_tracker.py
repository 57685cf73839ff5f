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

#: A write of at least this many bytes in an interval may be the begin of a long write that does not
#: saturate the device yet. A cache takes 200 MB/s and more.
MUCH_BYTES = 50_000_000

#: The throughput before a burst is a moving average over about this many intervals.
_CALM_INTERVALS = 10


class WriteFalloffTracker:
    """Counts the falloffs of one drive, and determines the cause while the drive is slow.

    events: the number of falloffs since the start.
    last: the last falloff; None before the first one.
    burst: the detector.
    busy_ratio: while `burst.is_open` is False, the caller may skip intervals with a smaller busy
        ratio and fewer than `MUCH_BYTES` written. This saves nearly all calls of `observe`.
    evidence (argument): returns the drive's temperature and link speed.
    """

    __slots__ = (
        "_begin_bytes",
        "_calm_at",
        "_calm_bytes_per_second",
        "_cause",
        "_evidence",
        "_explained_at",
        "_over_temperature_seconds",
        "burst",
        "busy_ratio",
        "events",
        "last",
    )

    def __init__(self, rules: WriteFalloffRules, evidence: Callable[[], SlowdownEvidence]) -> None:
        self._evidence = evidence
        self.events = 0
        self._calm_bytes_per_second, self._calm_at, self._begin_bytes = 0.0, -math.inf, 0
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
        if not burst.is_open:
            is_recent = now - disk.seconds - self._calm_at <= disk.seconds
            before = self._calm_bytes_per_second if is_recent else 0.0
            if disk.busy_ratio < self.busy_ratio:
                rate = disk.written_bytes / disk.seconds
                self._calm_bytes_per_second = before + (rate - before) / _CALM_INTERVALS
                self._calm_at = now
                # The burst may have begun in this interval.
                more = max(disk.written_bytes - int(before * disk.seconds), 0)
                self._begin_bytes = more if disk.written_bytes >= MUCH_BYTES else 0
                return None
            burst.before_bytes_per_second = before
            burst.begin_bytes = self._begin_bytes if is_recent else 0
        falloff = burst.observe(now, disk, is_gap=is_gap)
        if falloff is not None:
            self._record(falloff)
        if not burst.is_slow:
            return None
        if now - self._explained_at >= _CAUSE_INTERVAL_SECONDS:
            self._explained_at = now
            self._cause = self._explain()
        return self._cause

    def _record(self, falloff: WriteFalloff) -> None:
        self.events += 1
        self.last = falloff
        self._over_temperature_seconds = self._evidence().over_temperature_seconds
        self._explained_at = -math.inf

    def _explain(self) -> Verdict | None:
        evidence = self._evidence()
        before, now = self._over_temperature_seconds, evidence.over_temperature_seconds
        return slowdown_verdict(
            bytes_per_second=self.last.sustained_bytes_per_second if self.last else None,
            temperature_celsius=evidence.temperature_celsius,
            warning_celsius=evidence.warning_celsius,
            over_temperature_seconds=None if before is None or now is None else now - before,
            link_bytes_per_second=evidence.link_bytes_per_second,
            link_max_bytes_per_second=evidence.link_max_bytes_per_second,
            is_sudden=self.last is None or self.last.is_sudden,
        )
