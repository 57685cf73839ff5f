"""The JSON files are what the generator writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dashboards.documents import DIRECTORY, FILES


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Grafana's SDK needs Python 3.11")
def test_the_committed_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    """make dashboards writes them anew."""
    subprocess.run(
        [sys.executable, "-m", "dashboards", str(tmp_path)], check=True, cwd=DIRECTORY.parent
    )
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.glob("*.json")}
    assert {file.name: file.read_text(encoding="utf-8") for file in FILES} == written
