"""The report of a probe, and its comparison with the daemon's saved runs."""

from dataclasses import replace

import pytest

from exporter.commands import probe_report
from exporter.config.profiles import PROFILES
from exporter.probe.fio_report import JobResult, Op, OpResult, ProbeRun, RunResult
from exporter.probe.fio_run import ProfileResult, RunOutcome
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyWindow
from exporter.report.content import Report, Table

READ = PROFILES["page_read"]
WINDOW = SteadyWindow(mean=100e-6, least=95e-6, most=105e-6, deviation=3e-6, excursion=0.0)
STEADY = SteadyState(SteadyPhase.STEADY, WINDOW, WINDOW, None)


def ended(mean: float, result: ProfileResult = ProfileResult.SUCCESS) -> RunOutcome:
    bins = {mean / 2: 3, mean: 90, mean * 4: 7}
    its = OpResult(
        100, 1_638_400, 200.0, 3.2e6, mean, mean, mean * 4, mean * 4, mean * 4, mean, bins
    )
    ran = RunResult.SUCCESS if result is ProfileResult.SUCCESS else RunResult.ABORTED
    job = JobResult("page_read", ran, 0, 2.0, {Op.READ: its})
    return RunOutcome(result, ProbeRun(ran, 0, "3.33", (job,)), 0.0, 2.0)


def report(run: RunOutcome, kept: SteadyState | None = None, problem: str = "") -> Report:
    found = [probe_report.compare_profile(READ, run, [READ], kept)]
    return probe_report.report(found, "nvme0n1", (("Drive", "nvme0n1"),), {}, problem)


def test_without_history_the_verdict_is_the_result() -> None:
    found = report(ended(100e-6))
    assert "page_read: 100 µs (median), 400 µs at p99." == found.verdict
    assert found.is_good is None
    assert any("No comparison" in note for note in found.notes)


def test_as_fast_as_before_is_good() -> None:
    found = report(ended(102e-6), STEADY)
    assert "As fast as before: page_read +2 %." == found.verdict
    assert found.is_good is True


def test_slower_than_the_variation_of_saved_runs_is_bad() -> None:
    found = report(ended(150e-6), STEADY)
    assert found.verdict.startswith("Slower than before: page_read +50 %.")
    assert found.is_good is False
    data = found.data["profiles"]["page_read"]
    assert (True, 100e-6, 150e-6) == (data["is_worse"], data["kept_value"], data["value"])


def test_faster_is_not_bad() -> None:
    assert report(ended(50e-6), STEADY).is_good is True


def test_the_table_shows_that_the_saved_runs_are_not_steady() -> None:
    found = report(ended(102e-6), SteadyState(SteadyPhase.TRANSITION, WINDOW, None, None))
    tables = [part for part in found.parts if isinstance(part, Table)]
    assert "not steady" == tables[1].rows[0][-1]


def test_too_few_saved_runs_give_no_comparison() -> None:
    few = SteadyState(SteadyPhase.TOO_FEW, None, None, None)
    assert report(ended(500e-6), few).is_good is None


def test_an_interrupted_run_is_not_judged() -> None:
    found = report(ended(500e-6, ProfileResult.ABORTED), STEADY, "ended by Ctrl-C")
    assert "Not measured completely: ended by Ctrl-C." == found.verdict
    assert found.is_good is None
    tables = [part for part in found.parts if isinstance(part, Table)]
    assert "random read of 16 KiB (aborted)" == tables[0].rows[0][1]


def test_a_profile_that_did_not_run_has_no_figures() -> None:
    its = PROFILES["fsync"]
    found = probe_report.report(
        [probe_report.compare_profile(its, ended(1e-3), [its], None)], "sda", (), {}, "fio: failed"
    )
    (table,) = (part for part in found.parts if isinstance(part, Table))
    assert ("fsync", "not measured: failed", *("-",) * 7) == table.rows[0]


@pytest.mark.parametrize(("block", "unit"), [(16_384, "IOPS"), (1 << 20, "MB/s")])
def test_without_a_cap_the_rate_is_judged(block: int, unit: str) -> None:
    profile = replace(READ, rate_iops=None, block_bytes=block)
    steady = SteadyWindow(
        mean=1e9 if block > 65_536 else 1e5, least=1.0, most=1.0, deviation=0.0, excursion=0.0
    )
    kept = SteadyState(SteadyPhase.STEADY, steady, steady, None)
    found = probe_report.compare_profile(profile, ended(1e-4), [profile], kept)
    assert found.is_worse, "200 IOPS of 100,000, 3.2 MB/s of 1,000"
    whole = probe_report.report([found], "sda", (), {}, "")
    tables = [part for part in whole.parts if isinstance(part, Table)]
    assert unit in tables[1].rows[0][1] + tables[1].rows[0][2]
