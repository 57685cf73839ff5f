"""Tests of the PromQL helpers."""

from tests.dashboards.promql import (
    Selector,
    labels_named,
    selectors,
    windows,
    words_outside,
)

EXPRESSION = (
    'sum by (job, device) (rate(a_total{job=~"$job", x="{}"}[$__rate_interval])) '
    '/ on (job) group_left (model) b{job=~"$job"} > 1.5e3 offset 5m'
)


def test_selectors_returns_names_and_matchers() -> None:
    expected = [
        Selector("a_total", {"job": "$job", "x": "{}"}),
        Selector("b", {"job": "$job"}),
    ]
    assert expected == selectors(EXPRESSION)


def test_a_metric_without_braces_is_found() -> None:
    assert {"sum", "rate"} == words_outside(EXPRESSION)
    assert {"up", "sum"} == words_outside("sum(up)")


def test_labels_of_groups_and_joins_are_found() -> None:
    assert {"job", "device", "model"} == labels_named(EXPRESSION)


def test_windows_returns_functions_and_ranges() -> None:
    assert [("rate", "$__rate_interval")] == windows(EXPRESSION)
    assert [("increase", "24h")] == windows('topk(20, increase(a{x="y"}[24h]))')
