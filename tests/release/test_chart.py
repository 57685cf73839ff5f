"""The archive of the Helm chart; rigs/chart renders it."""

import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import chart
from release.programs import ReleaseError
from tests.image.files import TOP


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return chart.archive(TOP, "900.1.0", 1_700_000_000, tmp_path)


def content(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {
            entry.name.removeprefix("ssd-exporter/"): tar.extractfile(entry).read()  # type: ignore[union-attr]
            for entry in tar
        }


def test_the_archive_has_the_version_and_all_rules_and_dashboards(packed: Path) -> None:
    assert "ssd-exporter-chart-900.1.0.tgz" == packed.name
    files = content(packed)
    description = yaml.safe_load(files["Chart.yaml"])
    assert ("900.1.0", "900.1.0") == (description["version"], description["appVersion"])
    for directory, pattern in (("alerts", "*.yml"), ("dashboards", "*.json")):
        for path in (TOP / directory).glob(pattern):
            assert path.read_bytes() == files[f"{directory}/{path.name}"]
    assert {"LICENSE", "README.md", "values.yaml", "values.schema.json"} <= set(files)


def test_equal_contents_have_equal_bytes(packed: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = chart.archive(TOP, "900.1.0", 1_700_000_000, elsewhere)
    assert packed.read_bytes() == again.read_bytes()


def test_a_checkout_without_rules_is_refused(tmp_path: Path) -> None:
    shutil.copytree(TOP / chart.CHART, tmp_path / chart.CHART)
    shutil.copyfile(TOP / "LICENSE", tmp_path / "LICENSE")
    with pytest.raises(ReleaseError, match=r"alerts has no \*\.yml"):
        chart.archive(tmp_path, "1.0.0", 0, tmp_path)


def test_the_schema_has_exactly_the_values() -> None:
    """The schema has exactly the names of values.yaml."""
    source = (TOP / chart.CHART / "values.yaml").read_text()
    schema = yaml.safe_load((TOP / chart.CHART / "values.schema.json").read_text())

    def names(given: Any, place: dict[str, Any]) -> None:
        allowed = set(place["properties"]) - {"global"}
        assert allowed == set(given)
        assert place["additionalProperties"] is False
        for name, value in given.items():
            inner = place["properties"][name]
            if "properties" in inner:
                names(value, inner)

    names(yaml.safe_load(source), schema)
