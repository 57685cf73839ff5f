"""Archives of container images; rigs/fresh_systems builds real ones."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from release import oci

STATUS = """\
Package: libc6
Status: install ok installed
Architecture: arm64
Version: 2.36-9+deb12u10
Description: a library
 of two lines

Package: removed
Status: deinstall ok config-files
Architecture: arm64
Version: 1:1.0
"""
CHECK = {"Test": ["CMD", "ssd-exporter-health"], "Interval": 30_000_000_000}


def stored(layout: Path, content: bytes) -> dict[str, Any]:
    """Writes a blob; returns its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs" / "sha256" / digest).write_bytes(content)
    return {"digest": f"sha256:{digest}", "size": len(content)}


def layer(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(content.getvalue(), mtime=0)


def an_image(layout: Path) -> Path:
    """The layout of an image with two layers."""
    (layout / "blobs" / "sha256").mkdir(parents=True)
    stored(layout, b"a blob of another image")
    config = {"architecture": "arm64", "config": {"Cmd": ["ssd-exporter"]}}
    layers = [
        layer({"var/lib/dpkg/status": "Package: old\n"}),
        layer({"./var/lib/dpkg/status": STATUS, "usr/share/doc/fio/version": "3.33-3\n"}),
    ]
    manifest = {
        "config": stored(layout, json.dumps(config).encode()),
        "layers": [stored(layout, each) for each in layers],
    }
    index = {"manifests": [stored(layout, json.dumps(manifest).encode())]}
    (layout / "index.json").write_text(json.dumps(index))
    (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    return layout


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    return an_image(tmp_path / "layout")


def unpacked(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]


def test_an_archive_has_the_blobs_of_the_image_and_two_names(layout: Path, tmp_path: Path) -> None:
    oci.archive(layout, "ssd-exporter:1.0.0", 1_700_000_000, tmp_path / "image.tar")
    files = unpacked(tmp_path / "image.tar")
    (manifest,) = json.loads(files["index.json"])["manifests"]
    assert {
        "org.opencontainers.image.ref.name": "ssd-exporter:1.0.0",
        "io.containerd.image.name": "docker.io/library/ssd-exporter:1.0.0",
    } == manifest["annotations"]
    blobs = {name: text for name, text in files.items() if name.startswith("blobs/sha256/")}
    assert 4 == len(blobs), "manifest, configuration and two layers"
    for name, content in blobs.items():
        assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"


def test_equal_images_have_equal_archives(layout: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    oci.archive(layout, "ssd-exporter:1.0.0", 1_700_000_000, first)
    again = an_image(tmp_path / "elsewhere")
    oci.archive(again, "ssd-exporter:1.0.0", 1_700_000_000, second)
    assert first.read_bytes() == second.read_bytes()


def test_the_health_check_of_docker_is_added(layout: Path, tmp_path: Path) -> None:
    oci.with_health_check(layout, CHECK)
    assert "arm64" == oci.platform(layout)
    oci.archive(layout, "ssd-exporter:1.0.0", 0, tmp_path / "image.tar")
    files = unpacked(tmp_path / "image.tar")

    def named(descriptor: dict[str, Any]) -> Any:
        content = files[f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"]
        assert len(content) == descriptor["size"]
        return json.loads(content)

    (manifest,) = json.loads(files["index.json"])["manifests"]
    config = named(named(manifest)["config"])
    assert {"Cmd": ["ssd-exporter"], "Healthcheck": CHECK} == config["config"]


def test_the_packages_are_those_of_the_last_layer_and_fio(layout: Path) -> None:
    assert [
        ("fio", "3.33-3", "pkg:deb/debian/fio@3.33-3?arch=arm64"),
        ("libc6", "2.36-9+deb12u10", "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=arm64"),
    ] == [(each["name"], each["version"], each["purl"]) for each in oci.debian_packages(layout)]
