"""The rules of the lint: no dashboard breaks one, and each detects its mistake."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.documents import FILES, panels_of, read
from tests.dashboards.lint import RULES, findings, main

Document = dict[str, Any]
Mistake = Callable[[Document], None]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_dashboard_breaks_a_rule(file: Path) -> None:
    assert [] == findings(read(file))


def dashboard(name: str) -> Document:
    (file,) = (file for file in FILES if file.stem == name)
    return read(file)


def panel(document: Document, kind: str, text: str = "") -> dict[str, Any]:
    """The first panel of a kind with `text` in a query."""
    return next(
        each
        for each in panels_of(document)
        if kind == each["type"] and any(text in target["expr"] for target in each["targets"])
    )


def expressions(document: Document, pattern: str, replacement: str) -> None:
    for each in panels_of(document):
        for target in each["targets"]:
            target["expr"] = re.sub(pattern, replacement, target["expr"])


def _variable(document: Document, name: str) -> dict[str, Any]:
    return next(each for each in document["templating"]["list"] if name == each["name"])


def _columns(table: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = next(
        each["options"] for each in table["transformations"] if "organize" == each["id"]
    )
    return options


def _red_base(document: Document) -> None:
    panel(document, "stat")["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"] = "red"


def _by_threshold(document: Document) -> None:
    panel(document, "state-timeline")["fieldConfig"]["defaults"]["color"]["mode"] = "thresholds"


def _green_state(document: Document) -> None:
    defaults = panel(document, "state-timeline")["fieldConfig"]["defaults"]
    defaults["mappings"][0]["options"]["0"]["color"] = "green"


def _unsorted_alerts(document: Document) -> None:
    del panel(document, "table", "ALERTS{")["options"]["sortBy"]


def _darker(document: Document) -> None:
    panel(document, "stat")["description"] = "Darker: more."


def _long_title(document: Document) -> None:
    panel(document, "stat")["title"] = "Drives that are missing"


def _without_name(document: Document) -> None:
    panel(document, "stat", "ssd_io_bottleneck")["options"]["textMode"] = "auto"


def _two_values(document: Document) -> None:
    targets = panel(document, "stat")["targets"]
    targets.append(targets[0])


def _unsorted_legend(document: Document) -> None:
    del panel(document, "timeseries")["options"]["legend"]["sortBy"]


def _with_port(document: Document) -> None:
    panel(document, "state-timeline")["transformations"] = []


def _linear(document: Document) -> None:
    custom = panel(document, "timeseries", "read_time_seconds")["fieldConfig"]["defaults"]["custom"]
    del custom["scaleDistribution"]


def _binary_unit(document: Document) -> None:
    panel(document, "timeseries")["fieldConfig"]["defaults"]["unit"] = "bytes"


def _any_decimals(document: Document) -> None:
    for each in panels_of(document):
        each["fieldConfig"]["defaults"].pop("decimals", None)


def _seconds_of_a_day(document: Document) -> None:
    each = panel(document, "timeseries", "increase(ssd_smart_over_temperature_seconds_total")
    each["fieldConfig"]["defaults"]["unit"] = "s"


def _bars(document: Document) -> None:
    each = panel(document, "timeseries", "[24h]")
    each["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "bars"


def _filled(document: Document) -> None:
    panel(document, "timeseries")["fieldConfig"]["defaults"]["custom"]["fillOpacity"] = 10


def _label_unit(document: Document) -> None:
    panel(document, "table")["fieldConfig"]["defaults"]["unit"] = "short"


def _without_order(document: Document) -> None:
    _columns(panel(document, "table"))["indexByName"] = {}


def _widths(document: Document, width: int | None) -> None:
    for override in panel(document, "table")["fieldConfig"]["overrides"]:
        for each in list(override["properties"]):
            if each["id"] in {"custom.width", "custom.minWidth"}:
                override["properties"].remove(each)
                if width is not None:
                    override["properties"].append({"id": "custom.width", "value": width})


def _hidden_severity(document: Document) -> None:
    panel(document, "table", "ALERTS{")["fieldConfig"]["overrides"].append(
        {
            "matcher": {"id": "byName", "options": "severity"},
            "properties": [{"id": "custom.hidden", "value": True}],
        }
    )


def _link_to_device(document: Document) -> None:
    table = panel(document, "table", "ALERTS{")
    table["fieldConfig"]["overrides"].append(
        {
            "matcher": {"id": "byName", "options": "device"},
            "properties": [
                {"id": "links", "value": [{"url": "?var-device=${__data.fields.device}"}]}
            ],
        }
    )


def _info_only(document: Document) -> None:
    _variable(document, "device")["query"]["query"] = "label_values(ssd_device_info, device)"


def _all_hosts(document: Document) -> None:
    _variable(document, "instance")["includeAll"] = True


def _without_cluster(document: Document) -> None:
    expressions(document, r'cluster=~"\$cluster", ', "")


def _short_mark(document: Document) -> None:
    for mark in document["annotations"]["list"]:
        mark["expr"] = mark["expr"].replace("offset 3h", "offset 15m")


def _probe_marks(document: Document) -> None:
    for mark in document["annotations"]["list"]:
        mark["enable"] = True


def _table_below(document: Document) -> None:
    panel(document, "table", "reason")["gridPos"]["y"] = 40


def _hottest_cpu(document: Document) -> None:
    rows = [each for each in document["panels"] if "row" == each["type"]]
    document["panels"] += [each for row in rows for each in row["panels"]]


def _link_without_cluster(document: Document) -> None:
    for each in panels_of(document):
        for link in each["fieldConfig"]["defaults"].get("links", []):
            link["url"] = link["url"].replace("${cluster:queryparam}", "")


def _expression(pattern: str, replacement: str) -> Mistake:
    return lambda document: expressions(document, pattern, replacement)


MISTAKES: dict[str, tuple[str, Mistake]] = {
    "unknown-value-has-a-meaning": ("host-io", _red_base),
    "state-timeline-by-threshold": ("fleet", _by_threshold),
    "healthy-state-has-a-colour": ("fleet", _green_state),
    "alert-severity-without-a-colour": ("fleet", _unsorted_alerts),
    "failing-for-heat-alone": ("fleet", _expression("ssd_smart_critical_warning", "other")),
    "dark-or-light": ("host-io", _darker),
    "title-is-cut": ("fleet", _long_title),
    "tile-names-no-drive": ("host-io", _without_name),
    "tile-with-several-values": ("drive", _two_values),
    "legend-has-no-order": ("host-io", _unsorted_legend),
    "legend-shows-the-port": ("fleet", _with_port),
    "latency-axis-is-linear": ("host-io", _linear),
    "unit-misleads": ("host-io", _binary_unit),
    "share-has-five-digits": ("host-io", _any_decimals),
    "share-exceeds-one": ("host-io", _expression(r"clamp_max\(", "(")),
    "duration-axis-has-odd-steps": ("drive", _seconds_of_a_day),
    "moving-window-as-bars": ("drive", _bars),
    "fills-overlap": ("host-io", _filled),
    "quantile-is-not-a-number": ("host-io", _expression(">= 0", "")),
    "division-by-zero": ("host-io", _expression(r"/ \(rate\(", "/ rate((")),
    "events-that-did-not-happen": ("drive", _expression("> 0$", "")),
    "empty-state-timeline": ("fleet", _expression(r"or on \(\) ", "or ")),
    "targets-of-other-jobs": ("fleet", _expression("ssd_exporter_build_info", "other")),
    "dirty-pages-by-state": ("mysql", _expression(r'state=~"data\|free\|misc"', "")),
    "median-of-buckets": ("host-io", _expression(r"quantile\(0.99", "quantile(0.5")),
    "series-without-limit": ("fleet", _expression(r"topk\(5,", "(")),
    "label-as-a-number": ("fleet", _label_unit),
    "columns-by-alphabet": ("fleet", _without_order),
    "columns-of-equal-width": ("fleet", lambda d: _widths(d, None)),
    "header-is-cut": ("fleet", lambda d: _widths(d, 20)),
    "column-beyond-the-screen": ("fleet", lambda d: _widths(d, 600)),
    "empty-table-is-blank": ("fleet", _expression(r"vector\(0\)", "nothing")),
    "column-is-hidden-by-a-label": ("fleet", _hidden_severity),
    "link-to-a-dash": ("fleet", _link_to_device),
    "lost-drive-is-not-selected": ("fleet", _info_only),
    "all-where-one-fits": ("host-io", _all_hosts),
    "cluster-is-not-selected": ("host-io", _without_cluster),
    "mark-is-too-short": ("drive", _short_mark),
    "probe-marks-cover-the-week": ("drive", _probe_marks),
    "first-screen-without-the-answer": ("fleet", _table_below),
    "needless-panel": ("host-io", _hottest_cpu),
    "link-loses-the-selection": ("host-io", _link_without_cluster),
}


def test_each_rule_has_an_example_of_its_mistake() -> None:
    assert MISTAKES.keys() == RULES.keys()


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_detects_its_mistake(rule: str) -> None:
    name, mistake = MISTAKES[rule]
    document = copy.deepcopy(dashboard(name))
    mistake(document)
    assert list(RULES[rule](document))


def test_the_command_counts_the_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(FILES)
    assert f"0 findings in {len(FILES)} files" in capsys.readouterr().out
