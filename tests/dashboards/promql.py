"""Extracts selectors, functions and labels from PromQL; Prometheus itself parses it in other tests.

It requires that every selector has braces, which a test verifies.
"""

import re
from dataclasses import dataclass

_SELECTOR = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[^{}"]|"[^"]*")*)\}')
_MATCHER = re.compile(r'([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_STRING = re.compile(r'"[^"]*"')
_WORD = re.compile(r"(?<![\w.])[a-zA-Z_:][a-zA-Z0-9_:]*")

#: Functions and keywords of PromQL that the dashboards use.
KNOWN_WORDS = frozenset(
    {
        *("and", "or", "unless", "bool", "offset"),
        *("sum", "min", "max", "avg", "count", "topk", "bottomk", "quantile"),
        *(
            "rate",
            "increase",
            "delta",
            "time",
            "histogram_quantile",
            "histogram_fraction",
            "predict_linear",
        ),
        *("quantile_over_time", "avg_over_time", "min_over_time", "max_over_time"),
        *("last_over_time", "clamp_min", "clamp_max", "label_replace", "vector", "end"),
    }
)


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric name and its label matchers."""

    name: str
    matchers: dict[str, str]


def selectors(expression: str) -> list[Selector]:
    return [
        # Of several matchers of a label the first one counts.
        Selector(name, dict(reversed(_MATCHER.findall(inside))))
        for name, inside in _SELECTOR.findall(expression)
    ]


def words_outside(expression: str) -> set[str]:
    """Names outside of selectors and labels: functions and bare metric names."""
    rest = _SELECTOR.sub(" ", expression)
    rest = _STRING.sub(" ", rest)
    rest = _LABELS.sub(" ", rest)
    rest = re.sub(r"\[[^\]]*\]|offset \w+", " ", rest)
    return set(_WORD.findall(rest))


def labels_named(expression: str) -> set[str]:
    """Labels by which series are grouped or joined."""
    return {
        label.strip()
        for inside in _LABELS.findall(expression)
        for label in inside.split(",")
        if label.strip()
    }


def windows(expression: str) -> list[tuple[str, str]]:
    """Pairs of function and range, one for each range selector."""
    return re.findall(r"(\w+)\([^()\[\]]*\[([^\]]+)\]", expression)
