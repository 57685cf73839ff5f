"""The report of ``ssd-exporter bench``."""

import pytest

from exporter.commands import bench_report
from exporter.commands.bench_matrix import Matrix
from exporter.commands.bench_report import CellOutcome
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult
from exporter.probe.profiles import Rw


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
