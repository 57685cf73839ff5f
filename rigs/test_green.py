"""The table of `make green`, and its load."""

from pathlib import Path

from rigs import green

PASSED = """\
2484 passed in 201.02s (0:03:21)
7390 passed in 99.31s (0:01:39)
"""
FAILED = """\
FAILED tests/probe/test_budget.py::test_a - AssertionError
ERROR tests/web/test_tls.py::test_b
SKIPPED [1] tests/required.py:13: the machine is too busy
= 1 failed, 2481 passed, 1 skipped, 1 error in 300.00s =
"""


def test_the_counts_of_all_sessions_are_added() -> None:
    run = green.parse("quiet 1", 301.0, 0, PASSED)
    assert {"passed": 9874} == run.counts
    assert run.is_green


def test_a_failed_or_skipped_test_makes_a_run_not_green() -> None:
    run = green.parse("busy 1", 301.0, 2, FAILED)
    assert {"failed": 1, "passed": 2481, "skipped": 1, "error": 1} == run.counts
    assert ("tests/probe/test_budget.py::test_a", "tests/web/test_tls.py::test_b") == run.failed
    assert not run.is_green
    assert not green.parse("quiet 1", 1.0, 0, "3 passed, 1 skipped in 1.00s").is_green
    assert not green.parse("quiet 1", 1.0, 0, "").is_green


def test_the_table_shows_each_run_and_its_failed_tests() -> None:
    runs = [green.parse("quiet 1", 301.0, 0, PASSED), green.parse("busy 1", 61.4, 2, FAILED)]
    first, quiet, busy, *tests, last = green.table(runs).splitlines()
    assert "run           time  result" == first
    assert "quiet 1       5:01  9874 passed" == quiet
    assert "busy 1        1:01  1 failed, 2481 passed, 1 skipped, 1 error" == busy
    assert ["tests/probe/test_budget.py::test_a", "tests/web/test_tls.py::test_b"] == [
        each.strip() for each in tests
    ]
    assert "1 of 2 runs were green." == last


def test_the_load_ends_with_its_block(tmp_path: Path) -> None:
    with green.load(tmp_path) as pids:
        assert green.BUSY_LOOPS + 1 == len(pids)
        assert all(Path("/proc", str(pid)).exists() for pid in pids)
    assert not any(Path("/proc", str(pid)).exists() for pid in pids)
    assert [] == list(tmp_path.iterdir())
