"""Draws a row of values as characters of different height. Pure."""

from collections.abc import Sequence

from exporter.io.recent_activity import verdicts
from exporter.io.verdict import Verdict

_LEVELS = "▁▂▃▄▅▆▇█"

#: The letter of each verdict in a strip.
VERDICT_LETTERS = {
    Verdict.NONE: "·",
    Verdict.DEVICE: "D",
    Verdict.CPU_SOFTIRQ: "S",
    Verdict.THROTTLED: "T",
    Verdict.WRITE_CACHE: "W",
    Verdict.THERMAL: "H",
    Verdict.LINK: "L",
    Verdict.UNKNOWN: "?",
}


def sparkline(values: Sequence[float], width: int) -> str:
    """Returns `width` characters whose heights show the values. The last value is at the right.

    If there are more values than characters, each character shows the largest of several values. If
    there are fewer values, the line begins with spaces.
    """
    groups = _groups(len(values), width)
    heights = [max(values[begin:end]) for begin, end in groups]
    top = max(heights, default=0.0)
    last = len(_LEVELS) - 1
    line = "".join(_LEVELS[min(round(h / top * last), last) if top > 0 else 0] for h in heights)
    return line.rjust(width)


def verdict_strip(statuses: bytes, width: int) -> str:
    """Returns `width` letters. Each letter is the most frequent bottleneck in its time."""
    letters, each = [], list(verdicts(statuses))
    for begin, end in _groups(len(each), width):
        found = [verdict for verdict in each[begin:end] if verdict is not Verdict.NONE]
        verdict = max(found, key=found.count, default=Verdict.NONE)
        letters.append(VERDICT_LETTERS[verdict])
    return "".join(letters).rjust(width)


def _groups(count: int, width: int) -> list[tuple[int, int]]:
    """Returns the first and the last index of the values of each character."""
    used = min(count, max(width, 0))
    return [(count * i // used, count * (i + 1) // used) for i in range(used)]
