"""Every query returns data on a real Prometheus with one hour of fourteen hosts in every state."""

import math
import re
from collections.abc import Iterator

import pytest

from dashboards.builders.screen import cell_width
from tests.dashboards.documents import (
    FILES,
    Target,
    columns_of,
    every_panel,
    every_target,
    filled,
    listed_columns,
    variables,
)
from tests.dashboards.past import Past
from tests.dashboards.scene import EARLIEST, END, REPLACED, START, STEP, openmetrics
from tests.end_to_end.programs import need
from tests.end_to_end.prometheus import Series

pytestmark = pytest.mark.real

#: Panels without data in the scene, with the reason.
WITHOUT_DATA: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    need("prometheus", "promtool")
    with Past(tmp_path_factory.mktemp("past") / "prometheus", openmetrics()) as prometheus:
        yield prometheus


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """A Prometheus that has none of the families."""
    need("prometheus", "promtool")
    text = f"another_family 1 {START}\n# EOF\n"
    with Past(tmp_path_factory.mktemp("nothing") / "prometheus", text) as prometheus:
        yield prometheus


def answer(past: Past, target: Target, start: float = START) -> list[Series]:
    if target.is_instant:
        return past.query(target.filled, END)
    return past.between(target.filled, start, END, STEP)


def has_data(series: Series) -> bool:
    """NaN and the row of an empty table (one label, value 0) are no data."""
    is_placeholder = 1 == len(series.labels) and 0 == series.largest
    return not is_placeholder and any(math.isfinite(value) for _, value in series.points)


def test_every_query_returns_data(past: Past) -> None:
    empty = {
        target.where
        for target in every_target()
        if not any(has_data(series) for series in answer(past, target))
    }
    assert WITHOUT_DATA == empty


def test_a_table_shows_or_hides_every_label_of_its_results(past: Past) -> None:
    """Grafana appends a label that is not listed as a further column, beyond the screen."""
    for panel in every_panel():
        if panel.json["type"] != "table":
            continue
        listed = listed_columns(panel.json)
        for target in panel.targets:
            for series in answer(past, target):
                assert series.labels.keys() <= listed | {"__name__"}, target.where


def test_the_scene_has_every_reason_and_its_texts_fit(past: Past) -> None:
    panel = next(p for p in every_panel() if "fleet.json: Which drive" in p.where)
    (target,) = panel.targets
    widths = {column.title: column.width for column in columns_of(panel.json)}
    written = set(re.findall(r'"reason", "([^"]+)", "", ""', target.expression))
    found = answer(past, target)
    # The scene has one hour, and the loss of spare blocks is measured over 30 days.
    without = {"No drive needs attention.", "it loses spare blocks quickly (30 days)"}
    assert written - without == {s.labels["reason"] for s in found}
    for series in found:
        for label, title in (("reason", "reason"), ("action", "what to do")):
            assert cell_width(series.labels[label]) <= (widths[title] or 0), series.labels[label]


def test_missing_drives_are_on_top_and_alerts_without_a_drive_link_to_their_host(
    past: Past,
) -> None:
    panel = next(p for p in every_panel() if "fleet.json: Which drive" in p.where)
    found = answer(past, panel.targets[0])
    most = max(series.largest for series in found)
    assert {"it is missing"} == {s.labels["reason"] for s in found if most == s.largest}
    devices = {series.labels.get("device", "") for series in found}
    assert {"", "md0", "sda"} <= devices
    for series in found:
        device = series.labels.get("device", "")
        to = (series.labels["page"], series.labels["drive"])
        is_drive = device not in {"", "md0", "md1"}
        assert (("ssd-drive", device) if is_drive else ("ssd-host-io", "$__all")) == to


def test_the_same_load_as_last_week_has_factor_one(past: Past) -> None:
    for title in ("Scans", "Slow queries", "Queries", "Dirty pages"):
        (target,) = (t for t in every_target() if t.where == f"mysql.json: {title} A")
        (series,) = (s for s in answer(past, target) if "db1:9104" == s.labels["instance"])
        assert pytest.approx(1, rel=0.05) == series.largest, title


def test_targets_of_other_exporters_do_not_count(past: Past) -> None:
    """The only target that is down belongs to another job."""
    (target,) = (t for t in every_target() if t.where == "fleet.json: Exporters A")
    (series,) = answer(past, target)
    failed = past.query("max by (instance) (ssd_collector_success == 0)", END)
    assert len(failed) == series.largest


def test_without_the_families_tables_have_one_row_and_other_panels_none(nothing: Past) -> None:
    for target in every_target():
        found = answer(nothing, target)
        is_table_or_states = "or on () label_replace(vector(0)" in target.expression
        assert is_table_or_states == (1 == len(found)), target.where
        assert not any(has_data(series) for series in found), target.where


def test_labels_in_legends_exist(past: Past) -> None:
    for target in every_target():
        labels = set(re.findall(r"{{(\w+)}}", target.legend)) - {"le"}
        for series in filter(has_data, answer(past, target)):
            assert labels <= series.labels.keys(), (target.where, target.legend)


def test_every_variable_has_values(past: Past) -> None:
    for file in FILES:
        for name, variable in variables(file).items():
            if variable["type"] != "query":
                continue
            asked = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            assert asked is not None, name
            found = past.series(filled(asked[1]), START, END)
            assert found, f"{file.name} {name}"
            # Only a part of the hosts belongs to a cluster.
            complete = any if "cluster" == asked[2] else all
            assert complete(asked[2] in labels for labels in found), f"{file.name} {name}"


def test_the_host_variable_joins_both_exporters() -> None:
    """The hidden variable of the MySQL dashboard removes the port."""
    pattern = variables(next(f for f in FILES if f.name == "mysql.json"))["host"]["regex"]
    found = re.compile(pattern.strip("/"))
    for instance, host in (("db1:10177", "db1"), ("db1", "db1"), ("[::1]:9104", "[::1]")):
        match = found.search(instance)
        assert match is not None
        assert host == match[1]


def test_a_replaced_drive_is_annotated_once_and_compared_with_its_predecessor(past: Past) -> None:
    marks = next(t for t in every_target() if "drive.json: annotation Drive replaced" in t.where)
    (series,) = answer(past, marks, EARLIEST)
    assert "FW9B00000099" == series.labels["serial"]
    times = [at for at, _ in series.points]
    assert REPLACED == min(times)
    # The mark lasts three hours, and Prometheus reads samples up to five minutes old.
    assert max(times) <= REPLACED + 3 * 3600 + 300

    compared = next(
        t for t in every_target() if "Time saturated in this slot, by serial number" in t.where
    )
    serials = {
        series.labels["serial"]
        for series in answer(past, compared, EARLIEST)
        if "db4:10177" == series.labels["instance"]
    }
    assert {"FW9B00000022", "FW9B00000099"} == serials


def test_the_verdict_panel_shows_the_cause_of_the_exporter(past: Past) -> None:
    """The panel maps numbers to texts; one machine is limited by its CPU, the other by its disk."""
    verdict = next(t for t in every_target() if "host-io.json: Bottleneck A" == t.where)
    by_host = {
        series.labels["instance"]: series.largest
        for series in answer(past, verdict)
        if series.labels["instance"] in {"db5:10177", "db6:10177"}
    }
    assert {"db5:10177": 2.0, "db6:10177": 1.0} == by_host
