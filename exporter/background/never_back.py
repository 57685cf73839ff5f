"""A counter that the kernel lets step back, made to grow only."""

#: Beyond this a step back is no jitter: the kernel began to count anew, and waiting until it has
#: caught up would hide all that it counts meanwhile (CPU hotplug, node_exporter's cpu collector).
_JITTER_SECONDS = 5.0


class NeverBack:
    """Continues a time counter over the steps back of its source.

    A small step is waited out, for the source makes it good soon; adding up the steps forward
    instead would count them twice. After a large one the counter goes on from where it stood.
    """

    __slots__ = ("_ahead", "_said")

    def __init__(self, at_least: float = 0.0) -> None:
        self._said = at_least
        self._ahead = 0.0

    def advance(self, counted: float) -> float:
        """What to say for what the source has counted."""
        value = counted + self._ahead
        if value < self._said - _JITTER_SECONDS:
            self._ahead = self._said - counted
        self._said = max(self._said, value)
        return self._said

    @property
    def said(self) -> float:
        return self._said
