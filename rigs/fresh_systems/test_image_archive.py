"""The container image of a release is loaded and run."""

import json
from collections.abc import Iterator

import pytest

from rigs.fresh_systems.releases import OLD, Releases
from rigs.lab.containers import Engine, empty_engine

_TAG = f"docker.io/library/ssd-exporter:{OLD}"


@pytest.fixture
def loaded(releases: Releases) -> Iterator[Engine]:
    path = releases.files[OLD] / f"ssd-exporter-image-{OLD}-amd64.oci.tar"
    with empty_engine() as found:
        found.podman("load", "--input", str(path))
        yield found


def test_the_image_of_the_release_runs(loaded: Engine) -> None:
    assert f"ssd-exporter {OLD}" in loaded.output(_TAG, "--version")
    assert "fio-3" in loaded.output("--entrypoint=fio", _TAG, "--version")
    assert "smartctl 7" in loaded.output("--entrypoint=smartctl", _TAG, "--version")
    assert OLD == loaded.labels(_TAG)["org.opencontainers.image.version"]


def test_the_list_of_libraries_has_those_of_debian(releases: Releases) -> None:
    name = f"ssd-exporter-image-{OLD}-amd64.oci.tar.cdx.json"
    components = json.loads((releases.files[OLD] / name).read_text())["components"]
    found = {each["name"]: each["purl"] for each in components}
    assert {"bcrypt", "psutil", "python3.11-minimal", "smartmontools", "fio", "libc6"} <= set(found)
    assert found["libc6"].endswith("?arch=amd64")
