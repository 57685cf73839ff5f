"""Scores each rule of the table on groups of drives that did not count for it.

A rule is judged by the drives of all other groups: it is published for a group only if they confirm
it. Then it is scored on that group. So the result shows how the table does on models and firmware
that it was not made from. The conditions of a rule were chosen with all drives in view, so the
result is still too good.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from exporter.drives.ata_endurance import BOUND_SUFFIX
from rigs.vendor_table.captures import Capture
from rigs.vendor_table.score import Score, hidden_result

#: A rule is published if at least this many drives of other groups confirm it, and if at most this
#: share of them contradicts it.
MIN_CONFIRMED, MAX_WRONG = 5, 0.01

#: The number of characters of a firmware version that name its branch.
_BRANCH_CHARACTERS = 4

_CAPACITY = re.compile(r"[0-9]{2,}|[0-9]+(?=[TG])")


def firmware_family(capture: Capture) -> str:
    """Returns the branch of the firmware: RVT0 for RVT04B6Q."""
    return (capture.identity.firmware or "")[:_BRANCH_CHARACTERS]


def model_family(capture: Capture) -> str:
    """Returns the model without its capacity: KINGSTON SA#S# for KINGSTON SA400S37240G."""
    return _CAPACITY.sub("#", capture.identity.model or "")


def all_shares(captures: Iterable[Capture], total: Score) -> dict[str, Counter[str]]:
    """Returns the results with hidden device statistics, in-sample and left out, by title."""
    return {
        "in-sample": total.hidden,
        "firmware family left out": left_out(captures, firmware_family),
        "model family left out": left_out(captures, model_family),
    }


def left_out(captures: Iterable[Capture], group: Callable[[Capture], str]) -> Counter[str]:
    """Returns how many drives are right, bound, wrong and unknown if their group does not count.

    group: returns the name of the group of a drive.
    """
    result: Counter[str] = Counter()
    rules: defaultdict[str, defaultdict[str, Counter[str]]]
    rules = defaultdict(lambda: defaultdict(Counter))
    for capture in captures:
        found, wear = hidden_result(capture), capture.hidden.endurance
        if found in ("right", "wrong", "bound") and wear is not None:
            rules[wear.rule.removesuffix(BOUND_SUFFIX)][group(capture)][found] += 1
        elif found == "unknown":
            result["unknown"] += 1
    for groups in rules.values():
        total = sum(groups.values(), Counter[str]())
        for own in groups.values():
            rest = total - own
            is_published = rest["right"] >= MIN_CONFIRMED and rest["wrong"] <= MAX_WRONG * (
                rest["right"] + rest["wrong"]
            )
            if is_published:
                result += own
            else:
                result["unknown"] += own.total()
    return result
