"""Helm, kubeconform and its schemas, and the plain manifest that the chart renders."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rigs.go_programs import go, installed
from rigs.lab.vm.cache import PROJECT

_HELM = ("helm.sh/helm/v3/cmd/helm", "v3.22.0")
_KUBECONFORM = ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")
#: The newest version of which the module proxy has the whole repository, with the definitions.
_OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
#: The schemas of Kubernetes 1.25 to 1.37, from its API definition.
_KUBERNETES = "kubernetes-validate==1.37.0"
#: The oldest maintained version, and the newest available one.
VERSIONS = ("1.28.0", "1.37.0")

PLAIN = PROJECT / "container" / "kubernetes" / "daemonset.yml"

_HEAD = """\
# Exporter and agent on every node. Validated against the API schema; never run in a cluster.
# `make kubernetes` writes this file from the Helm chart (container/helm), which has more.
#
#   kubectl apply -f daemonset.yml
#
# Replace `image:` with the image in your registry in three places.
apiVersion: v1
kind: Namespace
metadata:
  name: ssd-exporter
  labels:
    # Required for the device nodes of the agent and for the host's / in the exporter.
    pod-security.kubernetes.io/enforce: privileged
"""


def packed(out: Path) -> Path:
    """Packs the chart of this checkout as `make chart` does; returns the archive."""
    argv = [sys.executable, "-m", "release", "chart", "--out", str(out)]
    done = subprocess.run(argv, cwd=PROJECT, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def helm(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Runs helm."""
    argv = [installed(*_HELM), *arguments]
    return subprocess.run(argv, check=False, capture_output=True, text=True)


def rendered(
    chart: Path, *options: str, name: str = "ssd-exporter", version: str = VERSIONS[-1]
) -> str:
    """The manifests of a release with this name, in the namespace ssd-exporter.

    version: that of Kubernetes. A helm that Go has built from its module knows none.

    Raises:
        RuntimeError: helm refuses the values; the text is its message.
    """
    common = ("--namespace=ssd-exporter", f"--kube-version={version}")
    done = helm("template", name, chart, *common, *options)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def objects(manifests: str) -> list[dict[str, Any]]:
    """The objects of manifests."""
    return [each for each in yaml.safe_load_all(manifests) if each]


def plain(chart: Path) -> str:
    """The content of the plain manifest: what the chart renders with its default values."""
    documents = re.split(r"(?m)^---\n# Source: .*\n", rendered(chart))[1:]
    # The DaemonSet first; the network policy refers to it.
    ordered = sorted(documents, key=lambda text: "kind: DaemonSet" not in text)
    return "---\n".join((_HEAD, *(text.strip("\n") + "\n" for text in ordered)))


def schemas(place: Path) -> list[str]:
    """Makes the schemas below a directory; returns the options with which kubeconform uses them."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    package = place / "package"
    subprocess.run([*pip, "--target", package, _KUBERNETES], check=True, stderr=subprocess.DEVNULL)
    for version in VERSIONS:
        (place / f"v{version}").mkdir()
        source = (
            package / "kubernetes_validate" / "kubernetes-json-schema" / f"v{version}-local-strict"
        )
        for path in source.glob("*.json"):
            # The references are relative to a server, which $id names, and kubeconform reads files.
            text = path.read_text().replace('"/api/_definitions.json', '"_definitions.json')
            schema = json.loads(text)
            schema.pop("$id", None)
            (place / f"v{version}" / path.name).write_text(json.dumps(schema))
    (place / "operator").mkdir()
    for name, schema in _definitions():
        (place / "operator" / f"{name}.json").write_text(json.dumps(schema))
    names = "{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json"
    return [
        f"-schema-location={place}/{names}",
        f"-schema-location={place}/operator/{{{{.ResourceKind}}}}.json",
    ]


def _definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of the Prometheus Operator, by the kinds in small letters."""
    download = [go("kubeconform"), "mod", "download", "-json", _OPERATOR]
    done = subprocess.run(download, check=True, capture_output=True, text=True, cwd="/")
    module = Path(json.loads(done.stdout)["Dir"])
    for path in (module / "example" / "prometheus-operator-crd").glob("*.yaml"):
        # "=" is a value of an enumeration, for which PyYAML has a tag of its own.
        definition = yaml.safe_load(path.read_text().replace("- =\n", '- "="\n'))["spec"]
        (version,) = (each for each in definition["versions"] if each["storage"])
        schema = version["schema"]["openAPIV3Schema"]
        yield definition["names"]["kind"].lower(), _strict(schema)


def _strict(schema: Any) -> Any:
    """The schema in which an object has no other properties than those it names."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items()}
    if isinstance(found.get("properties"), dict) and found.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


def faults(manifests: str, options: list[str], version: str) -> list[str]:
    """What kubeconform finds in manifests, for a version of Kubernetes; also an unknown kind."""
    done = subprocess.run(
        [
            *(installed(*_KUBECONFORM), "-strict", "-output=json", "-verbose"),
            *(f"-kubernetes-version={version}", *options),
        ],
        input=manifests,
        check=False,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)["resources"] or []
    assert len(found) == len(objects(manifests)), done
    return [
        f"{each['kind']} {each['name']}: {each['msg']}"
        for each in found
        if each["status"] != "statusValid"
    ]
