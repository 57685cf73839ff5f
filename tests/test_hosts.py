"""Compares the page of every host in tests/hosts with the expected one, and validates it."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from tests.duration import PATIENCE_SECONDS
from tests.hosts.host import FOLDERS, Host, folders
from tests.required import lacking

#: Limits the number of block I/O series per drive.
_MAX_IO_SERIES_PER_DRIVE = 110


@pytest.fixture(scope="module", params=[folder.name for folder in folders()])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """Return a host whose story has been played to its end."""
    return Host(FOLDERS / request.param, tmp_path_factory.mktemp("host")).play()


def test_the_page_equals_the_expected_page(host: Host) -> None:
    """`make golden` regenerates it. Review the difference before you commit it."""
    expected = (host.folder / "expected.prom").read_text(encoding="utf-8")
    assert expected.splitlines() == host.expected().splitlines()


def test_the_readme_states_what_the_host_tests(host: Host) -> None:
    story = (host.folder / "README.md").read_text(encoding="utf-8")
    assert "The page must" in story


def test_promtool_reports_no_problem(host: Host) -> None:
    done = subprocess.run(
        [_promtool(), "check", "metrics"],
        input=host.page(),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_both_formats_parse_to_the_same_series(host: Host) -> None:
    plain = series(text_string_to_metric_families(host.page()))
    page = host.page(openmetrics=True)
    assert plain == series(openmetrics.text_string_to_metric_families(page))  # type: ignore[no-untyped-call]
    assert 1 == max(plain.values())


def test_no_drive_has_more_series_than_allowed(host: Host) -> None:
    series_per_drive = Counter(
        sample.labels["device"]
        for family in text_string_to_metric_families(host.page())
        for sample in family.samples
        if sample.name.startswith(("ssd_disk_", "ssd_io_"))
    )
    assert {} == {
        device: cost for device, cost in series_per_drive.items() if cost > _MAX_IO_SERIES_PER_DRIVE
    }


def series(families: Iterable[Metric]) -> Counter[tuple[str, frozenset[tuple[str, str]], str]]:
    """Return the number of occurrences of each series. Values are text, because NaN != NaN."""
    return Counter(
        (sample.name, frozenset(sample.labels.items()), str(sample.value))
        for family in families
        for sample in family.samples
    )


def _promtool() -> str:
    path = shutil.which("promtool")
    if path is None:
        lacking("promtool is not installed: install Debian's prometheus package")
    return path
