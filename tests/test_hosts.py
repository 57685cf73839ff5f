"""Every machine of tests/hosts: its page, as Prometheus would take it."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from tests.hosts.host import FOLDERS, Host, folders
from tests.required import lacking

#: The budget of the metric contract.
_MOST_IO_SERIES_PER_DRIVE = 110


@pytest.fixture(scope="module", params=[folder.name for folder in folders()])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A machine that has played to its end."""
    return Host(FOLDERS / request.param, tmp_path_factory.mktemp("host")).play()


def test_the_page_is_the_one_expected(host: Host) -> None:
    """`make golden` writes it anew; read the difference before you commit it."""
    expected = (host.folder / "expected.prom").read_text(encoding="utf-8")
    assert expected.splitlines() == host.expected().splitlines()


def test_a_machine_says_what_it_is_for(host: Host) -> None:
    story = (host.folder / "README.md").read_text(encoding="utf-8")
    assert "The page must" in story


def test_promtool_finds_nothing_to_say(host: Host) -> None:
    done = subprocess.run(
        [_promtool(), "check", "metrics"],
        input=host.page(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_both_formats_parse_and_say_the_same(host: Host) -> None:
    plain = series(text_string_to_metric_families(host.page()))
    page = host.page(openmetrics=True)
    assert plain == series(openmetrics.text_string_to_metric_families(page))  # type: ignore[no-untyped-call]
    assert 1 == max(plain.values())


def test_no_drive_costs_more_series_than_the_contract_allows(host: Host) -> None:
    costs = Counter(
        sample.labels["device"]
        for family in text_string_to_metric_families(host.page())
        for sample in family.samples
        if sample.name.startswith(("ssd_disk_", "ssd_io_"))
    )
    assert {} == {d: cost for d, cost in costs.items() if cost > _MOST_IO_SERIES_PER_DRIVE}


def series(families: Iterable[Metric]) -> Counter[tuple[str, frozenset[tuple[str, str]], str]]:
    """How often each series is there; values as text, for NaN equals nothing."""
    return Counter(
        (sample.name, frozenset(sample.labels.items()), str(sample.value))
        for family in families
        for sample in family.samples
    )


def _promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        lacking("no promtool here: install Debian's prometheus package")
    return found
