"""The chart renders what its values ask for, and Kubernetes accepts it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from rigs.chart import helm
from rigs.lab.vm.cache import PROJECT

#: Values of a site that uses everything.
_EVERYTHING = {
    "image": {"repository": "registry.shop.test/ssd", "tag": "1.2.3", "pullSecrets": ["registry"]},
    "settings": '[web]\nlisten_address = ":10177"\n',
    "nodeSelector": {"disk": "ssd"},
    "priorityClassName": "system-node-critical",
    "networkPolicy": {
        "from": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        ]
    },
    "podMonitor": {"enabled": True, "interval": "30s", "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "dashboards": {"enabled": True},
}

_FEW = {
    "agent": {"enabled": False},
    "tolerations": [],
    "networkPolicy": {"enabled": False},
    "dashboards": {"enabled": True, "labels": {"mine": "yes"}, "annotations": {}},
}


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return helm.packed(tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return helm.schemas(tmp_path_factory.mktemp("schemas"))


@pytest.fixture
def values(tmp_path: Path) -> Any:
    """Writes values to a file; returns the option that uses it."""

    def write(content: dict[str, Any]) -> str:
        (tmp_path / "values.yaml").write_text(json.dumps(content))
        return f"--values={tmp_path}/values.yaml"

    return write


def kinds(manifests: str) -> dict[str, list[dict[str, Any]]]:
    """Objects by their kinds."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in helm.objects(manifests):
        found.setdefault(each["kind"], []).append(each)
    return found


def pod(manifests: str) -> dict[str, Any]:
    (found,) = kinds(manifests)["DaemonSet"]
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec


def test_the_chart_has_no_lint(chart: Path) -> None:
    done = helm.helm("lint", "--strict", chart)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout, done.stdout


def test_the_plain_manifest_is_what_the_chart_renders(chart: Path) -> None:
    """`make kubernetes` writes it."""
    assert helm.PLAIN.read_text() == helm.plain(chart)


@pytest.mark.parametrize("version", helm.VERSIONS)
@pytest.mark.parametrize("content", [{}, _EVERYTHING, _FEW], ids=["defaults", "everything", "few"])
def test_kubernetes_and_the_operator_accept_the_manifests(
    chart: Path, schemas: list[str], values: Any, content: dict[str, Any], version: str
) -> None:
    manifests = helm.rendered(chart, values(content), version=version)
    assert [] == helm.faults(manifests, schemas, version)


def test_the_schemas_find_faults(chart: Path, schemas: list[str], values: Any) -> None:
    """Otherwise the test above proves nothing."""
    manifests = helm.rendered(chart, values(_EVERYTHING))
    for right, wrong in (("hostPath", "hostpath"), ("podMetricsEndpoints", "endpoints")):
        assert right in manifests
        (fault,) = helm.faults(manifests.replace(right, wrong), schemas, helm.VERSIONS[-1])
        assert f"'{wrong}' not allowed" in fault


def test_rules_and_dashboards_are_those_of_the_repository(chart: Path, values: Any) -> None:
    found = kinds(helm.rendered(chart, values(_EVERYTHING)))
    rules = {each["metadata"]["name"]: each["spec"] for each in found["PrometheusRule"]}
    assert rules == {
        f"ssd-exporter-{path.stem}": yaml.safe_load(path.read_text())
        for path in (PROJECT / "alerts").glob("*.yml")
    }
    dashboards = {
        name: json.loads(text)
        for each in found["ConfigMap"]
        for name, text in each["data"].items()
        if name.endswith(".json")
    }
    assert dashboards == {
        path.name: json.loads(path.read_text()) for path in (PROJECT / "dashboards").glob("*.json")
    }


def test_the_labels_of_the_scrape_are_those_that_the_rules_expect(chart: Path) -> None:
    (monitor,) = kinds(helm.rendered(chart, "--set=podMonitor.enabled=true"))["PodMonitor"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    replaced = {
        each["targetLabel"]: each.get("replacement") or each["sourceLabels"]
        for each in endpoint["relabelings"]
        if each["action"] == "replace"
    }
    assert replaced == {"instance": ["__meta_kubernetes_pod_node_name"], "job": "ssd"}


def test_without_the_agent_nothing_is_privileged(chart: Path, values: Any) -> None:
    spec = pod(helm.rendered(chart, values(_FEW)))
    assert ["exporter"] == [each["name"] for each in spec["containers"]]
    assert "privileged" not in json.dumps(spec)
    assert {"host", "state"} == {each["name"] for each in spec["volumes"]}


def test_settings_reach_both_containers_and_restart_the_pods(chart: Path, values: Any) -> None:
    manifests = helm.rendered(chart, values(_EVERYTHING))
    found = kinds(manifests)
    (settings,) = (each for each in found["ConfigMap"] if "config.toml" in each["data"])
    assert _EVERYTHING["settings"] == settings["data"]["config.toml"]
    for container in pod(manifests)["containers"]:
        assert "--config.file=/etc/ssd-exporter/config.toml" in container["args"]
        assert "/etc/ssd-exporter" in [each["mountPath"] for each in container["volumeMounts"]]
    (before,) = found["DaemonSet"]
    (after,) = kinds(helm.rendered(chart, values({"settings": "[log]\n"})))["DaemonSet"]
    assert (
        before["spec"]["template"]["metadata"]["annotations"]
        != after["spec"]["template"]["metadata"]["annotations"]
    )


def test_two_releases_have_different_names(chart: Path, values: Any) -> None:
    one, two = (
        {
            (each["kind"], each["metadata"]["name"])
            for each in helm.objects(helm.rendered(chart, values(_EVERYTHING), name=name))
        }
        for name in ("fast", "slow")
    )
    assert set() == one & two


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--set=podMonitor.intervall=15s", "podMonitor"),
        ("--set=podMonitor.interval=5m", "/podMonitor/interval"),
        ("--set=agent.enabled=maybe", "/agent/enabled"),
        ("--set=image.pullPolicy=always", "/image/pullPolicy"),
        ("--set=exporter.resources.limit.memory=1Gi", "/exporter/resources"),
        ("--set=networkPolicy.from={monitoring}", "/networkPolicy/from/0"),
        ("--set=dashboard.enabled=true", "dashboard"),
        ("--set=settings.web=1", "/settings"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name(chart: Path, option: str, said: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        helm.rendered(chart, option)
    lines = [line for line in str(raised.value).splitlines() if line.startswith("- ")]
    assert 1 == len(lines), raised.value
    assert said in lines[0]


def test_the_directory_without_rules_says_what_to_install() -> None:
    chart = PROJECT / "container" / "helm" / "ssd-exporter"
    for part in ("prometheusRule", "dashboards"):
        with pytest.raises(RuntimeError, match="install the archive ssd-exporter-chart-VERSION"):
            helm.rendered(chart, f"--set={part}.enabled=true")
