"""The settings of the collector `latency`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LatencySettings:
    """The latency of single requests, measured by the agent; see docs/latency.md.

    enabled: False measures nothing. True requires a setting of the agent's unit.

    window_seconds: requests are measured for this time, 1 to 30. It is at most half of the period.

    period_seconds: once in this time, 10 to 3600.

    max_requests_per_second: a window ends early after this number of requests, multiplied by its
    duration, 100 to 20000. It limits the CPU time that tracing takes.
    """

    enabled: bool = False
    window_seconds: float = 5.0
    period_seconds: float = 60.0
    max_requests_per_second: int = 2000
