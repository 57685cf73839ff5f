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


def test_each_dashboard_has_a_config_map_with_the_label_of_the_sidecar() -> None:
    kustomization = yaml.safe_load((DIRECTORY / "kustomization.yaml").read_text(encoding="utf-8"))
    maps = {each["name"]: each["files"] for each in kustomization["configMapGenerator"]}
    assert {f"ssd-dashboard-{file.stem}": [file.name] for file in FILES} == maps
    assert {"grafana_dashboard": "1"} == kustomization["generatorOptions"]["labels"]


def test_a_dashboard_fits_in_a_config_map() -> None:
    """Kubernetes limits a ConfigMap to 1 MiB."""
    assert all(file.stat().st_size < 1_000_000 for file in FILES)


def test_the_grafana_operator_refers_to_the_config_maps() -> None:
    text = (DIRECTORY / "provisioning" / "grafana-operator.yml").read_text(encoding="utf-8")
    resources = list(yaml.safe_load_all(text))
    assert {"GrafanaDashboard"} == {each["kind"] for each in resources}
    read = {
        (r["spec"]["configMapRef"]["name"], r["spec"]["configMapRef"]["key"]) for r in resources
    }
    assert {(f"ssd-dashboard-{file.stem}", file.name) for file in FILES} == read


def test_terraform_names_every_dashboard() -> None:
    text = (DIRECTORY / "provisioning" / "grafana.tf").read_text(encoding="utf-8")
    named = re.search(r"toset\(\[(.*)\]\)", text)
    assert named is not None
    assert sorted(file.stem for file in FILES) == re.findall(r'"([\w-]+)"', named[1])


def test_the_readme_names_every_uid_and_every_example() -> None:
    for file in FILES:
        assert f"`ssd-{file.stem}`" in README
    for example in sorted((DIRECTORY / "provisioning").iterdir()):
        assert f"provisioning/{example.name}" in README
