"""The committed JSON files equal the output of the generator."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dashboards.documents import DIRECTORY, FILES


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Grafana's SDK needs Python 3.11")
def test_committed_files_equal_the_generator_output(tmp_path: Path) -> None:
    """`make dashboards` regenerates them."""
    subprocess.run(
        [sys.executable, "-m", "dashboards", str(tmp_path)], check=True, cwd=DIRECTORY.parent
    )
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.glob("*.json")}
    assert {file.name: file.read_text(encoding="utf-8") for file in FILES} == written
