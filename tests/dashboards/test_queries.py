"""Every query returns data on a real Prometheus with one hour of seven hosts."""

import math
import re
from collections.abc import Iterator

import pytest

from tests.dashboards.documents import FILES, Target, every_target, filled, variables
from tests.dashboards.past import Past
from tests.dashboards.scene import END, REPLACED, START, STEP, openmetrics
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


def answer(past: Past, target: Target) -> list[Series]:
    if target.is_instant:
        return past.query(target.filled, END)
    return past.between(target.filled, START, END, STEP)


def test_every_query_returns_data(past: Past) -> None:
    """NaN (division by zero) does not count as data."""
    empty = {
        target.where
        for target in every_target()
        if not any(
            math.isfinite(value) for series in answer(past, target) for _, value in series.points
        )
    }
    assert WITHOUT_DATA == empty


def test_labels_in_legends_exist(past: Past) -> None:
    for target in every_target():
        labels = set(re.findall(r"{{(\w+)}}", target.legend)) - {"le"}
        for series in answer(past, target):
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
            assert all(asked[2] in labels for labels in found), f"{file.name} {name}"


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
    (series,) = answer(past, marks)
    assert "FW9B00000099" == series.labels["serial"]
    times = [at for at, _ in series.points]
    assert REPLACED == min(times)
    assert max(times) < REPLACED + 20 * 60

    compared = next(
        t for t in every_target() if "Time saturated in this slot, by serial number" in t.where
    )
    serials = {
        series.labels["serial"]
        for series in answer(past, compared)
        if "db4:10177" == series.labels["instance"]
    }
    assert {"FW9B00000022", "FW9B00000099"} == serials


def test_the_verdict_panel_shows_the_cause_of_the_exporter(past: Past) -> None:
    """The panel maps numbers to texts; one machine is limited by its CPU, the other by its disk."""
    verdict = next(t for t in every_target() if "host-io.json: Bottleneck of each drive" in t.where)
    by_host = {
        series.labels["instance"]: series.largest
        for series in answer(past, verdict)
        if series.labels["instance"] in {"db5:10177", "db6:10177"}
    }
    assert {"db5:10177": 2.0, "db6:10177": 1.0} == by_host
