"""Parses fio's report (``--output-format=json+``) and its exit status into the results of a run.

The output of fio may also contain messages and intermediate reports. Sizes in the report are in
bytes, latencies in nanoseconds.
"""

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from exporter.drives.fields import Fields, Json
from exporter.programs import command
from exporter.runtime.errors import ParseError

#: fio's exit status after it caught a signal. Its report covers the time until the signal.
_TERMINATED_STATUS = 128

#: Upper bounds of what is parsed: the jobs of a report, and the keys of a latency histogram. fio's
#: histograms have 1856 keys (bins).
_MAX_JOBS = 256
_MAX_BINS = 4096

#: Upper bound of fio's output in bytes. A run of three profiles prints 25 KB.
MAX_REPORT_BYTES = 4 << 20

#: Maximum number of JSON documents that are parsed in one output, from the end. SIGUSR1 and
#: --status-interval make fio print intermediate reports.
_MAX_DOCUMENTS = 16
#: Maximum length of the kept text that fio prints before its report, in characters.
_MAX_MESSAGE_LENGTH = 500

_BEGIN = re.compile(r"^\{", re.MULTILINE)
#: The texts nan and inf, which fio prints for a mean without samples. They are not valid JSON.
_NO_NUMBER = re.compile(r"(?<=[:,\[\s])-?(?:nan|inf)(?=\s*[,}\]\n])")


class Op(str, Enum):
    """The kind of a timed operation.

    read, write: a request, timed until its completion.
    sync: an fsync or fdatasync after a write.
    """

    READ = "read"
    WRITE = "write"
    SYNC = "sync"


