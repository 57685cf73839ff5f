"""A counter that the kernel lets step back, made to grow only."""

from typing import Any

#: Beyond this a step back is no jitter: the kernel began to count anew, and waiting until it has
#: caught up would hide all that it counts meanwhile (CPU hotplug, node_exporter's cpu collector).
_JITTER_SECONDS = 5.0


#: 4,096 CPUs for 23 years: a damaged number would stay until the next boot.
_MOST_SECONDS = 3e12


class NeverBack:
    """Continues a time counter over the steps back of its source.

    A small step is waited out, for the source makes it good soon; adding up the steps forward
    instead would count them twice. After a large one the counter goes on from where it stood.
    `from_zero` begins at 0 whatever the source has counted already.
    """

    __slots__ = ("_ahead", "_from_zero", "_said")

    def __init__(
        self, at_least: float = 0.0, ahead: float = 0.0, *, from_zero: bool = False
    ) -> None:
        self._said = at_least
        self._ahead = ahead
        self._from_zero = from_zero

    def advance(self, counted: float) -> float:
        """What to say for what the source has counted."""
        if self._from_zero:
            self._ahead, self._from_zero = -counted, False
        value = counted + self._ahead
        if value < self._said - _JITTER_SECONDS:
            self._ahead = self._said - counted
        self._said = max(self._said, value)
        return self._said

    @property
    def said(self) -> float:
        return self._said

    @property
    def ahead(self) -> float:
        """By how much it is ahead of its source; negative where it began at 0."""
        return self._ahead


def to_keep(counter: NeverBack, boot_id: str, *, at_end: bool) -> dict[str, Any]:
    """Plain values for the state file; `at_end` nothing more is said after them."""
    return {
        "boot_id": boot_id,
        "seconds": counter.said,
        "ahead_seconds": counter.ahead,
        "at_end": at_end,
    }


def restored(kept: Any, boot_id: str) -> NeverBack:
    """The counter that goes on from what an earlier run kept, out of a file that may hold anything.

    An earlier run of this boot that was killed may have said more than it kept. A counter that
    stepped back by a second would read as a reset to Prometheus, and all that it counts since boot
    as having come in a moment; one that begins at 0 does no harm.
    """
    if not isinstance(kept, dict) or not boot_id or kept.get("boot_id") != boot_id:
        return NeverBack()
    seconds, ahead = kept.get("seconds"), kept.get("ahead_seconds")
    if (
        kept.get("at_end") is True
        and isinstance(seconds, int | float)
        and isinstance(ahead, int | float)
        and 0 <= seconds < _MOST_SECONDS
        and abs(ahead) < _MOST_SECONDS
    ):
        return NeverBack(float(seconds), float(ahead))
    return NeverBack(from_zero=True)
