"""Scores the vendor table: how many captured drives confirm and contradict it.

Two thirds of the captured drives have device statistics. They are answers as well as questions: if
they are hidden, the table must find the same values. So the reference of a drive is the value that
is published with its device statistics, unless no other source can confirm it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.drives.health import WrittenBytes
from tests.vendor_table.captures import Capture

#: The largest difference to the reference, in percentage points.
MAX_DIFFERENCE = 2.0
#: The largest difference between two counts of bytes that agree, as a ratio.
MAX_BYTES_RATIO = 1.05
#: A drive cannot have used 0 % of its endurance after this number of full drive writes.
MAX_FREE_WRITES = 300


@dataclass(slots=True)
class Score:
    """The score of all drives, or of the drives of one make.

    Each counter is keyed by "right", "wrong", "unknown" and "no reference".
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
    part.hidden[_hidden(capture)] += 1
    part.written[_written(capture, capture.health.host_written)] += 1
    part.written_hidden[_written(capture, capture.hidden.host_written)] += 1
    part.rejected.update(
        f"{rejected.metric}: {rejected.reason}" for rejected in capture.health.rejected
    )
    part.false_zeros += _is_false_zero(capture)


def _percent(capture: Capture, *, hidden: bool) -> float | None:
    endurance = (capture.hidden if hidden else capture.health).endurance
    return None if endurance is None else 100 * endurance.used_ratio


def _published(capture: Capture) -> str:
    """Compares the published wear with the device statistics."""
    published, reference = _percent(capture, hidden=False), capture.statistics_percent
    if published is None:
        return "unknown"
    if reference is None:
        return "no reference"
    if abs(published - reference) <= MAX_DIFFERENCE:
        return "right"
    return "statistics rejected"


def _hidden(capture: Capture) -> str:
    published, guessed = _percent(capture, hidden=False), _percent(capture, hidden=True)
    if capture.statistics_percent is None or published is None:
        return "no reference"
    if guessed is None:
        return "unknown"
    return "right" if abs(published - guessed) <= MAX_DIFFERENCE else "wrong"


def _written(capture: Capture, count: WrittenBytes | None) -> str:
    """Compares a count with the device statistics. A count that restarted at 2^32 is right, too."""
    reference = capture.statistics_bytes
    if reference is None:
        return "no reference"
    if count is None:
        return "unknown"
    block = capture.identity.logical_block_bytes or 512
    tolerance = (MAX_BYTES_RATIO - 1) * reference + 2 * count.unit_bytes
    if abs(count.bytes - reference) <= tolerance:
        return "right"
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
