"""``ssd-exporter bench [DIR]``: block size × jobs × mode, cell by cell, bounded and agreed to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from exporter.commands import bench_matrix, bench_report
from exporter.commands.bench_matrix import Matrix
from exporter.commands.bench_report import CellOutcome
from exporter.config import Settings
from exporter.errors import CommandError, ConfigError, SourceError
from exporter.measurement import run_facts
from exporter.measurement.figures import blocks, size, span
from exporter.measurement.session import (
    MEASURED,
    NOT_MEASURED,
    CommandContext,
    Measurement,
    MeasurementTools,
    measuring,
)
from exporter.probe.filling import bytes_to_fill, fill_seconds
from exporter.probe.fio_run import ProfileResult
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile
from exporter.report import terminal
from exporter.report.content import Report

#: After these the next cell would fare no better, or hurt.
_LAST = (ProfileResult.ABORTED, ProfileResult.STUCK, ProfileResult.TIMEOUT)


@dataclass(frozen=True, slots=True)
class BenchRequest(CommandContext):
    """What a person asked for."""

    matrix: Matrix = field(default_factory=Matrix)


def run(settings: Settings, wanted: BenchRequest, edges: MeasurementTools, out: TextIO) -> int:
    """Run the matrix and report; what was measured until Ctrl-C is reported too, with status 3.

    Raises:
        ConfigError: it must not run, or nobody agreed to it.
        SourceError: nothing was measured.
    """
    wanted.check()
    cells = wanted.matrix.cells()
    with measuring(settings, wanted.options, cells, edges) as measurement:
        runnable = measurement.with_engine(cells)
        file = _prepared(measurement, runnable, wanted.matrix, edges.streams.messages)
        begun = measurement.clock.monotonic()
        found, problem = _measured(measurement, runnable, file)
        seconds = measurement.clock.monotonic() - begun
        if not any(each.job is not None for each in found):
            raise CommandError(f"nothing was measured: {problem or 'fio says nothing'}")
        under = run_facts.measured_drives(measurement, settings)
        version = next((each.fio_version for each in found if each.fio_version), "")
        engine = f"{runnable[0].engine.value}, {runnable[0].depth} in flight a job"
        fio = f"{version}, {engine}, past the page cache, without fsync"
        facts = run_facts.facts(measurement, under, seconds=seconds, fio=fio)
        report = bench_report.report(
            found,
            runnable,
            device=measurement.location.device,
            facts=(("File", f"{blocks(wanted.matrix.size_bytes)}, random data"), *facts),
            data=run_facts.data(measurement),
            problem=problem,
        )
    wanted.deliver(report, out)
    return NOT_MEASURED if problem else MEASURED


def _prepared(
    measurement: Measurement, cells: Sequence[Profile], matrix: Matrix, says: TextIO
) -> Path:
    """The file, after the gate and the person had their say."""
    path = measurement.directory.path
    name = f"ssd-exporter-bench-{measurement.location.device.replace('/', '!')}"
    fill_bytes = bytes_to_fill(path, name, matrix.size_bytes)
    written = fill_bytes + bench_matrix.written_at_most(cells)
    _show_plan(cells, fill_bytes, says)
    measurement.admit(cells[0], written, fill_bytes)
    seconds = bench_matrix.seconds_at_most(cells) + fill_seconds(fill_bytes)
    measurement.consent(written, seconds)
    return measurement.prepare_file(name, matrix.size_bytes, fill=True)


def _measured(
    measurement: Measurement, cells: Sequence[Profile], file: Path
) -> tuple[list[CellOutcome], str]:
    """What came of the cells, as far as it went, and why it went no further or not well."""
    found: list[CellOutcome] = []
    problem = ""
    for number, cell in enumerate(cells):
        left = bench_matrix.seconds_at_most(cells[number:])
        begun = measurement.clock.monotonic()

        def go_on(
            _watch: GuardSampler,
            cell: Profile = cell,
            number: int = number,
            left: float = left,
            begun: float = begun,
        ) -> bool:
            gone = measurement.clock.monotonic() - begun
            share = min(gone / cell.runtime_seconds, 1.0)
            measurement.show(
                f"{bench_report.cell_words(cell)}, {number + 1} of {len(cells)}, at most"
                f" {span(max(left - gone, 1.0))} left",
                (number + share) / len(cells),
            )
            return True

        if measurement.interruption.is_set:
            return found, f"ended by {measurement.interruption.words}"
        try:
            ended = measurement.run([cell], file, go_on)
        except (ConfigError, SourceError) as e:
            # Another has used the budget up meanwhile, or it cannot be written down any more.
            return found, str(e)
        said = measurement.problem(ended)
        found.append(bench_report.outcome(cell, ended, said))
        if said:
            problem = problem or said
        if ended.result in _LAST:
            break
    return found, problem


def _show_plan(cells: Sequence[Profile], fill_bytes: int, says: TextIO) -> None:
    rows = bench_matrix.plan_rows(cells)
    if fill_bytes:
        fill = f"{fill_seconds(fill_bytes):.0f} s"
        rows = (("fill the file", "", "", "", fill, size(fill_bytes)), *rows)
    terminal.write(
        Report(
            "What a benchmark runs",
            f"{len(cells)} cells, one after the other.",
            (),
            (bench_report.plan_table(rows),),
            (),
            {},
        ),
        says,
    )
    says.write("\n")
    says.flush()
