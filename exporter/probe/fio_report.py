"""Finding the report in what fio printed, between its notes and its other reports.

What a run of fio found: its JSON (``--output-format=json+``), with its exit status.

fio prints notes to the same place before the JSON. Sizes in it are bytes, times nanoseconds.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from exporter.drives.fields import Fields, Json
from exporter.errors import ParseError
from exporter.programs import command

#: A slot of three profiles prints 25 KB.
LARGEST_BYTES = 4 << 20

_MOST_DOCUMENTS = 16
_LONGEST_MESSAGE = 500

_BEGIN = re.compile(r"^\{", re.MULTILINE)
#: What printf makes of a mean of nothing, and no JSON.
_NO_NUMBER = re.compile(r"(?<=[:,\[\s])-?(?:nan|inf)(?=\s*[,}\]\n])")


@dataclass(frozen=True, slots=True)
class FioOutput:
    """The last whole report, None where there is none; and what stood before the first.

    faults: what looked like a report and was none.
    """

    document: Json | None
    message: str
    faults: tuple[str, ...]


def find_report(output: bytes) -> FioOutput:
    """Raises ParseError where it is more than fio prints."""
    if len(output) > LARGEST_BYTES:
        raise ParseError(f"fio: printed more than {LARGEST_BYTES} bytes")
    text = _NO_NUMBER.sub("null", output.decode("utf-8", "replace"))
    begin = _begin(text)
    message = " ".join(text[:begin].split())[:_LONGEST_MESSAGE]
    faults: list[str] = []
    return FioOutput(_last_document(text, begin, faults), message, tuple(faults))


def _begin(text: str) -> int:
    """Where the report begins: the line with its brace, else any brace, else the end."""
    found = _BEGIN.search(text)
    brace = found.start() if found else text.find("{")
    return brace if brace >= 0 else len(text)


def _last_document(text: str, begin: int, faults: list[str]) -> Json | None:
    decoder = json.JSONDecoder()
    last: Json | None = None
    place: int | None = begin
    for _ in range(_MOST_DOCUMENTS):
        if place is None or place >= len(text):
            break
        try:
            document, end = decoder.raw_decode(text, place)
        # Besides its own error: numbers of 5,000 digits, objects in objects in objects.
        except (ValueError, RecursionError) as e:
            faults.append(f"not JSON: {e}"[:200])
            end = place + 1
        else:
            if isinstance(document, Mapping) and isinstance(document.get("jobs"), list):
                last = document
        following = _BEGIN.search(text, end)
        place = following.start() if following else None
    return last


#: fio ends with it after a signal that it has caught: it prints what there is till then.
_TERMINATED_STATUS = 128

_MOST_JOBS = 256
_MOST_BINS = 4096


class Op(str, Enum):
    """What was timed: a read, a write till it is taken, or the fsync or fdatasync after it."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"


