"""The list of libraries of a file."""

import json
import zipfile
from pathlib import Path

from release import sbom


def wheel(directory: Path, name: str, *metadata: str) -> Path:
    path = directory / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as files:
        files.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join((*metadata, "")))
    return path


def test_each_bundled_library_has_version_hash_and_licence(tmp_path: Path) -> None:
    new = wheel(tmp_path, "new", "Name: New_Lib", "Version: 1.0", "License-Expression: MIT")
    old = wheel(tmp_path, "old", "Name: old", "Version: 2.0", "License: BSD", "", "Long text")
    whole = wheel(tmp_path, "whole", "Name: whole", "Version: 3", "License: line 1", "  line 2")
    own = wheel(tmp_path, "ssd_exporter", "Name: ssd-exporter", "Version: 1.0")
    found = sbom.bundled([old, own, whole, new])
    assert ["pkg:pypi/new-lib@1.0", "pkg:pypi/old@2.0", "pkg:pypi/whole@3"] == [
        each["purl"] for each in found
    ]
    assert [[{"expression": "MIT"}], [{"license": {"name": "BSD"}}], None] == [
        each.get("licenses") for each in found
    ]
    assert sbom.sha256(new) == found[0]["hashes"][0]["content"]


def test_required_libraries_have_no_version(tmp_path: Path) -> None:
    own = wheel(
        tmp_path,
        "ssd_exporter",
        "Requires-Dist: psutil>=5.9",
        "Requires-Dist: tomli>=1.1; python_version < '3.11'",
        "Requires-Dist: rich<16,>=13; extra == 'report'",
    )
    found = sbom.required(own)
    assert [("psutil", None), ("tomli", None)] == [(e["name"], e.get("version")) for e in found]


def test_equal_contents_have_equal_documents(tmp_path: Path) -> None:
    artefact = tmp_path / "a.deb"
    artefact.write_text("content")
    first, second = (sbom.document(artefact, "1.0", [], 0, "https://example.org") for _ in "12")
    assert first == second
    artefact.write_text("other")
    other = sbom.document(artefact, "1.0", [], 0, "https://example.org")
    assert json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]
    assert json.loads(first)["metadata"]["timestamp"] == "1970-01-01T00:00:00+00:00"
