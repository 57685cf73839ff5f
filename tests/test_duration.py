"""The limits on durations, and the waits."""

import os
import time
from pathlib import Path

import pytest

from tests import duration


def pressure(proc: Path, microseconds: int) -> None:
    (proc / "pressure").mkdir(exist_ok=True)
    for resource in ("cpu", "io"):
        (proc / "pressure" / resource).write_text(
            f"some avg10=1.00 avg60=1.00 avg300=1.00 total={microseconds}\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        )


def test_the_pressure_is_the_sum_of_all_resources(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 0 0 0\n")
    assert 0 == duration.pressure_seconds(tmp_path)
    pressure(tmp_path, 1_500_000)
    assert 3.0 == duration.pressure_seconds(tmp_path)


def test_the_time_that_the_hypervisor_takes_is_pressure(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 800 0 0\ncpu0 1 2 3 4 5 6 7 800 0 0\n")
    assert 800 / os.sysconf("SC_CLK_TCK") == duration.pressure_seconds(tmp_path)


def test_a_quiet_machine_has_an_exact_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "pressure_seconds", lambda: 5.0)
    with pytest.raises(AssertionError, match="the answer took"), duration.at_most(0, "the answer"):
        pass
    with duration.at_most(100):
        pass


def test_the_time_in_which_tasks_waited_extends_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = iter((5.0, 15.0))
    monkeypatch.setattr(duration, "pressure_seconds", lambda: next(totals))
    with duration.at_most(0):
        pass


def test_work_ahead_of_other_work_ends_with_its_block() -> None:
    before = os.sched_getscheduler(0)
    with duration.ahead_of_other_work():
        assert os.sched_getscheduler(0) in {before, os.SCHED_RR}
    assert before == os.sched_getscheduler(0)


def test_a_wait_ends_with_its_condition_or_names_what_did_not_happen() -> None:
    answers = iter((False, True))
    duration.wait_until(lambda: next(answers))
    begun = time.monotonic()
    with pytest.raises(AssertionError, match="the end did not happen"):
        duration.wait_until(lambda: False, "the end", 0.02)
    assert time.monotonic() - begun >= 0.02


def test_a_check_that_takes_time_is_made_in_a_quarter_of_it() -> None:
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        time.sleep(0.02)

    with pytest.raises(AssertionError, match="did not happen"):
        duration.wait_until(check, seconds=0.4)
    assert checks <= 0.4 / (0.02 * 4) + 1
