"""Each query of the MySQL dashboard has data for each server, or says for which it has none."""

import re
from collections.abc import Iterator

import pytest

from tests.dashboards.documents import DIRECTORY, Panel, Target, filled, panels
from tests.dashboards.past import Past
from tests.dashboards.promql import selectors
from tests.dashboards.scene import END, Line, page_lines, samples_of_mysql
from tests.dashboards.status_variables import HAVE, SERVERS, variables
from tests.end_to_end.programs import need

_LABEL = re.compile(r'(\w+)="([^"]*)"')
_ROW = re.compile(r"\| `(Innodb_\w+)` \| (\w+) \| (\w+) \|")

#: Pages that were recorded beside a server.
_RECORDED = {"MariaDB 10.11": "mariadb.prom", "MySQL 9.7": "mysql.prom"}


def mysql_panels() -> list[Panel]:
    return panels(DIRECTORY / "mysql.json")


def of_line(line: Line) -> set[str]:
    name, labels, _ = line
    return variables(name, dict(_LABEL.findall(labels)))


def used(target: Target) -> set[str]:
    return {v for each in selectors(target.expression) for v in variables(each.name, each.matchers)}


def test_the_table_lists_what_the_dashboard_uses() -> None:
    assert HAVE.keys() == {v for panel in mysql_panels() for t in panel.targets for v in used(t)}


@pytest.mark.parametrize("server", _RECORDED)
def test_the_recorded_pages_agree_with_the_table(server: str) -> None:
    recorded = {v for line in page_lines(_RECORDED[server]) for v in of_line(line)}
    assert {v for v, servers in HAVE.items() if server in servers} == recorded & HAVE.keys()


def test_the_readme_lists_the_variables_that_a_server_lacks() -> None:
    text = (DIRECTORY / "README.md").read_text(encoding="utf-8")
    of_all = sum(SERVERS == servers for servers in HAVE.values())
    assert f"these status variables, and {of_all} that all four servers have:" in text
    assert "| status variable | MariaDB 10.11, 11.8 | MySQL 8.4, 9.7 |" in text
    columns = {("yes", "no"): SERVERS[:2], ("no", "yes"): SERVERS[2:]}
    listed = {name.lower(): columns[first, second] for name, first, second in _ROW.findall(text)}
    assert {v: servers for v, servers in HAVE.items() if servers != SERVERS} == listed


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """A Prometheus with a target for each server, which has the variables of the table."""
    need("prometheus", "promtool")
    lines = {line[:2]: line for page in _RECORDED.values() for line in page_lines(page)}.values()
    text = [
        sample
        for server in SERVERS
        for sample in samples_of_mysql(
            instance(server), [each for each in lines if has(server, of_line(each))]
        )
    ]
    place = tmp_path_factory.mktemp("servers") / "prometheus"
    with Past(place, "\n".join((*text, "# EOF\n"))) as prometheus:
        yield prometheus


def instance(server: str) -> str:
    return server.replace(" ", "-")


def has(server: str, asked: set[str]) -> bool:
    """Whether the server has all these variables of the table."""
    return all(server in HAVE.get(variable, ()) for variable in asked)


@pytest.mark.real
@pytest.mark.parametrize("server", SERVERS)
def test_each_query_has_data_or_says_for_which_server_it_has_none(past: Past, server: str) -> None:
    product, _ = server.split()
    other = {"MariaDB": "MySQL", "MySQL": "MariaDB"}[product]
    for panel in mysql_panels():
        for target in filter(used, panel.targets):
            asked = target.expression.replace("$mysql_instance", instance(server))
            found = past.query(filled(asked), END)
            says = f"({other} only)" in target.legend and product in panel.description
            assert bool(found) is not says, target.where