class RunResult(str, Enum):
    """How a run or a job ended.

    aborted: a signal ended it, or fio has not ended; the results cover only a part of the run.
    """

    SUCCESS = "success"
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class OpResult:
    """The results of one kind of operation of one profile, all threads together.

    None means unknown.

    operations: the number of operations.
    bytes: the number of bytes; None for syncs.
    iops, bytes_per_second: the rates. A profile with a rate cap usually reaches exactly the cap.
    mean_seconds, p50_seconds, p99_seconds, p999_seconds, max_seconds: the mean, the percentiles 50,
        99 and 99.9, and the maximum of the completion latency. With asynchronous engines, this
        latency excludes the submission of the request.
    total_mean_seconds: the mean latency including the submission.
    bins: the number of operations, keyed by their approximate latency in seconds, for a histogram.
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
    """The result of one profile.

    name: the name of the profile.
    error: the errno that stopped the job, such as 28 for a full disk; 0 means no error, None means
        unknown.
    seconds: the duration of the job; None means unknown.
    ops: the results, keyed by kind of operation. Kinds that the job did not perform are missing.
    """

    name: str
    result: RunResult
    error: int | None
    seconds: float | None
    ops: Mapping[Op, OpResult]


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """The result of one run of fio.

    status: fio's exit status, or the negative number of the signal that ended it. None means that
        fio has not ended.
    fio_version: the version in the report; empty means unknown.
    jobs: the results of the profiles; empty if there is no report.
    message: the text that fio printed before its report, as one line.
    faults: descriptions of the parts of the output that could not be parsed.
    """

    result: RunResult
    status: int | None
    fio_version: str = ""
    jobs: tuple[JobResult, ...] = ()
    message: str = ""
    faults: tuple[str, ...] = ()

    @property
    def written_bytes(self) -> int:
        """The bytes that all jobs wrote according to fio, including failed and aborted jobs."""
        return sum(job.ops[Op.WRITE].bytes or 0 for job in self.jobs if Op.WRITE in job.ops)


def parse(output: bytes, status: int | None) -> ProbeRun:
    """Returns the result of a run from fio's output and exit status.

    The exit status decides whether the run was aborted, because the report's `error` is 0 after
    SIGTERM. If there are several reports, the last complete one is used, because SIGUSR1 makes fio
    print intermediate reports.

    status: fio's exit status, or the negative number of the signal that ended it. None means that
        fio has not ended.

    Raises:
        ParseError: fio ended by itself without a complete report, or its output is too long.
    """
    is_aborted = status is None or status < 0 or status >= _TERMINATED_STATUS
    parsed = find_report(output)
    if parsed.document is None:
        if is_aborted:
            return ProbeRun(RunResult.ABORTED, status, message=parsed.message, faults=parsed.faults)
        output_words = f"; output {parsed.message!r}" if parsed.message else ""
        why = f": {parsed.faults[0]}" if parsed.faults else ""
        raise ParseError(f"fio: no report, with exit status {status}{why}{output_words}")
    report = Fields(parsed.document)
    rows = [row for row in report.rows("jobs", maximum=_MAX_JOBS) if row.text("jobname")]
    errors = [row.integer("error") for row in rows]
    jobs: dict[str, JobResult] = {}
    for row, error in zip(rows, errors, strict=True):
        name = row.text("jobname") or ""
        if name in jobs:
            report.fault(("jobs", name), "duplicate name")
            continue
        ops = dict(_ops(row))
        result = _job_result(error, status, has_job_error=any(errors), is_idle=not ops)
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
        message=parsed.message,
        faults=(*parsed.faults, *report.faults),
    )


def _run_result(
    jobs: Mapping[str, JobResult], status: int | None, *, is_aborted: bool
) -> RunResult:
    if is_aborted:
        return RunResult.ABORTED
    good = status == 0 and jobs and all(j.result is RunResult.SUCCESS for j in jobs.values())
    return RunResult.SUCCESS if good else RunResult.FAILED


def _job_result(
    error: int | None, status: int | None, *, has_job_error: bool, is_idle: bool
) -> RunResult:
    """Returns SUCCESS if the job made operations without an error, else FAILED.

    If fio's exit status is not 0, the job is a success only if another job reports the error.

    error: the errno that the job reports; None means unknown.
    status: fio's exit status.
    has_job_error: at least one job of the run reports an error.
    is_idle: the job made no operation.
    """
    is_good = not error and not is_idle and (status == 0 or (has_job_error and error == 0))
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
                    # The value is always present, and it is 0 if nothing was timed.
                    total_mean_seconds=_seconds(row.number(op.value, "lat_ns", "mean")) or None,
                ),
            )
    syncs = _timed(row, "sync", "lat_ns")
    # fio does not count fdatasync in sync.total_ios, so the timed operations are counted.
    if syncs.operations:
        yield Op.SYNC, syncs


def _timed(row: Fields, *path: str) -> OpResult:
    """Returns the number of the timed operations and their latency.

    Without timed operations, all values are unknown. Since fio 3.18 the report contains the number
    as N. In the reports of earlier versions, the number is the sum of the histogram's counts, and
    percentiles are 0 if there are no operations.

    path: the keys that lead from the job to the latency values.
    """
    bins = _by_number(row, "bins", path)
    count = row.integer(*path, "N") if row.get(*path, "N") is not None else sum(bins.values())
    if not count:
        return OpResult()
    percentiles = _by_number(row, "percentile", path)
    most = row.number(*path, "max")
    if most is not None:
        # fio reports the upper end of a bin as a percentile, which may exceed the maximum.
        percentiles = {key: min(value, int(most)) for key, value in percentiles.items()}
    return OpResult(
        operations=count,
        mean_seconds=_seconds(row.number(*path, "mean")),
        p50_seconds=_seconds(percentiles.get(50.0)),
        p99_seconds=_seconds(percentiles.get(99.0)),
        p999_seconds=_seconds(percentiles.get(99.9)),
        max_seconds=_seconds(most),
        bins={nanoseconds / 1e9: count for nanoseconds, count in bins.items() if count},
    )


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _by_number(row: Fields, name: str, path: tuple[str, ...]) -> dict[float, int]:
    """Returns the counts or times of a JSON object, keyed by number.

    In the report the keys are strings, as in ``"99.900000": 10944``. Invalid items are left out and
    recorded as faults.
    """
    items = row.get(*path, name)
    if items is None:
        return {}
    if not isinstance(items, Mapping):
        row.fault((*path, name), items)
        return {}
    numbers: dict[float, int] = {}
    for key in list(items)[:_MAX_BINS]:
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


@dataclass(frozen=True, slots=True)
class FioOutput:
    """The parts of fio's output.

    document: the last complete report; None if there is none.
    message: the text before the first report, as one line.
    faults: the parse errors of incomplete reports.
    """

    document: Json | None
    message: str
    faults: tuple[str, ...]


def find_report(output: bytes) -> FioOutput:
    """Returns the last complete report in fio's output, with the text before the reports.

    Raises:
        ParseError: the output is longer than `MAX_REPORT_BYTES`.
    """
    if len(output) > MAX_REPORT_BYTES:
        raise ParseError(f"fio printed more than {MAX_REPORT_BYTES} bytes")
    text = _NO_NUMBER.sub("null", output.decode("utf-8", "replace"))
    begin = _begin(text)
    message = " ".join(text[:begin].split())[:_MAX_MESSAGE_LENGTH]
    places = deque((match.start() for match in _BEGIN.finditer(text)), maxlen=_MAX_DOCUMENTS)
    faults: list[str] = []
    document = _last_document(text, places[0] if places else begin, faults)
    if document is None and places and places[0] != begin:
        # The last places are lines of one document.
        faults.clear()
        document = _last_document(text, begin, faults)
    return FioOutput(document, message, tuple(faults))


def _begin(text: str) -> int:
    """Returns the index at which the first report begins; the text's length without a report.

    A report begins with the first brace at the start of a line. If there is no such brace, it
    begins with the first brace.
    """
    match = _BEGIN.search(text)
    brace = match.start() if match else text.find("{")
    return brace if brace >= 0 else len(text)


def _last_document(text: str, begin: int, faults: list[str]) -> Json | None:
    decoder = json.JSONDecoder()
    last: Json | None = None
    place: int | None = begin
    for _ in range(_MAX_DOCUMENTS):
        if place is None or place >= len(text):
            break
        try:
            document, end = decoder.raw_decode(text, place)
        # A number of 5,000 digits also raises ValueError; deep nesting raises RecursionError.
        except (ValueError, RecursionError) as e:
            faults.append(f"not JSON: {e}"[:200])
            end = place + 1
        else:
            if isinstance(document, Mapping) and isinstance(document.get("jobs"), list):
                last = document
        following = _BEGIN.search(text, end)
        place = following.start() if following else None
    return last
