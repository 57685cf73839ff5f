"""The falloffs of one drive under production writes, and what slows it down while one lasts."""

import math
from collections.abc import Callable

from exporter.background.condition import Condition
from exporter.diagnosis.bottleneck import Cause
from exporter.diagnosis.interval import DiskInterval
from exporter.diagnosis.slowdown import cause_of_slowdown
from exporter.diagnosis.write_falloff import WriteBurst, WriteFalloff, WriteFalloffRules

#: A slow drive's condition is asked for again so often: heat may show only later.
_ASK_SECONDS = 10.0


class Falloffs:
    """How often the drive became slower in the middle of a write, and the last time.

    busy_ratio, burst: while no burst is open, `observe` need not be called for samples less busy
        than this, as nearly all of a device's seconds are.
    """

    __slots__ = (
        "_asked_at",
        "_cause",
        "_condition",
        "_over_temperature_seconds",
        "burst",
        "busy_ratio",
        "events",
        "last",
    )

    def __init__(self, rules: WriteFalloffRules, condition: Callable[[], Condition]) -> None:
        self._condition = condition
        self.events = 0
        self.last: WriteFalloff | None = None
        self._cause: Cause | None = None
        self._asked_at = -math.inf
        self._over_temperature_seconds: float | None = None
        self.judge_by(rules)

    def judge_by(self, rules: WriteFalloffRules) -> None:
        """The settings were read again; a burst that is open is forgotten."""
        self.busy_ratio = rules.busy_ratio
        self.burst = WriteBurst(rules)

    def observe(self, now: float, disk: DiskInterval) -> Cause | None:
        """Take in what the drive did until `now`: what slows it down, if something does."""
        burst = self.burst
        falloff = burst.observe(now, disk)
        if falloff is not None:
            self._note(falloff)
        if not burst.is_slow:
            return None
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            self._cause = self._explain()
        return self._cause

    def _note(self, falloff: WriteFalloff) -> None:
        self.events += 1
        self.last = falloff
        self._over_temperature_seconds = self._condition().over_temperature_seconds
        self._asked_at = -math.inf

    def _explain(self) -> Cause | None:
        its = self._condition()
        then, hot = self._over_temperature_seconds, its.over_temperature_seconds
        return cause_of_slowdown(
            bytes_per_second=self.last.sustained_bytes_per_second if self.last else None,
            temperature_celsius=its.temperature_celsius,
            warning_celsius=its.warning_celsius,
            over_temperature_seconds=None if then is None or hot is None else hot - then,
            link_bytes_per_second=its.link_bytes_per_second,
            link_max_bytes_per_second=its.link_max_bytes_per_second,
        )
