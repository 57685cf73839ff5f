"""Limits the rate of requests, as `rate_limit` in the web configuration requires."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class RateLimit:
    """A token bucket for the requests of all clients. It is full at first.

    Call `take` on one thread only.

    interval_seconds: the time after which one more request is allowed.
    burst: the maximum number of requests that are allowed without a pause; 0 allows none.
    """

    interval_seconds: float
    burst: int
    _tokens: float = field(init=False, compare=False)
    _filled_at: float | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        self._tokens = float(self.burst)

    def take(self, now: float) -> bool:
        """Count a request; returns False if it exceeds the limit.

        now: the monotonic time.
        """
        if self._filled_at is not None:
            filled = self._tokens + (now - self._filled_at) / self.interval_seconds
            self._tokens = min(float(self.burst), filled)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
