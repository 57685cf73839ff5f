"""What a benchmark has found. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.measurement import figures
from exporter.measurement.figures import blocks, latency, speed
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import HostShareRules, ProfileResult, RunOutcome, host_share_of_run
from exporter.probe.profiles import Profile, Rw
from exporter.report.content import Report, Table
from exporter.report.formatting import number

#: A cell that was over sooner says little.
_LEAST_SECONDS = 1.0

_SHARE = HostShareRules()

_NAMES = {
    Rw.RANDREAD: "random reads",
    Rw.READ: "reads",
    Rw.RANDWRITE: "random writes",
    Rw.WRITE: "writes",
}


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What came of one cell. job: None where fio said nothing. problem: empty where all is well."""

    cell: Profile
    job: JobResult | None
    fio_version: str = ""
    host_share: float | None = None
    problem: str = ""

    def of(self, op: Op) -> OpResult | None:
        return self.job.ops.get(op) if self.job else None


def outcome(cell: Profile, ended: RunOutcome, problem: str) -> CellOutcome:
    """Half a cell is none: what was ended early measured the beginning only."""
    version = ended.run.fio_version if ended.run else ""
    if ended.result is not ProfileResult.SUCCESS:
        return CellOutcome(cell, None, version, None, problem)
    share = host_share_of_run(ended, [cell], cell.name, _SHARE)
    return CellOutcome(cell, ended.job(cell.name), version, share, problem)


def cell_words(cell: Profile) -> str:
    jobs = "1 job" if cell.jobs == 1 else f"{cell.jobs} jobs"
    return f"{cell.rw.value} of {blocks(cell.block_bytes)}, {jobs}"


def plan_table(rows: Sequence[tuple[str, ...]]) -> Table:
    columns = ("block size", "jobs", "modes", "cells", "takes at most", "fio writes at most")
    return Table("", columns, tuple(rows), frozenset({3, 4, 5}))


def report(
    found: Sequence[CellOutcome],
    cells: Sequence[Profile],
    *,
    device: str,
    facts: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    problem: str,
) -> Report:
    """cells: all that were asked for. data: of the place, for programs. problem: why not all of
    them were measured; empty where they were.
    """
    measured = [each for each in found if each.job is not None]
    return Report(
        title=f"Benchmark of {device}",
        verdict=_verdict(measured, len(cells), problem),
        facts=tuple(facts),
        parts=(_overview(measured, cells), _latencies(measured), *_failures(found)),
        notes=tuple(_notes(measured, cells)),
        data={
            **data,
            "problem": problem or None,
            "cells": [_data(each) for each in found],
            "missing_cells": len(cells) - len(measured),
        },
    )


def _verdict(measured: Sequence[CellOutcome], asked: int, problem: str) -> str:
    best = "; ".join(_bests(measured))
    whole = f"{best[:1].upper()}{best[1:]}."
    if not problem:
        return whole
    return f"{len(measured)} of {asked} cells were measured: {problem}. {whole}"


def _bests(measured: Sequence[CellOutcome]) -> Iterator[str]:
    for mode, words in _NAMES.items():
        op = Op.READ if mode in (Rw.RANDREAD, Rw.READ) else Op.WRITE
        its = [
            (result, each.cell)
            for each in measured
            if each.cell.rw is mode and (result := each.of(op)) is not None
        ]
        if mode in (Rw.RANDREAD, Rw.RANDWRITE):
            rates = [(r.iops, cell) for r, cell in its if r.iops is not None]
            unit = "IOPS"
        else:
            rates = [
                (r.bytes_per_second, cell) for r, cell in its if r.bytes_per_second is not None
            ]
            unit = "MB/s"
        if rates:
            most, cell = max(rates, key=lambda rate: rate[0])
            shown = number(most) if unit == "IOPS" else speed(most)
            jobs = "1 job" if cell.jobs == 1 else f"{cell.jobs} jobs"
            yield f"{words} up to {shown} {unit} ({blocks(cell.block_bytes)}, {jobs})"


