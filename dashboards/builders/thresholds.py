"""Thresholds of panel colours, read from alerts/thresholds.yml.

A panel is orange from the value at which an alert warns, and red from the value at which it pages.
Thresholds without an alert are defined here (headroom) or read from the exporter (busy).
"""

from pathlib import Path

import yaml
from grafana_foundation_sdk.models.dashboard import Threshold

from exporter.config.disk_rules import SaturationRules

Steps = tuple[Threshold, ...]

_FILE = Path(__file__).parents[2] / "alerts" / "thresholds.yml"
_PREFIX = "ssd:threshold:"

DAY_SECONDS = 86_400

#: The smallest margin above zero, because drives report temperature in steps of 1 °C and spare in
#: steps of 1 %.
_DEGREE, _PERCENT = 1, 0.01

#: Busy ratio from which the exporter may count a second as saturated.
BUSY = SaturationRules().busy_ratio

#: Share of the maximum throughput from which a drive has little headroom. No alert uses it.
HEADROOM_WARNING = 0.8

#: Waits per second from which they are no longer occasional. No alert uses it.
WAITS_WARNING = 0.01

#: Factor above the same hour of the week before from which MySQL's load is unusual. No alert uses
#: it.
JUMP_WARNING = 3

#: Share of free space below which a drive may become slow, because it has few free blocks. No alert
#: uses it.
FREE_WARNING = 0.1

#: Share of the largest checkpoint age from which InnoDB flushes aggressively. No alert uses it.
CHECKPOINT_WARNING = 0.75

#: Share of latency from which a probe measures the host rather than the drive.
HOST_SHARE_WARNING = 0.5


def _alerts() -> dict[str, float]:
    """Alert thresholds by name; each one is a rule that records vector(number)."""
    document = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {
        rule["record"].removeprefix(_PREFIX): float(
            rule["expr"].removeprefix("vector(").removesuffix(")")
        )
        for group in document["groups"]
        for rule in group["rules"]
        if rule.get("record", "").startswith(_PREFIX)
    }


ALERTS = _alerts()


#: Colour of an unknown value. Grafana gives it the colour of the lowest step, so every list of
#: steps begins with this one. The next step begins below every value that occurs.
UNKNOWN = "#808080"
_LOWEST = -1e12


def plain(colour: str = "green") -> Steps:
    """One colour for all values, and grey for an unknown one."""
    return (
        Threshold(value=None, color=UNKNOWN),
        Threshold(value=_LOWEST, color=colour),
    )


def rising(warning: float | None = None, critical: float | None = None) -> Steps:
    """Green, orange from `warning`, red from `critical`."""
    return plain() + tuple(
        Threshold(value=value, color=colour)
        for value, colour in ((warning, "orange"), (critical, "red"))
        if value is not None
    )


def falling(good: float, below: str, fair: float | None = None) -> Steps:
    """Green from `good`, orange from `fair` (if given) to `good`, and `below` for lower values."""
    middle = () if fair is None else (Threshold(value=fair, color="orange"),)
    return (*plain(below), *middle, Threshold(value=good, color="green"))


def quiet(steps: Steps) -> Steps:
    """The steps without a colour for good and for unknown values, for tables and counts."""
    return tuple(
        Threshold(
            value=step.value,
            color="transparent" if step.color in ("green", UNKNOWN) else step.color,
        )
        for step in steps
    )


def lines(steps: Steps) -> Steps:
    """The steps that a graph draws as lines: those of a warning and of a page."""
    drawn = (step for step in steps if step.value is not None and step.value > _LOWEST)
    return (Threshold(value=None, color="transparent"), *drawn)


WEAR = rising(ALERTS["endurance_used_warning_ratio"], ALERTS["endurance_used_critical_ratio"])
WEAROUT = falling(ALERTS["wearout_warning_seconds"], "red", fair=ALERTS["wearout_critical_seconds"])
FALLOFF = falling(ALERTS["falloff_ratio"], "orange")
TEMPERATURE_FALLBACK_CELSIUS = ALERTS["temperature_fallback_celsius"]
HEAT = falling(_DEGREE, "orange")
SPARE = falling(_PERCENT, "red")
BUDGET = falling(_PERCENT, "orange")
LINK = falling(1, "orange")
FIRMWARE = falling(
    ALERTS["firmware_time_bomb_seconds"], "red", fair=ALERTS["firmware_failure_near_seconds"]
)
AWAIT = rising(ALERTS["disk_await_seconds"], ALERTS["disk_severe_await_seconds"])
AWAIT_OVER_BASELINE = rising(ALERTS["disk_await_baseline_factor"])
FLUSH = rising(ALERTS["disk_flush_await_seconds"])
FSYNC_PROBE = rising(ALERTS["fsync_probe_seconds"], ALERTS["fsync_probe_severe_seconds"])
PROBE_AGE = rising(ALERTS["probe_blind_seconds"])
PRESSURE = rising(ALERTS["mysql_io_stalled_ratio"], ALERTS["mysql_io_stalled_severe_ratio"])
SOFTIRQ = rising(ALERTS["softirq_max_ratio"])
SOFTIRQ_SATURATED = rising(ALERTS["softirq_saturated_ratio"])
SATURATED = rising(ALERTS["disk_saturated_ratio"])
SATURATED_PER_DAY = rising(ALERTS["disk_saturated_seconds_per_day"])
STALLED = rising(critical=ALERTS["disk_stalled_seconds"])
REALLOCATED = rising(ALERTS["reallocated_per_week"])
MEDIA_ERRORS = rising(1, ALERTS["media_errors_per_day"])
WAITS = rising(WAITS_WARNING)
JUMP = rising(JUMP_WARNING)
FREE = falling(FREE_WARNING, "orange")
CHECKPOINT = rising(CHECKPOINT_WARNING)
HEADROOM = rising(HEADROOM_WARNING)
HOST_SHARE = rising(HOST_SHARE_WARNING)
#: For counts: orange, or red, from 1.
ANY_WARNS = rising(warning=1)
ANY_PAGES = rising(critical=1)
