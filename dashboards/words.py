"""Words and colours for numbers that stand for a state."""

from dataclasses import dataclass

from grafana_foundation_sdk.models import dashboard as model

from dashboards.promql import CAUSES


@dataclass(frozen=True, slots=True)
class Words:
    """Texts and colours by number."""

    of: tuple[tuple[int, str, str], ...]

    def mapping(self) -> model.ValueMap:
        """As Grafana's value mapping."""
        return model.ValueMap(
            {
                str(number): model.ValueMappingResult(text=text, color=colour, index=index)
                for index, (number, text, colour) in enumerate(self.of)
            }
        )


_CAUSE = {
    "none": ("nothing", "green"),
    "device": ("the disk", "red"),
    "cpu_softirq": ("CPU (interrupts)", "purple"),
    "write_cache": ("the write cache", "orange"),
    "thermal": ("heat", "dark-red"),
    "link": ("the link", "yellow"),
    "unknown": ("unknown", "blue"),
}

VERDICT = Words(tuple((number, *_CAUSE[cause]) for number, cause in enumerate(CAUSES)))
HEALTH = Words(((0, "FAILING", "red"), (1, "passed", "green")))
ANSWERS = Words(((0, "silent or gone", "red"), (1, "answers", "green")))
SELF_TEST = Words(((0, "found a fault", "red"), (1, "passed", "green")))
READ_ONLY = Words(((0, "writable", "green"), (1, "READ-ONLY", "red")))
RUNS = Words(((0, "idle", "green"), (1, "runs", "purple")))
STEADY = Words(((0, "not steady", "orange"), (1, "steady", "green")))
