"""OCI image layouts: their content, and archives of them with equal bytes for equal images.

https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md
"""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.parse
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

#: A name for podman, and one for containerd and Docker.
_REFERENCE = "org.opencontainers.image.ref.name"
_IMAGE_NAME = "io.containerd.image.name"

_STATUS = "var/lib/dpkg/status"
_FIO = "usr/share/doc/fio/version"


def archive(layout: Path, name: str, when: int, out: Path) -> None:
    """Writes the layout of one image as a tar file.

    name: of the image, such as ssd-exporter:1.0.0. when: the time of all files, in seconds since
    1970.
    """
    (descriptor,) = _json(layout / "index.json")["manifests"]
    annotations = {_REFERENCE: name, _IMAGE_NAME: f"docker.io/library/{name}"}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{**descriptor, "annotations": annotations}],
    }
    files = {
        "oci-layout": (layout / "oci-layout").read_bytes(),
        "index.json": _text(index),
        **{f"blobs/sha256/{p.name}": p.read_bytes() for p in _used(layout, descriptor)},
    }
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime, entry.mode = len(content), when, 0o644
            tar.addfile(entry, io.BytesIO(content))


def with_health_check(layout: Path, check: dict[str, Any]) -> None:
    """Adds a health check, in the form of Docker, to the configuration of the only image.

    OCI's format does not know it. Docker reads it there, and others ignore it.
    """
    index = _json(layout / "index.json")
    (descriptor,) = index["manifests"]
    manifest = _json(_blob(layout, descriptor))
    config = _json(_blob(layout, manifest["config"]))
    config["config"]["Healthcheck"] = check
    manifest["config"].update(_written(layout, config))
    descriptor.update(_written(layout, manifest))
    (layout / "index.json").write_bytes(_text(index))


def platform(layout: Path) -> str:
    """Returns the architecture of the only image, such as arm64."""
    (descriptor,) = _json(layout / "index.json")["manifests"]
    config = _json(_blob(layout, _json(_blob(layout, descriptor))["config"]))
    return str(config["architecture"])


def debian_packages(layout: Path) -> list[dict[str, Any]]:
    """Returns the packages of Debian in the only image, and the fio that it has beside them.

    They are components of CycloneDX, by name.
    """
    files = _last(layout, (_STATUS, _FIO))
    architecture = platform(layout)
    found = []
    for text in files[_STATUS].decode().split("\n\n"):
        fields = HeaderParser().parsestr(text)
        if fields["Status"] == "install ok installed":
            found.append(_package(fields["Package"], fields["Version"], fields["Architecture"]))
    fio = files[_FIO].decode().strip()
    # Compiled from the source package.
    found.append(_package("fio", fio, architecture))
    return sorted(found, key=lambda each: str(each["bom-ref"]))


def _package(name: str, version: str, architecture: str) -> dict[str, Any]:
    quoted = urllib.parse.quote(version, safe="")
    purl = f"pkg:deb/debian/{urllib.parse.quote(name)}@{quoted}?arch={architecture}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _last(layout: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Returns the contents of files in the last layer that has them."""
    (descriptor,) = _json(layout / "index.json")["manifests"]
    found = {}
    for layer in _json(_blob(layout, descriptor))["layers"]:
        with gzip.open(_blob(layout, layer)) as content, tarfile.open(fileobj=content) as tar:
            for entry in tar:
                name = entry.name.removeprefix("./")
                data = tar.extractfile(entry) if name in names else None
                if data is not None:
                    found[name] = data.read()
    return found


def _used(layout: Path, descriptor: dict[str, Any]) -> Iterator[Path]:
    """The blobs of an image: manifest, configuration, layers."""
    manifest = _json(_blob(layout, descriptor))
    for each in (descriptor, manifest["config"], *manifest["layers"]):
        yield _blob(layout, each)


def _written(layout: Path, content: Any) -> dict[str, Any]:
    """Writes a blob; returns the changed keys of its descriptor."""
    text = _text(content)
    digest = hashlib.sha256(text).hexdigest()
    (layout / "blobs" / "sha256" / digest).write_bytes(text)
    return {"digest": f"sha256:{digest}", "size": len(text)}


def _blob(layout: Path, descriptor: dict[str, Any]) -> Path:
    return layout / "blobs" / "sha256" / str(descriptor["digest"]).removeprefix("sha256:")


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def _text(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
