"""promtool evaluates the rules in each story. All stories together take more than a minute."""

import os
from pathlib import Path

import pytest

from tests.alerts import rules
from tests.end_to_end.programs import need
from tests.processes import run_program


@pytest.mark.real
@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_promtool_confirms_the_story(path: Path) -> None:
    need("promtool")
    done = run_program(["promtool", "test", "rules", str(path)], env=os.environ | {"GOGC": "800"})
    assert 0 == done.returncode, done.stdout + done.stderr
