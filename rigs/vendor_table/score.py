"""Scores the vendor table: how many captured drives confirm and contradict it.

Three quarters of the captured drives have device statistics. They are answers as well as questions:
if they are hidden, the table must find the same values. So the reference of a drive is its
Percentage Used Endurance Indicator, and never a value that the table itself has computed. Makes
that are known not to report this indicator have no reference.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.drives.health import Endurance, WrittenBytes
from exporter.drives.wear_table import STATISTICS_RULES
from rigs.vendor_table.captures import Capture

#: The largest difference to the reference, in percentage points.
MAX_DIFFERENCE = 2.0
#: The largest difference between two counts of bytes that agree, as a ratio.
MAX_BYTES_RATIO = 1.05
#: A drive cannot have used 0 % of its endurance after this number of full drive writes.
MAX_FREE_WRITES = 300
#: The value of the indicator that means "not supported".
NOT_SUPPORTED = 255
#: The value at which the indicator restarts on some drives that have used more.
RESTART = 256
#: The makes whose indicator has another meaning or is always wrong.
NO_REFERENCE = frozenset(rule.make for rule in STATISTICS_RULES if rule.use != "agree")


@dataclass(slots=True)
class Score:
    """The score of all drives, or of the drives of one make.

    Each counter is keyed by "right", "wrong", "unknown" and "no reference". `published` and
    `hidden` have the key "bound" for a gauge that has stopped on a drive that has used more.
    """

    drives: int = 0
    published: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    written_hidden: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    false_zeros: int = 0


def score(captures: Iterable[Capture]) -> tuple[Score, dict[str, Score]]:
    """Returns the score of all captures, and the scores by make."""
    total = Score()
    by_make: defaultdict[str, Score] = defaultdict(Score)
    for capture in captures:
        for part in (total, by_make[capture.make]):
            _add(part, capture)
    return total, dict(by_make)


def share(counter: Counter[str], key: str) -> float:
    """Returns the share of one key among the drives that have a reference, 0 to 1."""
    known = sum(count for name, count in counter.items() if name != "no reference")
    return counter[key] / known if known else 0.0


def _add(part: Score, capture: Capture) -> None:
    part.drives += 1
    part.published[_published(capture)] += 1
    part.hidden[hidden_result(capture)] += 1
    part.written[_written(capture, capture.health.host_written)] += 1
    part.written_hidden[_written(capture, capture.hidden.host_written)] += 1
    part.rejected.update(
        f"{rejected.metric}: {rejected.reason}" for rejected in capture.health.rejected
    )
    part.false_zeros += _is_false_zero(capture)


def _reference(capture: Capture) -> int | None:
    """Returns the used endurance by the device statistics; None if they are not to be believed.

    0 is not a reference: some drives report it when they are worn out, and for a new drive every
    rule is right.
    """
    percent = capture.statistics_percent
    if percent in (None, 0, NOT_SUPPORTED) or capture.make in NO_REFERENCE:
        return None
    return percent


def _published(capture: Capture) -> str:
    """Compares the published wear with the device statistics."""
    return _compared(capture, capture.health.endurance)


def hidden_result(capture: Capture) -> str:
    """Returns whether the wear without device statistics is right: a key of `Score.hidden`."""
    return _compared(capture, capture.hidden.endurance)


def _compared(capture: Capture, endurance: Endurance | None) -> str:
    """Compares a wear with the reference, which is one byte: on some drives it restarts at 256."""
    reference = _reference(capture)
    if reference is None:
        return "no reference"
    if endurance is None:
        return "unknown"
    percent = 100 * endurance.used_ratio
    if min(abs(percent - reference), abs(percent % RESTART - reference)) <= MAX_DIFFERENCE:
        return "right"
    return "bound" if endurance.is_lower_bound and percent <= reference else "wrong"


def _written(capture: Capture, count: WrittenBytes | None) -> str:
    """Compares a count with the device statistics.

    A count is right, too, if the statistics restarted at 2^32 sectors, or if they contain the raw
    value of the attribute, which does not count sectors.
    """
    reference = capture.statistics_bytes
    if reference is None:
        return "no reference"
    if count is None:
        return "unknown"
    block = capture.identity.logical_block_bytes or 512
    tolerance = (MAX_BYTES_RATIO - 1) * reference + 2 * count.unit_bytes
    if abs(count.bytes - reference) <= tolerance:
        return "right"
    if reference // block == count.bytes // count.unit_bytes:
        return "right, other unit"
    restart = (1 << 32) * block
    distance = (count.bytes - reference) % restart
    has_restarted = count.bytes > reference and min(distance, restart - distance) <= 0.02 * restart
    return "right, restarted" if has_restarted else "differs"


def _is_false_zero(capture: Capture) -> bool:
    health, capacity = capture.health, capture.identity.capacity_bytes
    if health.endurance is None or health.host_written is None or not capacity:
        return False
    is_zero = health.endurance.used_ratio < 0.005
    return is_zero and health.host_written.bytes > MAX_FREE_WRITES * capacity
