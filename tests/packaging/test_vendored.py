"""The bundled libraries match pyproject.toml and have hashes."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = Path(__file__).parents[2]
LINES = (TOP / "packaging" / "vendored.txt").read_text().replace("\\\n", " ").splitlines()
PINNED = {
    line.split("==")[0].lower(): line for line in LINES if line.strip() and not line.startswith("#")
}


def test_every_dependency_is_bundled() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    asked = {re.split(r"[^\w-]", text)[0].lower() for text in project["dependencies"]}
    assert set() == asked - set(PINNED)


def test_each_library_has_one_version_with_hashes() -> None:
    for name, line in PINNED.items():
        assert re.fullmatch(r"[\w-]+==[\d.]+( +--hash=sha256:[0-9a-f]{64})+", line), name