def _overview(measured: Sequence[CellOutcome], cells: Sequence[Profile]) -> Table:
    """As such a matrix is usually shown: modes side by side."""
    modes = list(dict.fromkeys(each.rw for each in cells))
    by_place = {(each.cell.rw, each.cell.block_bytes, each.cell.jobs): each for each in measured}
    places = dict.fromkeys((each.block_bytes, each.jobs) for each in cells)
    rows = [
        (
            blocks(block),
            str(jobs),
            *(_rates(by_place.get((mode, block, jobs))) for mode in modes),
        )
        for block, jobs in places
    ]
    return Table(
        "IOPS / MB/s",
        ("block size", "jobs", *(mode.value for mode in modes)),
        tuple(rows),
        frozenset(range(1, len(modes) + 2)),
    )


def _rates(found: CellOutcome | None) -> str:
    """Of a mixed cell, reads + writes."""
    if found is None:
        return "-"
    results = [its for op in (Op.READ, Op.WRITE) if (its := found.of(op)) is not None]
    return " + ".join(
        f"{'-' if its.iops is None else number(its.iops)} / {speed(its.bytes_per_second)}"
        for its in results
    )


def _latencies(measured: Sequence[CellOutcome]) -> Table:
    rows = []
    for each in measured:
        share = "-" if each.host_share is None else f"{each.host_share:.0%}"
        mode = each.cell.rw.value
        for op in (Op.READ, Op.WRITE):
            its = each.of(op)
            if its is not None:
                rows.append(
                    (
                        f"{mode}: {op.value}s" if each.cell.rw is Rw.RANDRW else mode,
                        blocks(each.cell.block_bytes),
                        str(each.cell.jobs),
                        latency(its.p50_seconds),
                        latency(its.p99_seconds),
                        latency(its.p999_seconds),
                        latency(its.max_seconds),
                        share,
                    )
                )
    columns = ("mode", "block size", "jobs", "p50", "p99", "p99.9", "max", "in the host")
    return Table("Latency", columns, tuple(rows), frozenset(range(1, 8)))


def _failures(found: Sequence[CellOutcome]) -> Iterator[Table]:
    rows = [(cell_words(each.cell), each.problem) for each in found if each.job is None]
    if rows:
        yield Table("Not measured", ("cell", "why"), tuple(rows))


def _notes(measured: Sequence[CellOutcome], cells: Sequence[Profile]) -> Iterator[str]:
    if all(each.depth == 1 for each in cells):
        yield (
            "A job has one request in flight at a time, so IOPS are bound by latency: a drive does"
            " more with more jobs, or with --depth."
        )
    short = [each for each in measured if each.job and (each.job.seconds or 0) < _LEAST_SECONDS]
    if short:
        yield (
            f"{len(short)} of {len(measured)} cells were over within a second, for they went"
            " through the whole file: give --size more, to trust them more."
        )
    if any(each.cell.writes for each in measured):
        yield (
            "This is a fresh burst within a small file: the drive's write cache takes it. What it"
            " does for hours, ssd-exporter slc and steady-state say."
        )
    if any(each.host_share is not None for each in measured):
        yield "In the host: the share of the latency that did not arise in the device."


def _data(found: CellOutcome) -> dict[str, Any]:
    cell = found.cell
    ops = found.job.ops if found.job else {}
    return {
        "mode": cell.rw.value,
        "block_bytes": cell.block_bytes,
        "jobs": cell.jobs,
        "depth": cell.depth,
        "engine": cell.engine.value,
        "file_bytes": cell.size_bytes,
        "seconds": found.job.seconds if found.job else None,
        "host_share_ratio": found.host_share,
        "problem": found.problem or None,
        "ops": {op.value: figures.operation(its) for op, its in ops.items()},
    }
