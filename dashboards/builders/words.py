"""Texts and colours of numbers that represent a state."""

from dataclasses import dataclass

from grafana_foundation_sdk.models import dashboard as model

from dashboards.builders.promql import CAUSES

#: Colour of a healthy state in a state timeline: visible in both themes, and not an exception.
_FAINT = "rgba(128, 128, 128, 0.25)"


@dataclass(frozen=True, slots=True)
class Words:
    """Text and colour for each number; `of` contains number, text, colour."""

    of: tuple[tuple[int, str, str], ...]

    def mapping(self) -> model.ValueMap:
        """Returns the value mapping for Grafana."""
        return model.ValueMap(
            {
                str(number): model.ValueMappingResult(text=text, color=colour, index=index)
                for index, (number, text, colour) in enumerate(self.of)
            }
        )

    def quiet(self) -> "Words":
        """The same texts, without a colour for good states, for tables."""
        return self._good("transparent")

    def faint(self) -> "Words":
        """The same texts, with a neutral colour for good states, for state timelines."""
        return self._good(_FAINT)

    def _good(self, colour: str) -> "Words":
        return Words(
            tuple(
                (number, text, colour if original == "green" else original)
                for number, text, original in self.of
            )
        )


_CAUSE = {
    "none": ("no bottleneck", "green"),
    "device": ("device", "red"),
    "cpu_softirq": ("cpu softirq", "purple"),
    "write_cache": ("write cache", "orange"),
    "thermal": ("thermal", "dark-red"),
    "link": ("link", "yellow"),
    "unknown": ("unknown", "blue"),
    "throttled": ("throttled", "light-orange"),
}

VERDICT = Words(tuple((number, *_CAUSE[cause]) for number, cause in enumerate(CAUSES)))
HEALTH = Words(((0, "passed", "green"), (1, "FAILING", "red"), (2, "too hot", "orange")))
ANSWERS = Words(((0, "no answer", "red"), (1, "answers", "green")))
PRESENCE = Words(((0, "answers", "green"), (1, "no answer", "orange"), (2, "MISSING", "red")))
URGENCY = Words(
    (
        (0, "", "transparent"),
        (1, "info", "blue"),
        (2, "warning", "orange"),
        (3, "critical", "red"),
        (4, "MISSING", "red"),
    )
)
SELF_TEST = Words(((0, "failed", "red"), (1, "passed", "green")))
READ_ONLY = Words(((0, "writable", "green"), (1, "READ-ONLY", "red")))
RUNS = Words(((0, "idle", "green"), (1, "running", "purple")))
STEADY = Words(((0, "not steady", "orange"), (1, "steady", "green")))
SLOW_PLACE = Words(((0, "outside of the drive", "green"), (1, "inside the drive", "orange")))