class RunResult(str, Enum):
    """How a run or a job of it ended. Aborted: by a signal, so that its figures are of a part."""

    SUCCESS = "success"
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class OpResult:
    """What one profile found of one operation, all its threads together; None is not known.

    operations, bytes: what was done; syncs have no bytes.
    iops, bytes_per_second: the cap where the profile has a rate cap.
    mean_seconds and those after it: completion latency, which for asynchronous engines does not
        hold the submission. total_mean_seconds does hold it.
    bins: how many operations took about so many seconds, for a histogram.
    """

    operations: int | None = None
    bytes: int | None = None
    iops: float | None = None
    bytes_per_second: float | None = None
    mean_seconds: float | None = None
    p50_seconds: float | None = None
    p99_seconds: float | None = None
    p999_seconds: float | None = None
    max_seconds: float | None = None
    total_mean_seconds: float | None = None
    bins: Mapping[float, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of one profile. `error` is the errno that stopped it, as 28 for a full disk."""

    name: str
    result: RunResult
    error: int | None
    seconds: float | None
    ops: Mapping[Op, OpResult]


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """What became of one run of fio.

    message: what fio said besides, in one line. faults: fields that were not usable.
    """

    result: RunResult
    status: int | None
    fio_version: str = ""
    jobs: tuple[JobResult, ...] = ()
    message: str = ""
    faults: tuple[str, ...] = ()

    @property
    def written_bytes(self) -> int:
        """What fio says it wrote, of failed and aborted jobs too."""
        return sum(job.ops[Op.WRITE].bytes or 0 for job in self.jobs if Op.WRITE in job.ops)


def parse(output: bytes, status: int | None) -> ProbeRun:
    """What fio printed, and its exit status: negative for a signal, None where it has not ended.

    The status decides, not the report's `error`, which is 0 after a SIGTERM. Of several documents
    the last whole one counts: SIGUSR1 has fio print where it stands.

    Raises:
        ParseError: it ended by itself, and there is no report or half of one.
    """
    is_aborted = status is None or status < 0 or status >= _TERMINATED_STATUS
    found = find_report(output)
    if found.document is None:
        if is_aborted:
            return ProbeRun(RunResult.ABORTED, status, message=found.message, faults=found.faults)
        said = f"; it says {found.message!r}" if found.message else ""
        why = f": {found.faults[0]}" if found.faults else ""
        raise ParseError(f"fio: no report, with exit status {status}{why}{said}")
    report = Fields(found.document)
    rows = [row for row in report.rows("jobs", maximum=_MOST_JOBS) if row.text("jobname")]
    errors = [row.integer("error") for row in rows]
    jobs: dict[str, JobResult] = {}
    for row, error in zip(rows, errors, strict=True):
        name = row.text("jobname") or ""
        if name in jobs:
            report.fault(("jobs", name), "a second result of this name")
            continue
        ops = dict(_ops(row))
        result = _job_result(error, status, has_culprit=any(errors), is_idle=not ops)
        milliseconds = row.number("job_runtime")
        jobs[name] = JobResult(
            name=name,
            result=RunResult.ABORTED if is_aborted else result,
            error=error,
            seconds=None if milliseconds is None else milliseconds / 1e3,
            ops=ops,
        )
    return ProbeRun(
        result=_run_result(jobs, status, is_aborted=is_aborted),
        status=status,
        fio_version=command.parse_version(report.text("fio version") or ""),
        jobs=tuple(jobs.values()),
        message=found.message,
        faults=(*found.faults, *report.faults),
    )


def _run_result(
    jobs: Mapping[str, JobResult], status: int | None, *, is_aborted: bool
) -> RunResult:
    if is_aborted:
        return RunResult.ABORTED
    good = status == 0 and jobs and all(j.result is RunResult.SUCCESS for j in jobs.values())
    return RunResult.SUCCESS if good else RunResult.FAILED


def _job_result(
    error: int | None, status: int | None, *, has_culprit: bool, is_idle: bool
) -> RunResult:
    """A job is believed where fio ended well, or where others own up to the failure."""
    is_good = not error and not is_idle and (status == 0 or (has_culprit and error == 0))
    return RunResult.SUCCESS if is_good else RunResult.FAILED


def _ops(row: Fields) -> Iterator[tuple[Op, OpResult]]:
    for op in (Op.READ, Op.WRITE):
        operations = row.integer(op.value, "total_ios")
        size = row.integer(op.value, "io_bytes")
        if operations or size:
            yield (
                op,
                replace(
                    _timed(row, op.value, "clat_ns"),
                    operations=operations,
                    bytes=size,
                    iops=row.number(op.value, "iops"),
                    bytes_per_second=row.number(op.value, "bw_bytes"),
                    # Always there, and 0 where nothing was timed.
                    total_mean_seconds=_seconds(row.number(op.value, "lat_ns", "mean")) or None,
                ),
            )
    syncs = _timed(row, "sync", "lat_ns")
    # Not sync.total_ios, which is 0.
    if syncs.operations:
        yield Op.SYNC, syncs


def _timed(row: Fields, *path: str) -> OpResult:
    """How many operations were timed, and how long they took; nothing where there were none.

    The number, N, is there from 3.18 on; before that it is what the bins hold, and without
    operations there are percentiles of 0.
    """
    bins = _by_number(row, "bins", path)
    count = row.integer(*path, "N") if row.get(*path, "N") is not None else sum(bins.values())
    if not count:
        return OpResult()
    percentiles = _by_number(row, "percentile", path)
    return OpResult(
        operations=count,
        mean_seconds=_seconds(row.number(*path, "mean")),
        p50_seconds=_seconds(percentiles.get(50.0)),
        p99_seconds=_seconds(percentiles.get(99.0)),
        p999_seconds=_seconds(percentiles.get(99.9)),
        max_seconds=_seconds(row.number(*path, "max")),
        bins={nanoseconds / 1e9: count for nanoseconds, count in bins.items() if count},
    )


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _by_number(row: Fields, name: str, path: tuple[str, ...]) -> dict[float, int]:
    """An object whose keys are numbers as text, as ``"99.900000": 10944``."""
    found = row.get(*path, name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        row.fault((*path, name), found)
        return {}
    numbers: dict[float, int] = {}
    for key in list(found)[:_MOST_BINS]:
        try:
            number = float(key)
        except ValueError:
            number = math.nan
        value = row.integer(*path, name, key, maximum=(1 << 63) - 1)
        if not math.isfinite(number) or number < 0:
            row.fault((*path, name), key)
        elif value is not None:
            numbers[number] = value
    return numbers
