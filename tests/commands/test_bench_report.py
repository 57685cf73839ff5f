"""The report of ``ssd-exporter bench``."""

import pytest

from exporter.commands import bench_report
from exporter.commands.bench_matrix import Matrix
from exporter.commands.bench_report import CellOutcome
from exporter.config.profiles import Rw
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult
from exporter.report.content import Chart, Report, Table


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("", "The tables show the results."),
        ("fio failed", "Only 1 of 1 cells were measured: fio failed. The tables show the results."),
    ],
)
def test_a_verdict_of_mixed_cells_alone_refers_to_the_tables(problem: str, expected: str) -> None:
    """A mixed cell has two rates, so that no single one is the best."""
    (cell,) = Matrix(block_bytes=(4096,), jobs=(1,), modes=(Rw.RANDRW,)).cells()
    ops = {op: OpResult(operations=10, iops=10.0) for op in (Op.READ, Op.WRITE)}
    outcome = CellOutcome(cell, JobResult(cell.name, RunResult.SUCCESS, None, 1.0, ops))
    found = bench_report.report([outcome], [cell], device="sda", facts=(), data={}, problem=problem)
    assert expected == found.verdict


def cells_of(seconds: float, blocks: tuple[int, ...] = (4096, 16384)) -> list[CellOutcome]:
    outcomes = []
    for cell in Matrix(block_bytes=blocks, jobs=(1, 4), modes=(Rw.READ, Rw.RANDWRITE)).cells():
        op = Op.WRITE if cell.writes else Op.READ
        rate = cell.block_bytes * 1e3 * cell.jobs
        result = OpResult(
            operations=10, iops=1e3 * cell.jobs, bytes_per_second=rate, p99_seconds=1e-3
        )
        job = JobResult(cell.name, RunResult.SUCCESS, None, seconds, {op: result})
        outcomes.append(CellOutcome(cell, job))
    return outcomes


def reported(outcomes: list[CellOutcome]) -> Report:
    cells = [outcome.cell for outcome in outcomes]
    return bench_report.report(outcomes, cells, device="sda", facts=(), data={}, problem="")


def test_a_cell_that_ran_for_less_than_a_second_is_no_headline() -> None:
    short, good = cells_of(0.2), cells_of(9.0)
    assert "No cell ran for 1 s, so no figure is reliable: increase --size." == (
        reported(short).verdict
    )
    mixed = reported([*good[:2], *short[2:]])
    assert "Reads up to 16.4 MB/s (4 KiB, 4 jobs)." == mixed.verdict
    table = mixed.parts[0]
    assert isinstance(table, Table)
    assert ["1,000 / 4.1", "*1,000 / 16.4"] == [row[2] for row in table.rows if row[1] == "1"]
    assert any("(marked *)" in note for note in mixed.notes)


def test_charts_show_throughput_and_latency_over_the_block_size() -> None:
    charts = [part for part in reported(cells_of(9.0)).parts if isinstance(part, Chart)]
    assert ["Throughput by block size", "99th percentile of the latency by block size"] == [
        chart.title for chart in charts
    ]
    assert ((12.0, "4 KiB"), (14.0, "16 KiB")) == charts[0].x_ticks
    assert ["read, 4 jobs", "randwrite, 4 jobs"] == [line.name for line in charts[0].lines]
    assert ((12.0, 4096 * 4e3), (14.0, 16384 * 4e3)) == charts[0].lines[0].points
    assert not any(isinstance(part, Chart) for part in reported(cells_of(9.0, (4096,))).parts)
    assert not any(isinstance(part, Chart) for part in reported(cells_of(0.1)).parts)
