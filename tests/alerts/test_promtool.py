"""promtool evaluates the rules in each story. All stories together take more than a minute."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.alerts import rules
from tests.end_to_end.programs import need


@pytest.mark.real
@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_promtool_confirms_the_story(path: Path) -> None:
    need("promtool")
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"GOGC": "800"},  # fewer garbage collections: a quarter less CPU time
    )
    assert 0 == done.returncode, done.stdout + done.stderr
