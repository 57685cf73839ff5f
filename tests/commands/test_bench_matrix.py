"""The matrix of a benchmark: its cells and its bounds."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import bench_matrix
from exporter.commands.bench_matrix import Matrix
from exporter.config.profiles import GIB, KIB, MIB, Rw
from exporter.probe import fio
from exporter.runtime.errors import ConfigError


def test_the_whole_matrix_is_block_size_by_jobs_by_mode() -> None:
    """Seed 001's own: {4K, 16K, 128K, 1M} x {1, 4} x five modes, 40 cells."""
    cells = Matrix().cells()
    assert 40 == len(cells)
    places = {(each.block_bytes, each.jobs, each.rw) for each in cells}
    assert 40 == len(places)
    assert {4 * KIB, 16 * KIB, 128 * KIB, MIB} == {each.block_bytes for each in cells}
    assert 40 == len({each.name for each in cells})


def test_no_cell_writes_more_than_the_file_holds() -> None:
    for cell in Matrix().cells():
        assert cell.written_bytes_at_most == (GIB if cell.writes else 0)
    assert 24 * GIB == bench_matrix.written_at_most(Matrix().cells())


def test_reads_run_before_writes() -> None:
    assert sorted(writes := [each.writes for each in Matrix().cells()]) == writes


def test_arguments_restrict_the_matrix() -> None:
    found = bench_matrix.matrix(
        block_sizes=["4k,16K", "1 MiB"],
        jobs=["2"],
        modes=["read", "RANDREAD,read"],
        size_text="64m",
    )
    assert Matrix((4096, 16_384, MIB), (2,), (Rw.READ, Rw.RANDREAD), 64 * MIB) == found
    assert 6 == len(found.cells())


def test_the_plan_has_the_right_totals() -> None:
    cells = Matrix().cells()
    rows = bench_matrix.plan_rows(cells)
    assert ["4 KiB", "16 KiB", "128 KiB", "1 MiB"] == [row[0] for row in rows]
    assert 40 == sum(int(row[3]) for row in rows)


def test_sequential_jobs_have_a_part_of_the_file_each() -> None:
    for cell in Matrix().cells():
        found = dict(each.split("=") for each in fio.region_arguments(cell))
        if cell.jobs == 1 or cell.rw not in (Rw.READ, Rw.WRITE):
            assert {} == found
        else:
            assert cell.size_bytes == cell.jobs * int(found["--offset_increment"])
            assert found["--size"] == found["--offset_increment"]


TEXTS = st.lists(st.text(max_size=8), max_size=3)


@given(TEXTS, TEXTS, TEXTS, st.text(max_size=8), st.tuples(st.floats(), st.integers()))
def test_any_text_gives_a_bounded_matrix_or_an_error(
    blocks: list[str], jobs: list[str], modes: list[str], size: str, numbers: tuple[float, int]
) -> None:
    with contextlib.suppress(ConfigError):
        _check(
            bench_matrix.matrix(
                block_sizes=blocks,
                jobs=jobs,
                modes=modes,
                size_text=size,
                seconds=numbers[0],
                depth=numbers[1],
            )
        )


@given(
    st.lists(st.sampled_from(["512", "4k", "16 KiB", "128K", "1M", "16m"]), max_size=6),
    st.lists(st.integers(1, 16).map(str), max_size=4),
    st.lists(st.sampled_from([each.value for each in Rw]), max_size=5),
    st.sampled_from(["1M", "1000000000", "64g", "256M"]),
)
def test_an_accepted_matrix_is_bounded(
    blocks: list[str], jobs: list[str], modes: list[str], size: str
) -> None:
    with contextlib.suppress(ConfigError):
        _check(bench_matrix.matrix(block_sizes=blocks, jobs=jobs, modes=modes, size_text=size))


def _check(found: Matrix) -> None:
    cells = found.cells()
    assert cells
    for cell in cells:
        assert 0 < (cell.number_ios or 0) * cell.block_bytes * cell.jobs <= cell.size_bytes
    assert bench_matrix.written_at_most(cells) <= len(cells) * found.size_bytes
    assert bench_matrix.seconds_at_most(cells) <= len(cells) * (found.seconds + 1)
