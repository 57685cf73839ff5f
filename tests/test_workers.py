"""The groups of tests in a parallel run."""

import os
import sys
from pathlib import Path

import pytest

from tests import workers
from tests.processes import run_program

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("place", sorted({*workers.FOLDERS, *workers.SPLIT, *workers.FIRST}))
def test_every_named_place_exists(place: str) -> None:
    assert (ROOT / place.partition("::")[0]).exists()


def test_a_group_is_a_folder_a_file_or_a_test() -> None:
    assert "tests/systemd/" == workers.group("tests/systemd/test_boot.py::test_a[1]")
    assert "tests/io/test_verdict.py" == workers.group("tests/io/test_verdict.py::test_a[a::b]")
    single = "rigs/devices/test_slow_disk.py::test_a"
    assert single == workers.group(single)


def test_a_file_that_is_split_has_no_fixture_for_all_its_tests() -> None:
    """Each process would create it again."""
    shared = 'scope="module"'
    assert [] == [file for file in workers.SPLIT if shared in (ROOT / file).read_text()]


@pytest.mark.real
def test_one_process_runs_all_tests_of_a_file() -> None:
    """Fails if a new version of pytest-xdist or pytest does not use the scheduler."""
    argv = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "2"]
    files = "tests/io/test_drive_journal.py", "tests/runtime/test_collector_status.py"
    ended = run_program(
        [*argv, "--dist=loadgroup", *files],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if "PYTEST" not in name},
    )
    passed = [line.split() for line in ended.stdout.splitlines() if " PASSED " in line]
    assert len(passed) >= 8, ended.stdout
    ran = {(words[0], words[-1].partition("::")[0]) for words in passed}
    assert 2 == len(ran), ended.stdout
