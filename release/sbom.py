"""Software bills of materials: the libraries in each file of a release, as CycloneDX 1.6."""

import hashlib
import json
import uuid
import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

#: The name space of the serial numbers, which are computed from the content: equal releases have
#: equal files.
_SERIALS = uuid.UUID("7c1d0c52-6b8a-4a43-9a2f-6f1d5b7e9c10")


def document(
    artefact: Path, version: str, libraries: Sequence[dict[str, Any]], when: int, url: str
) -> str:
    """Returns the bill of materials of a file, as JSON.

    libraries: its components (`bundled`, `required`). when: seconds since 1970.
    """
    root = {
        "type": "application",
        "bom-ref": "ssd-exporter",
        "name": "ssd-exporter",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": sha256(artefact)}],
        "externalReferences": [{"type": "website", "url": url}],
        "properties": [{"name": "file", "value": artefact.name}],
    }
    references = [each["bom-ref"] for each in libraries]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(when, timezone.utc).isoformat(),
            "component": root,
        },
        "components": list(libraries),
        "dependencies": [
            {"ref": "ssd-exporter", "dependsOn": references},
            *({"ref": each} for each in references),
        ],
    }
    serial = uuid.uuid5(_SERIALS, json.dumps(content, sort_keys=True))
    return json.dumps({**content, "serialNumber": serial.urn}, indent=2, sort_keys=True) + "\n"


def bundled(wheels: Iterable[Path]) -> list[dict[str, Any]]:
    """Returns the components of wheels, except that of ssd-exporter, by name."""
    found = [_component(wheel) for wheel in wheels if not wheel.name.startswith("ssd_exporter-")]
    return sorted(found, key=lambda each: each["bom-ref"])


def required(wheel: Path) -> list[dict[str, Any]]:
    """Returns the libraries that a wheel requires without conditions. They have no version."""
    names = sorted(
        requirement.split(">")[0].split(";")[0].strip()
        for requirement in _metadata(wheel).get_all("Requires-Dist", [])
        if "extra ==" not in requirement
    )
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name.lower()}",
            "name": name,
            "purl": f"pkg:pypi/{_normal(name)}",
        }
        for name in names
    ]


def started(version: str) -> list[dict[str, Any]]:
    """Returns the container image that the Helm chart starts."""
    image = "ssd-exporter"
    return [
        {"type": "container", "bom-ref": f"{image}:{version}", "name": image, "version": version}
    ]


def sha256(path: Path) -> str:
    """Returns the hash of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _component(wheel: Path) -> dict[str, Any]:
    fields = _metadata(wheel)
    name, version = fields["Name"], fields["Version"]
    purl = f"pkg:pypi/{_normal(name)}@{version}"
    found = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": sha256(wheel)}],
    }
    # Metadata of version 2.4 has an SPDX expression; older fields are free text, and may be long.
    expression, text = fields["License-Expression"], (fields["License"] or "").strip()
    if expression:
        found["licenses"] = [{"expression": expression}]
    elif text and "\n" not in text:
        found["licenses"] = [{"license": {"name": text}}]
    return found


def _metadata(wheel: Path) -> Any:
    with zipfile.ZipFile(wheel) as files:
        (name,) = (each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(files.read(name).decode())


def _normal(name: str) -> str:
    """Returns the name as purl and PyPI compare names."""
    return name.lower().replace("_", "-").replace(".", "-")
