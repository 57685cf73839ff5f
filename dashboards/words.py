"""Texts and colours of numbers that represent a state."""

from dataclasses import dataclass

from grafana_foundation_sdk.models import dashboard as model

from dashboards.promql import CAUSES


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


_CAUSE = {
    "none": ("no bottleneck", "green"),
    "device": ("drive", "red"),
    "cpu_softirq": ("CPU (interrupts)", "purple"),
    "write_cache": ("write cache", "orange"),
    "thermal": ("heat", "dark-red"),
    "link": ("link", "yellow"),
    "unknown": ("unknown", "blue"),
}

VERDICT = Words(tuple((number, *_CAUSE[cause]) for number, cause in enumerate(CAUSES)))
HEALTH = Words(((0, "FAILING", "red"), (1, "passed", "green")))
ANSWERS = Words(((0, "no answer", "red"), (1, "answers", "green")))
SELF_TEST = Words(((0, "failed", "red"), (1, "passed", "green")))
READ_ONLY = Words(((0, "writable", "green"), (1, "READ-ONLY", "red")))
RUNS = Words(((0, "idle", "green"), (1, "running", "purple")))
STEADY = Words(((0, "not steady", "orange"), (1, "steady", "green")))
