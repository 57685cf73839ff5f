"""The committed JSON files equal the output of the generator."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dashboards.documents import DIRECTORY, FILES, IMPORT, panels_of, read


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Grafana's SDK needs Python 3.11")
def test_committed_files_equal_the_generator_output(tmp_path: Path) -> None:
    """`make dashboards` regenerates them."""
    subprocess.run(
        [sys.executable, "-m", "dashboards", str(tmp_path), str(tmp_path / "import")],
        check=True,
        cwd=DIRECTORY.parent,
    )
    for committed, written in ((DIRECTORY, tmp_path), (IMPORT, tmp_path / "import")):
        assert texts(committed) == texts(written)
        assert {file.name for file in FILES} == texts(written).keys()


def texts(directory: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in directory.glob("*.json")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_conforms_to_the_schema_of_the_sdk(file: Path) -> None:
    """The SDK reads every panel, and writes it again without a loss."""
    dashboard = pytest.importorskip("grafana_foundation_sdk.models.dashboard")
    encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder").JSONEncoder
    document = read(file)
    again = json.loads(json.dumps(dashboard.Dashboard.from_json(document), cls=encoder))
    assert document["panels"] == again["panels"]
    assert document["templating"] == again["templating"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_copy_for_import_asks_for_the_data_source_and_lists_its_requirements(file: Path) -> None:
    copy = read(IMPORT / file.name)
    (asked,) = copy.pop("__inputs")
    required = {(each["type"], each["id"]) for each in copy.pop("__requires")}
    assert ("datasource", "prometheus") == (asked["type"], asked["pluginId"])
    (chosen,) = (v for v in copy["templating"]["list"] if "datasource" == v["type"])
    assert f"${{{asked['name']}}}" == chosen.pop("current")["value"]
    kinds = {("panel", panel["type"]) for panel in panels_of(copy)}
    assert {("grafana", "grafana"), ("datasource", "prometheus"), *kinds} == required
    assert read(file) == copy
