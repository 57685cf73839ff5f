"""``ssd-exporter bench [DIR]``: benchmarks each combination of block size, jobs and mode.

A cell is one such combination: one run of fio. The matrix is the set of all cells. The gate is the
check that decides whether a measurement may write now.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from exporter.commands import bench_matrix, bench_report
from exporter.commands.bench_matrix import Matrix
from exporter.commands.bench_report import CellOutcome
from exporter.commands.common import (
    add_directory,
    add_measurement_arguments,
    measurement_options,
    system_tools,
)
from exporter.commands.registry import Command
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.measurement import run_facts, session
from exporter.measurement.figures import blocks, size, span
from exporter.measurement.session import (
    MEASURED,
    NOT_MEASURED,
    Measurement,
    MeasurementOptions,
    MeasurementTools,
    measuring,
)
from exporter.probe.filling import bytes_to_fill, fill_seconds
from exporter.probe.fio_run import ProfileResult
from exporter.report import terminal
from exporter.report.content import Report
from exporter.runtime.errors import CommandError, ConfigError, SourceError

#: After a cell with one of these results no further cell runs: it would fail too, or it would
#: disturb production.
_FINAL_RESULTS = (ProfileResult.ABORTED, ProfileResult.STUCK, ProfileResult.TIMEOUT)


def run(
    settings: Settings,
    options: MeasurementOptions,
    matrix: Matrix,
    tools: MeasurementTools,
    out: TextIO,
) -> int:
    """Runs the cells of the matrix and prints the report. Returns the exit status.

    The status is 0 if all cells were measured. Otherwise it is 3, and the report contains the cells
    that were measured before an interruption or a problem.

    Raises:
        ConfigError: the directory is unsuitable, the benchmark may not start now (for example
            because of load), or the user did not agree to it.
        SourceError: no cell was measured.
    """
    options.check_report()
    cells = matrix.cells()
    with measuring(settings, options, cells, tools) as measurement:
        runnable = measurement.with_engine(cells)
        file = _prepare(measurement, runnable, matrix, tools.streams.messages)
        started_at = measurement.clock.monotonic()
        outcomes, problem = _run_cells(measurement, runnable, file)
        if not any(outcome.job is not None for outcome in outcomes):
            raise CommandError(f"nothing was measured: {problem or 'fio reported no result'}")
        under = run_facts.measured_drives(measurement, settings)
        version = next((o.fio_version for o in outcomes if o.fio_version), "")
        engine = f"{runnable[0].engine.value}, queue depth {runnable[0].depth} per job"
        fio = f"{version}, {engine}, direct I/O, no fsync"
        facts = run_facts.facts(measurement, under, started_at=started_at, fio=fio)
        report = bench_report.report(
            outcomes,
            runnable,
            device=measurement.location.device,
            facts=(("File", f"{blocks(matrix.size_bytes)}, random data"), *facts),
            data=run_facts.data(measurement),
            problem=problem,
        )
    options.deliver(report, out)
    return NOT_MEASURED if problem else MEASURED


def _prepare(
    measurement: Measurement, cells: Sequence[Profile], matrix: Matrix, messages: TextIO
) -> Path:
    """Queries the gate, asks the user for consent, and create the test file. Returns its path.

    messages: the stream to which the plan of the benchmark is printed.
    """
    path = measurement.directory.path
    name = f"ssd-exporter-bench-{measurement.location.device.replace('/', '!')}"
    fill_bytes = bytes_to_fill(path, name, matrix.size_bytes)
    written = fill_bytes + bench_matrix.written_at_most(cells)
    _show_plan(cells, fill_bytes, messages)
    measurement.admit(cells[0], written, fill_bytes)
    seconds = bench_matrix.seconds_at_most(cells) + fill_seconds(fill_bytes)
    measurement.consent(written, seconds)
    return measurement.prepare_file(name, matrix.size_bytes, fill=True)


def _run_cells(
    measurement: Measurement, cells: Sequence[Profile], file: Path
) -> tuple[list[CellOutcome], str]:
    """Returns the outcome of each cell that ran, and the first problem (empty if all succeeded)."""
    outcomes: list[CellOutcome] = []
    problem = ""
    for number, cell in enumerate(cells):
        if measurement.interruption.is_set:
            return outcomes, f"ended by {measurement.interruption.words}"
        try:
            ended = measurement.run([cell], file, _progress_display(measurement, cells, number))
        except (ConfigError, SourceError) as e:
            # Another process used up the write budget, or the file that records it cannot be
            # written.
            return outcomes, str(e)
        cell_problem = measurement.problem(ended)
        outcomes.append(bench_report.outcome(cell, ended, cell_problem))
        problem = problem or cell_problem
        if ended.result in _FINAL_RESULTS:
            break
    return outcomes, problem


def _progress_display(
    measurement: Measurement, cells: Sequence[Profile], number: int
) -> Callable[[float], None]:
    cell, left_seconds = cells[number], bench_matrix.seconds_at_most(cells[number:])

    def show(elapsed: float) -> None:
        share = min(elapsed / cell.runtime_seconds, 1.0)
        measurement.show(
            f"{bench_report.cell_words(cell)}: cell {number + 1} of {len(cells)}, at most"
            f" {span(max(left_seconds - elapsed, 1.0))} left",
            (number + share) / len(cells),
        )

    return show


def _show_plan(cells: Sequence[Profile], fill_bytes: int, messages: TextIO) -> None:
    rows = bench_matrix.plan_rows(cells)
    if fill_bytes:
        fill = f"{fill_seconds(fill_bytes):.0f} s"
        rows = (("fill the file", "", "", "", fill, size(fill_bytes)), *rows)
    terminal.write(
        Report(
            "Benchmark plan",
            f"{len(cells)} cells, one at a time.",
            (),
            (bench_report.plan_table(rows),),
            (),
            {},
        ),
        messages,
    )
    messages.write("\n")
    messages.flush()


def _add_arguments(p: argparse.ArgumentParser) -> None:
    add_directory(p)
    p.add_argument(
        "--block-size",
        dest="block_sizes",
        action="append",
        default=[],
        metavar="SIZE",
        help="block sizes, separated by commas or repeated; default: 4K,16K,128K,1M",
    )
    p.add_argument(
        "--jobs",
        action="append",
        default=[],
        metavar="N",
        help="numbers of concurrent jobs, separated by commas or repeated; default: 1,4",
    )
    p.add_argument(
        "--mode",
        dest="modes",
        action="append",
        default=[],
        metavar="MODE",
        help="modes, separated by commas or repeated; default:"
        " randread,read,randrw,randwrite,write; randrw is 75 %% reads",
    )
    p.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        help="time limit of each combination of block size, jobs and mode (a cell), in seconds;"
        " default: %(default)g",
    )
    p.add_argument(
        "--size",
        default="1G",
        help="size of the file, and maximum that each combination reads or writes, such as 4GiB;"
        " 4GB is 4 * 10^9 bytes; default: %(default)s",
    )
    p.add_argument(
        "--depth", type=int, default=1, help="queue depth of each job; default: %(default)s"
    )
    add_measurement_arguments(p)


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    matrix = bench_matrix.matrix(
        block_sizes=arguments.block_sizes,
        jobs=arguments.jobs,
        modes=arguments.modes,
        size_text=arguments.size,
        seconds=arguments.seconds,
        depth=arguments.depth,
    )
    options = measurement_options(arguments)
    tools = system_tools(settings, has_regions=True)
    return session.status(lambda: run(settings, options, matrix, tools, sys.stdout), sys.stderr)


COMMAND = Command(
    "Measure IOPS, throughput and latency for each block size, number of jobs and mode, with direct"
    " I/O in a temporary file. The command shows how much it writes, and asks before it starts."
    " Ctrl-C stops it and reports the finished measurements. Exit status 0: measured, 2: a wrong"
    " argument, or refused, 3: not measured, or not completely.",
    _add_arguments,
    _run_command,
)
