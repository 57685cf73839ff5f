"""Checks the JSON files with the rules of Grafana's dashboard-linter and with own rules.

https://github.com/grafana/dashboard-linter/blob/main/docs/index.md
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.documents import FILES, annotations, panels, read, variables
from tests.dashboards.promql import KNOWN_WORDS, selectors, windows, words_outside

pytestmark = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "ssd-exporter"

#: Text in a title or description for each fixed window.
WINDOWS = {
    "2m": "2 minutes",
    "5m": "5 minutes",
    "10m": "10 minutes",
    "1h": "hour",
    "24h": "24 h",
    "1d": "a day",
    "7d": "7 days",
    "30d": "30 days",
}

#: Functions whose window need not be described.
RULES_OWN = {"last_over_time"}


def test_a_dashboard_can_be_provisioned_from_a_file(file: Path) -> None:
    """No import wizard: no __inputs, no numeric id, a fixed uid, not editable, with tag."""
    document = read(file)
    assert "__inputs" not in document
    assert document.get("id") is None
    assert re.fullmatch(r"ssd-[a-z-]{3,36}", document["uid"])
    assert document["editable"] is False
    assert [TAG] == document["tags"]
    assert 39 == document["schemaVersion"]
    assert document["title"]
    assert document["description"]


def test_all_queries_use_the_data_source_variable(file: Path) -> None:
    assert "datasource" == next(iter(variables(file)))
    assert "datasource" == variables(file)["datasource"]["type"]
    assert "prometheus" == variables(file)["datasource"]["query"]
    marks = read(file).get("annotations", {}).get("list", [])
    used: list[Any] = [each["datasource"] for each in marks]
    for panel in panels(file):
        used += [panel.json["datasource"], *(each["datasource"] for each in panel.json["targets"])]
    used += [each["datasource"] for each in variables(file).values() if each["type"] == "query"]
    assert [DATASOURCE] * len(used) == used


def test_variables_select_all_or_exactly_one(file: Path) -> None:
    """Which of both is checked by the rule all-where-one-fits."""
    chosen = variables(file)
    assert ["datasource", "cluster", "job", "instance", "device"] == list(chosen)[:5]
    for name, variable in chosen.items():
        if name == "datasource":
            continue
        assert variable["includeAll"] == variable["multi"], name
        assert 2 == variable["refresh"], name
        assert name == variable["label"]
        if variable["multi"]:
            assert ["$__all"] == variable["current"]["value"], name
    # ".*" also matches hosts without the label.
    assert ".*" == chosen["cluster"]["allValue"]
    assert ".+" == chosen["job"]["allValue"]


def test_panels_have_title_description_and_unit(file: Path) -> None:
    for panel in panels(file):
        assert panel.title, panel.where
        assert panel.description.endswith((".", "?")), panel.where
        assert panel.defaults["unit"], panel.where
        assert panel.defaults["noValue"], panel.where
        assert panel.targets, panel.where
        if panel.json["type"] == "table":
            anywhere = panel.json["fieldConfig"]["overrides"][0]
            assert {"id": "byRegexp", "options": "/.*/"} == anywhere["matcher"], panel.where
            assert [{"id": "noValue", "value": "–"}] == anywhere["properties"], panel.where


def test_titles_and_ids_are_unique(file: Path) -> None:
    found = panels(file)
    titles = [panel.title for panel in found]
    assert sorted(set(titles)) == sorted(titles)
    numbers = [panel.json["id"] for panel in found]
    assert sorted(set(numbers)) == sorted(numbers)


def test_selectors_match_the_selected_hosts(file: Path) -> None:
    """By cluster, job and instance; metrics of mysqld_exporter by its own variables."""
    asked = [target for panel in panels(file) for target in panel.targets] + annotations(file)
    for target in asked:
        assert selectors(target.expression), target.where
        for selector in selectors(target.expression):
            prefix = "mysql_" if selector.name.startswith("mysql_") else ""
            assert "$cluster" == selector.matchers.get("cluster"), target.where
            assert f"${prefix}job" == selector.matchers.get("job"), target.where
            assert f"${prefix}instance" == selector.matchers.get("instance"), target.where
        assert set() == words_outside(target.expression) - KNOWN_WORDS, target.where


def test_rates_use_rate_interval_and_fixed_windows_are_described(file: Path) -> None:
    for panel in panels(file):
        text = f"{panel.title} {panel.description} {panel.json.get('transformations', '')}"
        for target in panel.targets:
            for function, window in windows(target.expression):
                if window.startswith("$__") or function in RULES_OWN:
                    continue
                assert function != "irate", target.where
                assert WINDOWS[window.partition(":")[0]] in text, target.where


def test_drive_series_link_to_drive_and_host(file: Path) -> None:
    """Links contain the clicked labels and the time range; dashboards link to each other by tag."""
    for panel in panels(file):
        links = panel.defaults.get("links", [])
        if panel.json["type"] == "heatmap":
            continue
        if any("{{device}}" in target.legend for target in panel.targets):
            drive, host = (link["url"] for link in links)
            assert drive.startswith("/d/ssd-drive?"), panel.where
            assert host.startswith("/d/ssd-host-io?"), panel.where
            assert "var-device=${__field.labels.device}" in drive, panel.where
            for url in (drive, host):
                assert "var-instance=${__field.labels.instance}" in url, panel.where
                assert url.endswith("&${__url_time_range}"), panel.where
    (link,) = read(file)["links"]
    assert ("dashboards", [TAG]) == (link["type"], link["tags"])
    assert link["includeVars"]
    assert link["keepTime"]


def test_panels_do_not_overlap(file: Path) -> None:
    """At most about 25 panels are outside of collapsed rows."""
    taken: set[tuple[int, int]] = set()
    for panel in read(file)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert set() == cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
    shown = [panel for panel in read(file)["panels"] if panel["type"] != "row"]
    assert len(shown) <= 27


def test_the_first_row_of_host_io_shows_all_causes(
    file: Path,
) -> None:
    """Coloured tiles in the first line below the heading."""
    if file.name != "host-io.json":
        return
    first = [panel for panel in read(file)["panels"] if panel["gridPos"]["y"] == 1]
    assert {"stat"} == {panel["type"] for panel in first}
    assert {"background"} == {panel["options"]["colorMode"] for panel in first}
    titles = [panel["title"] for panel in first]
    causes = ["Saturated", "Stalled", "Softirq CPU", "Falloff", "Heat margin", "Link speed"]
    assert ["Bottleneck", *causes] == titles


def test_threshold_steps_are_sorted(file: Path) -> None:
    for panel in panels(file):
        steps = panel.defaults.get("thresholds", {}).get("steps", [])
        values = [step["value"] for step in steps]
        assert values[:1] in ([], [None]), panel.where
        assert sorted(values[1:]) == values[1:], panel.where


def test_uids_are_unique_and_links_refer_to_existing_ones(file: Path) -> None:
    uids = [read(each)["uid"] for each in FILES]
    assert sorted(set(uids)) == sorted(uids)
    assert set(re.findall(r"/d/([a-z-]+)\?", file.read_text(encoding="utf-8"))) <= set(uids)
