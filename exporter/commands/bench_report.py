"""Builds the report of `ssd-exporter bench`. It does no I/O.

A cell is one run of fio: one block size, one number of jobs and one mode.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.config.profiles import Profile, Rw
from exporter.measurement import figures
from exporter.measurement.figures import blocks, latencies, speed
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import HostShareRules, ProfileResult, RunOutcome, host_share_of_run
from exporter.report.content import Chart, ChartLine, Report, Table
from exporter.report.formatting import number

#: If a cell ran for less than this many seconds, the report warns that its figures are unreliable.
_MIN_SECONDS = 1.0

_SHARE = HostShareRules()

_NAMES = {
    Rw.RANDREAD: "random reads",
    Rw.READ: "reads",
    Rw.RANDWRITE: "random writes",
    Rw.WRITE: "writes",
}


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """The result of one cell.

    job: fio's result; None if fio reported none, or if the run failed or was stopped early.
    fio_version: the version of fio; empty if unknown.
    host_share: the share, 0 to 1, of the latency that the host caused; None means unknown.
    problem: why the run did not succeed; empty if it did.
    """

    cell: Profile
    job: JobResult | None
    fio_version: str = ""
    host_share: float | None = None
    problem: str = ""

    def results(self) -> Iterator[tuple[Op, OpResult]]:
        """Yields the results of the reads and of the writes. A kind without results is left out."""
        for op in (Op.READ, Op.WRITE):
            if self.job is not None and op in self.job.ops:
                yield op, self.job.ops[op]


def outcome(cell: Profile, ended: RunOutcome, problem: str) -> CellOutcome:
    """Returns the outcome of a cell. It has no result if the run failed or was stopped early.

    ended: the run of fio. problem: why the run failed; empty if it succeeded.
    """
    version = ended.run.fio_version if ended.run else ""
    if ended.result is not ProfileResult.SUCCESS:
        return CellOutcome(cell, None, version, None, problem)
    share = host_share_of_run(ended, [cell], cell.name, _SHARE)
    return CellOutcome(cell, ended.job(cell.name), version, share, problem)


def cell_words(cell: Profile) -> str:
    return f"{cell.rw.value} of {blocks(cell.block_bytes)}, {_job_words(cell.jobs)}"


def _job_words(jobs: int) -> str:
    return "1 job" if jobs == 1 else f"{jobs} jobs"


def plan_table(rows: Sequence[tuple[str, ...]]) -> Table:
    columns = ("block size", "jobs", "modes", "cells", "max time", "max written by fio")
    return Table("", columns, tuple(rows), frozenset({3, 4, 5}))


def report(
    outcomes: Sequence[CellOutcome],
    cells: Sequence[Profile],
    *,
    device: str,
    facts: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    problem: str,
) -> Report:
    """Returns the report of a benchmark.

    outcomes: the results of the cells that ran.
    cells: all requested cells.
    device: the name of the measured device.
    facts: names and values that describe the run, for people.
    data: JSON values about the location.
    problem: why some cells were not measured; empty if all cells were measured.
    """
    measured = [outcome for outcome in outcomes if outcome.job is not None]
    return Report(
        title=f"Benchmark of {device}",
        verdict=_verdict(measured, len(cells), problem),
        facts=tuple(facts),
        parts=(
            _overview(measured, cells),
            *_charts(measured),
            _latencies(measured),
            *_failures(outcomes),
        ),
        notes=tuple(_notes(measured, cells)),
        data={
            **data,
            "problem": problem or None,
            "cells": [_data(outcome) for outcome in outcomes],
            "missing_cells": len(cells) - len(measured),
        },
    )


def _verdict(measured: Sequence[CellOutcome], requested: int, problem: str) -> str:
    # A cell of the mixed mode has no single best figure: it measures reads and writes together.
    reliable = [outcome for outcome in measured if _is_reliable(outcome)]
    without = "the tables show the results"
    if not reliable:
        without = f"no cell ran for {_MIN_SECONDS:g} s, so no figure is reliable: increase --size"
    best = "; ".join(_bests(reliable)) or without
    whole = f"{best[:1].upper()}{best[1:]}."
    if not problem:
        return whole
    return f"Only {len(measured)} of {requested} cells were measured: {problem}. {whole}"


def _is_reliable(outcome: CellOutcome) -> bool:
    """Returns True if the cell ran long enough for its rates to describe the drive."""
    return outcome.job is not None and (outcome.job.seconds or 0) >= _MIN_SECONDS


def _charts(measured: Sequence[CellOutcome]) -> Iterator[Chart]:
    """Yields charts of throughput and of latency over the block size, with a line per mode.

    Each mode has its largest number of jobs. Cells that did not run long enough are omitted.
    """
    reliable = [outcome for outcome in measured if _is_reliable(outcome)]
    sizes = sorted({outcome.cell.block_bytes for outcome in reliable})
    if len(sizes) < 2:
        return
    ticks = tuple((math.log2(block), blocks(block)) for block in sizes)
    for title, unit, value in (
        ("Throughput by block size", "B/s", lambda result: result.bytes_per_second),
        ("99th percentile of the latency by block size", "s", lambda result: result.p99_seconds),
    ):
        lines = tuple(_lines(reliable, value))
        if lines:
            label = "throughput" if unit == "B/s" else "latency"
            yield Chart(title, "block size", label, lines, y_unit=unit, x_ticks=ticks)


def _lines(
    reliable: Sequence[CellOutcome], value: Callable[[OpResult], float | None]
) -> Iterator[ChartLine]:
    for mode in dict.fromkeys(outcome.cell.rw for outcome in reliable):
        of_mode = [outcome for outcome in reliable if outcome.cell.rw is mode]
        jobs = max(outcome.cell.jobs for outcome in of_mode)
        points: dict[Op, list[tuple[float, float]]] = {}
        for outcome in sorted(of_mode, key=lambda each: each.cell.block_bytes):
            for op, result in outcome.results():
                if outcome.cell.jobs == jobs and (y := value(result)) is not None:
                    points.setdefault(op, []).append((math.log2(outcome.cell.block_bytes), y))
        for op, line in points.items():
            name = f"{mode.value}: {op.value}s" if len(points) > 1 else mode.value
            yield ChartLine(f"{name}, {_job_words(jobs)}", tuple(line))


def _bests(measured: Sequence[CellOutcome]) -> Iterator[str]:
    for mode, words in _NAMES.items():
        is_random = mode in (Rw.RANDREAD, Rw.RANDWRITE)
        rates = [
            (rate, outcome.cell)
            for outcome in measured
            if outcome.cell.rw is mode
            for _, result in outcome.results()
            if (rate := result.iops if is_random else result.bytes_per_second) is not None
        ]
        if rates:
            most, cell = max(rates, key=lambda rate: rate[0])
            shown = f"{number(most)} IOPS" if is_random else f"{speed(most)} MB/s"
            yield f"{words} up to {shown} ({blocks(cell.block_bytes)}, {_job_words(cell.jobs)})"


def _overview(measured: Sequence[CellOutcome], cells: Sequence[Profile]) -> Table:
    """Returns a table with a row per block size and number of jobs, and a column per mode."""
    modes = list(dict.fromkeys(cell.rw for cell in cells))
    by_parameters = {(o.cell.rw, o.cell.block_bytes, o.cell.jobs): o for o in measured}
    parameters = dict.fromkeys((cell.block_bytes, cell.jobs) for cell in cells)
    rows = [
        (
            blocks(block),
            str(jobs),
            *(_rates(by_parameters.get((mode, block, jobs))) for mode in modes),
        )
        for block, jobs in parameters
    ]
    return Table(
        "IOPS / MB/s",
        ("block size", "jobs", *(mode.value for mode in modes)),
        tuple(rows),
        frozenset(range(1, len(modes) + 2)),
        keys=2,
    )


def _rates(outcome: CellOutcome | None) -> str:
    """Returns the rates of a cell as text: "IOPS / MB/s", or "-" if it was not measured.

    A cell of the mixed mode has the rates of its reads, then " + ", then those of its writes. "*"
    marks a cell that did not run long enough.
    """
    if outcome is None:
        return "-"
    mark = "" if _is_reliable(outcome) else "*"
    return mark + " + ".join(
        f"{'-' if r.iops is None else number(r.iops)} / {speed(r.bytes_per_second)}"
        for _, r in outcome.results()
    )


def _latencies(measured: Sequence[CellOutcome]) -> Table:
    rows = []
    for outcome in measured:
        share = "-" if outcome.host_share is None else f"{outcome.host_share:.0%}"
        mode = outcome.cell.rw.value
        rows += [
            (
                f"{mode}: {op.value}s" if outcome.cell.rw is Rw.RANDRW else mode,
                blocks(outcome.cell.block_bytes),
                str(outcome.cell.jobs),
                *latencies(result),
                share,
            )
            for op, result in outcome.results()
        ]
    columns = ("mode", "block size", "jobs", "p50", "p99", "p99.9", "max", "host share")
    return Table("Latency", columns, tuple(rows), frozenset(range(1, 8)), keys=3)


def _failures(outcomes: Sequence[CellOutcome]) -> Iterator[Table]:
    rows = [(cell_words(o.cell), o.problem) for o in outcomes if o.job is None]
    if rows:
        yield Table("Not measured", ("cell", "reason"), tuple(rows))


def _notes(measured: Sequence[CellOutcome], cells: Sequence[Profile]) -> Iterator[str]:
    if all(cell.depth == 1 for cell in cells):
        yield (
            "Each job has one request in flight, so latency limits the IOPS. Use more jobs or"
            " --depth to measure the maximum of the drive."
        )
    short = [outcome for outcome in measured if not _is_reliable(outcome)]
    if short:
        yield (
            f"{len(short)} of {len(measured)} cells (marked *) ended within a second, because they"
            " reached the end of the file. Their figures are unreliable; increase --size."
        )
    if any(outcome.cell.writes for outcome in measured):
        yield (
            "The writes are a short burst in a small file, which the drive's write cache absorbs."
            " Use ssd-exporter slc and ssd-exporter steady-state to measure sustained writes."
        )
    if any(outcome.host_share is not None for outcome in measured):
        yield "Host share: the part of the latency that the host caused, not the device."


def _data(outcome: CellOutcome) -> dict[str, Any]:
    cell = outcome.cell
    ops = outcome.job.ops if outcome.job else {}
    return {
        "mode": cell.rw.value,
        "block_bytes": cell.block_bytes,
        "jobs": cell.jobs,
        "depth": cell.depth,
        "engine": cell.engine.value,
        "file_bytes": cell.size_bytes,
        "seconds": outcome.job.seconds if outcome.job else None,
        "host_share_ratio": outcome.host_share,
        "problem": outcome.problem or None,
        "ops": {op.value: figures.operation(result) for op, result in ops.items()},
    }
