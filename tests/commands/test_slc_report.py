"""The report of a write-cache measurement."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.commands.slc_report import CacheMeasurement, RecoveryStep, report, verdict
from exporter.probe import slc_watch
from exporter.probe.cache_cliff import TraceSample, cache_cliff
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.slc_results import SlcResult
from exporter.report import content, html_page
from exporter.report.content import Chart, Report, Table
from tests.probe.test_slc_results import CLIFF, CLIFFS, RESULT
from tests.probe.traces import GB, active, steps


def probed(cliff: CacheCliff, *trace: TraceSample, **more: object) -> Report:
    facts = (("Drive", "a drive"),)
    result = SlcResult(("a",), "sda", 5.0, cliff)
    found = CacheMeasurement("sda", facts, result, trace, **more)  # type: ignore[arg-type]
    return report(found, slc_watch.RULES)


def chart(found: Report) -> Chart:
    (it,) = [part for part in found.parts if isinstance(part, Chart)]
    return it


def table(found: Report, title: str) -> Table:
    (it,) = [p for p in found.parts if isinstance(p, Table) and p.title == title]
    return it


@pytest.fixture
def three_phases() -> tuple[CacheCliff, list[TraceSample]]:
    trace = list(active(steps(2000, (4, 900), (9, 150)), random.Random(1)))
    return cache_cliff(trace, slc_watch.RULES), trace


def test_a_cliff_has_a_sentence_and_a_mark() -> None:
    trace = list(active(steps(540, (8.5, 112)), random.Random(1)))
    found = probed(cache_cliff(trace, slc_watch.RULES), *trace)
    assert found.is_good is False
    assert found.verdict.startswith("The write cache ends after 8.")
    assert "% of the initial speed" in found.verdict
    (mark,) = chart(found).marks
    assert pytest.approx(8.5 * GB, abs=0.2 * GB) == mark.at
    assert ("B", "B/s") == (chart(found).x_unit, chart(found).y_unit)
    assert ("in the cache", "after the cache") == tuple(
        row[0] for row in table(found, "Phases").rows
    )


def test_a_second_step_is_marked_too(three_phases: tuple[CacheCliff, list[TraceSample]]) -> None:
    cliff, trace = three_phases
    found = probed(cliff, *trace)
    first, second = chart(found).marks
    assert first.words.startswith("end of the write cache")
    assert second.words.startswith("second step")
    assert 3 == len(table(found, "Phases").rows)
    assert any("more than once" in note for note in found.notes)


def test_the_curve_is_as_fine_as_the_samples_and_no_finer() -> None:
    trace = [TraceSample(0.1, 50e6)] * 300
    (line, *_) = chart(probed(cache_cliff(trace, slc_watch.RULES), *trace)).lines
    assert 300 == len(line.points)
    many = [TraceSample(0.1, 5e6)] * 3000
    (line, *_) = chart(probed(cache_cliff(many, slc_watch.RULES), *many)).lines
    assert 400 == len(line.points)


@pytest.mark.parametrize(
    ("cliff", "words"),
    [
        (CacheCliff(CliffResult.FLAT, 10**12, (), None, None, 5e8, 5e8), "500 MB/s throughout"),
        (CacheCliff(CliffResult.RAMP, 10**10), "declines slowly"),
        (CacheCliff(CliffResult.BUDGET, 10**10, (), None, 10**10, 5e8), "within 10 GB (the limit"),
        (CacheCliff(CliffResult.ABORTED, 10**10, (), None, 10**10, 5e8), "stopped early"),
        (CacheCliff(CliffResult.ABORTED, 1000), "Too little was written"),
        (
            CacheCliff(CliffResult.DISTURBED, 10**10, (), None, 6 * 10**9, 5e8),
            "after 6 GB, the speed fell when other programs began to use the drive",
        ),
    ],
)
def test_every_result_has_its_sentence(cliff: CacheCliff, words: str) -> None:
    assert words in verdict(cliff)


def test_a_result_within_the_budget_names_other_causes() -> None:
    cliff = CacheCliff(CliffResult.BUDGET, 10**10, (), None, 10**10, 5e8)
    found = probed(cliff)
    assert found.is_good is None
    assert any("has not recovered" in note for note in found.notes)


def test_an_earlier_valid_result_is_noted() -> None:
    found = probed(CacheCliff(CliffResult.ABORTED, 1000), earlier=RESULT)
    assert any("remains valid" in note and "8.5 GB" in note for note in found.notes)


def test_the_recovery_is_a_table() -> None:
    recovery = [
        RecoveryStep(30, 2 * 10**9, 10**9),
        RecoveryStep(600, 8 * 10**9, 8 * 10**9, is_whole=True),
        RecoveryStep(3600, 10**9, 10**9, others_bytes=10**10),
        RecoveryStep(7200, 1000, None),
    ]
    rows = table(probed(CLIFF, recovery=recovery), "Recovery").rows
    assert [
        ("30 s", "1 GB", "2 GB", ""),
        ("10 min", "at least 8 GB", "8 GB", ""),
        ("60 min", "1 GB", "1 GB", "not idle: other processes wrote 10 GB"),
        ("2 h", "-", "1 kB", ""),
    ] == list(rows)


def test_without_other_writes_the_table_has_no_column_for_them() -> None:
    (row,) = table(probed(CLIFF, recovery=[RecoveryStep(30, 5, 4)]), "Recovery").rows
    assert ("30 s", "4 B", "5 B") == row


def test_the_data_have_base_units_and_are_json() -> None:
    data = json.loads(content.json_text(probed(CLIFF, recovery=[RecoveryStep(30, 5, 4)])))["data"]
    assert ("cliff", 8_500_000_000) == (data["result"], data["cache_bytes"])
    assert pytest.approx(112.5 / 540) == data["falloff_ratio"]
    assert {"begin_bytes": 0, "bytes_per_second": 540e6} == data["phases"][0]
    assert 4 == data["recovery"][0]["recovered_bytes"]


SAMPLES = st.lists(st.builds(TraceSample, st.floats(0.001, 10), st.floats(0, 1e10)), max_size=60)


@given(CLIFFS, SAMPLES)
# A page is much to make, and the machine may be at something else.
@settings(deadline=None)
def test_any_result_and_trace_make_a_page(cliff: CacheCliff, trace: list[TraceSample]) -> None:
    phases = tuple(
        replace(phase, begin_bytes=begin)
        for phase, begin in zip(
            cliff.phases, sorted(p.begin_bytes for p in cliff.phases), strict=True
        )
    )
    found = probed(replace(cliff, phases=phases), *trace)
    assert found.verdict
    assert html_page.html(found)
    assert content.json_text(found)
