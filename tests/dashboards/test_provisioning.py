"""The provisioning file and its installation as described in the README."""

import re

import yaml

from tests.dashboards.documents import DIRECTORY, FILES

PROVIDER = yaml.safe_load((DIRECTORY / "provisioning" / "ssd.yml").read_text(encoding="utf-8"))[
    "providers"
][0]
README = (DIRECTORY / "README.md").read_text(encoding="utf-8")


def test_provisioned_dashboards_are_read_only() -> None:
    assert "file" == PROVIDER["type"]
    assert not PROVIDER["allowUiUpdates"]


def test_the_readme_installs_to_the_path_of_the_provider() -> None:
    assert f"-t {PROVIDER['options']['path']} dashboards/*.json" in README


def test_the_readme_names_every_dashboard() -> None:
    assert {file.name for file in FILES} == set(re.findall(r"\| `([\w-]+\.json)` \|", README))
