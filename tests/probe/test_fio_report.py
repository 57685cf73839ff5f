"""Tests the parsing of fio's report and exit status."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe import fio_report
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult, parse
from exporter.runtime.errors import ParseError
from tests.probe.fio_reports import FSYNC, PAGE_READ, direction, job, latency, printed


def only(output: bytes, status: int = 0) -> JobResult:
    [found] = parse(output, status).jobs
    return found


def test_each_job_has_its_operations_bytes_and_seconds() -> None:
    run = parse(printed(FSYNC, PAGE_READ), 0)
    assert (RunResult.SUCCESS, "3.33", "", ()) == (
        run.result,
        run.fio_version,
        run.message,
        run.faults,
    )
    assert ["fsync", "page_read"] == [each.name for each in run.jobs]
    read = run.jobs[1].ops[Op.READ]
    assert {Op.READ} == set(run.jobs[1].ops)
    assert (512, 512 * 16_384, 5120.0) == (read.operations, read.bytes, read.iops)
    assert 512 * 16_384 * 10 == read.bytes_per_second
    assert (90e-6, 90e-6, 0.01, 0.01) == (
        read.p50_seconds,
        read.p99_seconds,
        read.p999_seconds,
        read.max_seconds,
    )
    assert pytest.approx((511 * 90_000 + 10_000_000) / 512 / 1e9) == read.mean_seconds
    assert {90e-6: 511, 0.01: 1} == read.bins
    assert 0.1 == run.jobs[1].seconds
    assert 200 * 4096 == run.written_bytes


def test_the_latency_with_submission_is_parsed_too() -> None:
    write = only(printed(FSYNC)).ops[Op.WRITE]
    assert write.mean_seconds is not None
    assert pytest.approx(write.mean_seconds + 100e-9) == write.total_mean_seconds


def test_syncs_are_counted_by_their_latencies() -> None:
    sync = only(printed(FSYNC)).ops[Op.SYNC]
    assert (199, None, None) == (sync.operations, sync.bytes, sync.iops)
    assert (80e-6, 3.784704e-3) == (sync.p50_seconds, sync.max_seconds)
    assert 199 == sum(sync.bins.values())


def test_a_job_that_only_writes_has_no_reads() -> None:
    assert {Op.WRITE, Op.SYNC} == set(only(printed(FSYNC)).ops)


def test_without_operations_there_are_no_percentiles_and_no_zeros() -> None:
    """A job that does not measure latency has no `percentile`."""
    untimed = job("fsync", write=direction({5: 1}, clat_ns={"N": 0}, lat_ns={"N": 0}))
    write = only(printed(untimed)).ops[Op.WRITE]
    assert OpResult(1, 4096, 10.0, 40_960.0) == write


def test_a_report_without_percentiles_and_bins_keeps_the_rest() -> None:
    plain = latency({5_000: 10})
    del plain["percentile"], plain["bins"]
    write = only(printed(job("w", write=direction({5_000: 10}, clat_ns=plain)))).ops[Op.WRITE]
    assert (5e-6, None, {}) == (write.mean_seconds, write.p99_seconds, write.bins)


def test_before_3_18_operations_are_counted_by_their_bins() -> None:
    """Before 3.18, operations that were not made have percentiles of 0."""

    def older(part: Any) -> Any:
        if isinstance(part, dict):
            if "stddev" in part and not part["N"]:
                part = {**part, "percentile": {"50.000000": 0, "99.000000": 0}, "bins": {}}
            return {key: older(value) for key, value in part.items() if key != "N"}
        return [older(each) for each in part] if isinstance(part, list) else part

    now = json.loads(printed(FSYNC, PAGE_READ))
    then = parse(json.dumps(older(now)).encode(), 0)
    assert parse(json.dumps(now).encode(), 0).jobs == then.jobs
    assert 199 == then.jobs[0].ops[Op.SYNC].operations
    assert () == then.faults


@pytest.mark.parametrize("key", ["99.000000", "99.00", "99"])
def test_percentiles_are_matched_by_number(key: str) -> None:
    block = latency({5_000: 10}, percentile={key: 4_000})
    write = only(printed(job("w", write=direction({5_000: 10}, clat_ns=block)))).ops[Op.WRITE]
    assert 4e-6 == write.p99_seconds


def test_no_percentile_exceeds_the_maximum() -> None:
    """fio reports the upper end of the bin."""
    block = latency({5_000: 10}, percentile={"99.9": 7_000}, max=5_000)
    write = only(printed(job("w", write=direction({5_000: 10}, clat_ns=block)))).ops[Op.WRITE]
    assert (5e-6, 5e-6) == (write.p999_seconds, write.max_seconds)


def test_notes_before_the_report_are_kept_as_the_message() -> None:
    note = b"note: both iodepth >= 1 and synchronous I/O engine are selected, {sic}\n"
    run = parse(note + printed(FSYNC), 0)
    assert RunResult.SUCCESS == run.result
    assert note.decode().strip() == run.message


def test_after_sigterm_a_run_is_aborted_by_its_status() -> None:
    run = parse(b"\nfio: terminating on signal 15\n" + printed(FSYNC), 128)
    assert RunResult.ABORTED == run.result
    assert (RunResult.ABORTED, 0) == (run.jobs[0].result, run.jobs[0].error)
    assert 200 * 4096 == run.written_bytes
    assert "fio: terminating on signal 15" == run.message


@pytest.mark.parametrize("status", [-9, -15, 128, 137, None])
def test_a_killed_run_is_aborted_with_any_output(status: int | None) -> None:
    for output in (b"", printed(FSYNC), printed(FSYNC)[:-500], b"{", b"nonsense"):
        assert RunResult.ABORTED == parse(output, status).result


def test_only_the_job_that_a_full_disk_stopped_failed() -> None:
    full = job("slc", error=28, write=direction({5: 26}, 1 << 20))
    run = parse(printed(full, PAGE_READ), 1)
    assert RunResult.FAILED == run.result
    assert [RunResult.FAILED, RunResult.SUCCESS] == [each.result for each in run.jobs]
    assert 28 == run.jobs[0].error
    assert 26 << 20 == run.written_bytes


def test_an_error_status_without_a_failed_job_fails_all_jobs() -> None:
    run = parse(printed(FSYNC, PAGE_READ), 1)
    assert [RunResult.FAILED] * 2 == [each.result for each in run.jobs]


def test_a_job_without_an_error_field_fails_if_another_failed() -> None:
    run = parse(printed(job("slc", error=28), {**PAGE_READ, "error": None}), 1)
    assert [RunResult.FAILED] * 2 == [each.result for each in run.jobs]


def test_a_job_without_operations_failed() -> None:
    run = parse(printed(FSYNC, job("page_read")), 0)
    assert RunResult.FAILED == run.result
    assert [RunResult.SUCCESS, RunResult.FAILED] == [each.result for each in run.jobs]


def test_the_last_of_two_reports_is_used() -> None:
    half = job("fsync", write=direction({2_000: 33}))
    assert 200 * 4096 == parse(printed(half) + b"\n" + printed(FSYNC), 0).written_bytes


def test_if_the_last_report_is_truncated_the_first_is_used_with_a_fault() -> None:
    half = job("fsync", write=direction({2_000: 33}))
    run = parse(printed(half) + printed(FSYNC)[:-900], 128)
    assert 33 * 4096 == run.written_bytes
    assert run.faults


@pytest.mark.parametrize("number", [2, 17, 60])
def test_the_last_of_many_intermediate_reports_is_used(number: int) -> None:
    """--status-interval: `elapsed` starts at 1 in fio 3.41, and at 2 in earlier versions."""
    for first in (1, 2):
        output = b"\n".join(
            printed(job("fsync", elapsed=first + n, write=direction({2_000: 1 + n})))
            for n in range(number)
        )
        run = parse(output, 0)
        assert (number * 4096, ()) == (run.written_bytes, run.faults)
        cut = parse(output[:-400], 128)
        assert ((number - 1) * 4096, 1) == (cut.written_bytes, len(cut.faults))


def test_the_start_of_a_job_is_ignored() -> None:
    """fio 3.39 and later print `job_start`, in milliseconds since 1970."""
    later = {**FSYNC, "job_start": 1_764_000_000_123}
    assert only(printed(FSYNC)) == only(printed(later))


def test_the_utilization_of_the_disk_is_ignored() -> None:
    """It is missing without /sys, and with --disk_util=0."""
    disks: list[list[dict[str, Any]]] = [[], [{"name": "sda", "util": 99.1, "read_ios": 3}]]
    for disk_util in disks:
        assert parse(printed(FSYNC), 0) == parse(printed(FSYNC, disk_util=disk_util), 0)


@pytest.mark.parametrize("total", [0, 199, 31])
def test_syncs_are_counted_by_their_latencies_also_if_fio_counts_them(total: int) -> None:
    """fio counts fsync in `total_ios`, and not fdatasync."""
    counted = {**FSYNC, "sync": {**FSYNC["sync"], "total_ios": total}}
    assert only(printed(FSYNC)) == only(printed(counted))


def test_a_duplicate_job_name_is_a_fault() -> None:
    run = parse(printed(FSYNC, FSYNC), 0)
    assert 1 == len(run.jobs)
    assert 1 == len(run.faults)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (b"", "no report"),
        (b"fio: engine nosuch not loadable\n", "engine nosuch not loadable"),
        (printed(FSYNC)[:-700], "not JSON"),
        (b"\0" * 100, "no report"),
        (b"[]", "no report"),
        (b"{}", "no report"),
        (b'{"jobs": {}}', "no report"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"jobs": [' + b"9" * 5000 + b"]}", "not JSON"),
        (b" " * (fio_report.MAX_REPORT_BYTES + 1), "more than"),
    ],
)
def test_a_run_that_exits_without_a_report_is_a_parse_error(output: bytes, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        parse(output, 1)


def test_a_nan_mean_is_unknown_and_other_fields_are_kept() -> None:
    """fio prints "-nan" after a division by zero, which is not valid JSON."""
    for word in ("nan", "-nan", "inf"):
        output = printed(FSYNC).replace(b'"stddev": 0.0', f'"stddev": {word}'.encode())
        assert (
            RunResult.SUCCESS == parse(output.replace(b'"iops": 2000.0', b'"iops": nan'), 0).result
        )
    write = only(output.replace(b'"iops": 2000.0', b'"iops": -nan')).ops[Op.WRITE]
    assert (200, None) == (write.operations, write.iops)


def test_an_invalid_field_is_left_out() -> None:
    odd = latency({5_000: 10}, max=-1)
    odd["bins"] = {"5000": 9, "x": 1, "-3": 1, "6000": "many", "nan": 1}
    run = parse(printed(job("w", error="?", write=direction({5_000: 10}, clat_ns=odd, iops=[]))), 0)
    write = run.jobs[0].ops[Op.WRITE]
    assert (10, None, None, {5e-6: 9}) == (
        write.operations,
        write.iops,
        write.max_seconds,
        write.bins,
    )
    assert 5e-6 == write.mean_seconds
    assert (RunResult.SUCCESS, None) == (run.jobs[0].result, run.jobs[0].error)
    assert 7 == len(run.faults)


def test_unknown_fields_of_a_later_format_are_ignored() -> None:
    future = printed(
        job("fsync", write=direction({9: 1}, zones=3), telemetry={"a": []}), format=9
    ).replace(b"fio-3.33", b"fio-4.2-rc1")
    run = parse(future, 0)
    assert (RunResult.SUCCESS, "4.2-rc1") == (run.result, run.fio_version)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["read", "write", "sync", "clat_ns", "lat_ns", "N", "bins", "1000"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(st.binary(max_size=400), st.none() | st.integers(-64, 255))
def test_any_bytes_are_a_run_or_a_parse_error(output: bytes, status: int | None) -> None:
    try:
        parse(output, status)
    except ParseError:
        assert status is not None


@given(st.integers(0, len(printed(FSYNC, PAGE_READ))), st.sampled_from([0, 1, 128]))
def test_a_report_may_be_truncated_anywhere(length: int, status: int) -> None:
    try:
        run = parse(printed(FSYNC, PAGE_READ)[:length], status)
    except ParseError:
        assert status < 128
    else:
        assert (run.result is RunResult.ABORTED) == (status == 128)


@given(st.dictionaries(st.sampled_from(["read", "write", "sync", "error", "job_runtime"]), _JSON))
def test_any_values_in_a_job_affect_only_that_job(values: dict[str, object]) -> None:
    broken = json.dumps({"jobs": [{"jobname": "w", **values}, PAGE_READ]}).encode()
    run = parse(broken, 0)
    assert RunResult.SUCCESS == run.jobs[-1].result
    assert 512 == run.jobs[-1].ops[Op.READ].operations
    for op in run.jobs[0].ops.values():
        assert all(seconds >= 0 and count > 0 for seconds, count in op.bins.items())
