"""The files of alerts/ with their time shortened, so that a test sees an hour's alert in a minute.

All times that Prometheus and Alertmanager wait for are divided by one factor: the intervals of
groups, `for` and `keep_firing_for`, the ranges, steps and offsets in expressions and in the queries
of texts, `group_wait` and similar keys, and the thresholds that are part of such a range
(`OF_A_RANGE`). Values that the exporter measures keep their length, because the exporter is not
shortened: latencies, ratios, counts, the ages of its own polls, and dates in the future.

Documents are the results of yaml.safe_load. No document is changed in place.
"""

import re
from collections.abc import Mapping
from typing import Any

#: All times are divided by this number: a minute becomes a second.
FACTOR = 60

#: Minimum number of scrapes in a range. With fewer, a range may lack a value that it needs.
LEAST_SCRAPES = 4

#: Thresholds in seconds that relate to a range or to the clock of Prometheus.
OF_A_RANGE = frozenset(
    f"ssd:threshold:{name}"
    for name in (
        "boot_grace_seconds",
        "disk_saturated_seconds_per_day",
        "disk_stalled_seconds",
        "disk_stalled_ticket_seconds",
        "probe_blind_seconds",
        "probe_stale_seconds",
    )
)

_MILLISECONDS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
    "y": 31_536_000_000,
}
_DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_WAITS = re.compile(rf"(\[)({_DURATION})(:({_DURATION})?)?\]|\b(offset\s+)(-?)({_DURATION})")
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`)')
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_OF_RULES = ("interval", "for", "keep_firing_for")
_OF_ROUTES = ("group_wait", "group_interval", "repeat_interval")


def milliseconds(duration: str) -> int:
    """Returns the milliseconds of a duration in the format of Prometheus and Alertmanager.

    Raises:
        ValueError: it is not a duration.
    """
    if not re.fullmatch(_DURATION, duration):
        raise ValueError(f"{duration!r} is no duration")
    parts = re.findall(r"(\d+)(ms|[smhdwy])", duration)
    return sum(int(number) * _MILLISECONDS[unit] for number, unit in parts)


def duration(text: str, factor: int) -> str:
    """Returns a duration divided by the factor.

    Raises:
        ValueError: it is not a duration, or the result is not a whole number of milliseconds.
    """
    shortened, rest = divmod(milliseconds(text), factor)
    if rest:
        raise ValueError(f"{text} by {factor} is no whole number of milliseconds")
    return f"{shortened // 1000}s" if shortened % 1000 == 0 else f"{shortened}ms"


def expression(promql: str, factor: int, scrape_seconds: float) -> str:
    """Returns an expression with shortened ranges, subqueries and offsets; strings do not change.

    Raises:
        ValueError: a range would contain fewer than `LEAST_SCRAPES` scrapes.
    """

    def one(found: re.Match[str]) -> str:
        bracket, length, subquery, step, offset, sign, back = found.groups()
        if not bracket:
            return f"{offset}{sign}{duration(back, factor)}"
        shortened = duration(length, factor)
        if milliseconds(shortened) < LEAST_SCRAPES * scrape_seconds * 1000:
            raise ValueError(f"{found[0]}: {shortened} is less than {LEAST_SCRAPES} scrapes")
        steps = duration(step, factor) if step else ""
        return f"[{shortened}:{steps}]" if subquery else f"[{shortened}]"

    parts = _QUOTED.split(promql)
    return "".join(
        part if quoted else _WAITS.sub(one, part)
        for part, quoted in zip(parts, [False, True] * len(parts), strict=False)
    )


def text(annotation: str, factor: int, scrape_seconds: float) -> str:
    """Returns an alert text with shortened queries; the words stay."""

    def query(action: re.Match[str]) -> str:
        return _QUOTED.sub(
            lambda found: (
                found[0][0] + expression(found[0][1:-1], factor, scrape_seconds) + found[0][-1]
            ),
            action[0],
        )

    return _ACTION.sub(query, annotation)


def rules(document: Mapping[str, Any], factor: int, scrape_seconds: float) -> dict[str, Any]:
    """Returns a shortened rule file."""
    groups = [
        {
            **_waits(group, _OF_RULES, factor),
            "rules": [_rule(rule, factor, scrape_seconds) for rule in group["rules"]],
        }
        for group in document["groups"]
    ]
    return {**document, "groups": groups}


def routes(document: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """Returns a shortened Alertmanager configuration."""
    return {**document, "route": _route(document["route"], factor)}


def _rule(rule: Mapping[str, Any], factor: int, scrape_seconds: float) -> dict[str, Any]:
    shortened = _waits(rule, _OF_RULES, factor)
    if rule.get("record") in OF_A_RANGE:
        shortened["expr"] = re.sub(
            r"[\d.]+", lambda number: repr(float(number[0]) / factor), rule["expr"]
        )
    else:
        shortened["expr"] = expression(rule["expr"], factor, scrape_seconds)
    if "annotations" in rule:
        shortened["annotations"] = {
            name: text(words, factor, scrape_seconds) for name, words in rule["annotations"].items()
        }
    return shortened


def _route(route: Mapping[str, Any], factor: int) -> dict[str, Any]:
    shortened = _waits(route, _OF_ROUTES, factor)
    if "routes" in route:
        shortened["routes"] = [_route(each, factor) for each in route["routes"]]
    return shortened


def _waits(of: Mapping[str, Any], names: tuple[str, ...], factor: int) -> dict[str, Any]:
    return {name: duration(value, factor) if name in names else value for name, value in of.items()}
