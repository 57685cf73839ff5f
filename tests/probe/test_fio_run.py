"""What a run is charged by the device, and which share of its latency arose outside it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from exporter.linux import diskstats
from exporter.linux.diskstats import DiskStats
from exporter.probe.fio_report import JobResult, Op, OpResult, ProbeRun, RunResult
from exporter.probe.fio_run import (
    HostShareRules,
    ProfileResult,
    RunOutcome,
    host_share_of_run,
    limit_seconds,
)
from exporter.probe.production_load import GuardReading
from exporter.probe.profiles import PROFILES

REDO, READ, WRITE = (PROFILES[name] for name in ("fsync", "page_read", "page_write"))
RULES = HostShareRules()


def disk(reads: int = 0, read_ms: int = 0, writes: int = 0, sectors: int = 0) -> DiskStats:
    line = f"8 0 sda {reads} 0 {reads * 32} {read_ms} {writes} 0 {sectors} 0 0 0 0\n"
    return next(iter(diskstats.parse(line, {}).value.values()))


def job(name: str, op: Op, seconds: float, **found: float) -> JobResult:
    return JobResult(name, RunResult.SUCCESS, 0, seconds, {op: OpResult(**found)})  # type: ignore[arg-type]


def ended(
    jobs: Sequence[JobResult], looks: Sequence[tuple[float, DiskStats]], end: float
) -> RunOutcome:
    run = ProbeRun(RunResult.SUCCESS, 0, "3.33", tuple(jobs))
    seen = tuple(GuardReading(at, each) for at, each in looks)
    return RunOutcome(ProfileResult.SUCCESS, run, 0.0, end, seen)


def reading(device_ms: float, others: int = 0) -> RunOutcome:
    """A read a 5 ms, 4.2 ms each by fio's word, after a second of fsync."""
    looks = [
        (at, disk(reads=int(r * 200) + others, read_ms=int(r * 200 * device_ms)))
        for at in (0.0, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0)
        for r in [max(0.0, at - 1.0)]
    ]
    jobs = (
        job("fsync", Op.SYNC, 1.0, operations=100, mean_seconds=0.001),
        job("page_read", Op.READ, 2.0, operations=400, total_mean_seconds=0.0042),
    )
    return ended(jobs, looks, 3.0)


@pytest.mark.parametrize(("device_ms", "expected"), [(0.2, 0.95), (4.2, 0.0), (2.1, 0.5)])
def test_the_share_outside_the_device_in_its_own_part_of_the_run(
    device_ms: float, expected: float
) -> None:
    share = host_share_of_run(reading(device_ms), (REDO, READ), "page_read", RULES)
    assert expected == pytest.approx(share, abs=0.02)


def test_it_is_not_known_where_others_did_as_much() -> None:
    run = reading(0.2)
    crowded = tuple(
        GuardReading(
            look.at, None if look.disk is None else disk(reads=int(look.at * 2000), read_ms=9)
        )
        for look in run.readings
    )
    run = replace(run, readings=crowded)
    assert host_share_of_run(run, (REDO, READ), "page_read", RULES) is None


def test_it_is_not_known_of_what_goes_into_the_page_cache() -> None:
    assert host_share_of_run(reading(0.2), (REDO, READ), "fsync", RULES) is None


def test_it_is_not_known_without_looks() -> None:
    run = replace(reading(0.2), readings=())
    assert host_share_of_run(run, (REDO, READ), "page_read", RULES) is None


def test_what_the_device_wrote_counts_where_the_probe_did_most_of_it() -> None:
    jobs = (job("page_write", Op.WRITE, 2.0, operations=100, bytes=100 * 16_384),)
    looks = ((0.0, disk()), (2.0, disk(writes=150, sectors=8000)))
    assert 8000 * 512 == ended(jobs, looks, 2.0).device_bytes
    looks = ((0.0, disk()), (2.0, disk(writes=250, sectors=8000)))
    assert ended(jobs, looks, 2.0).device_bytes is None
    assert ended(jobs, looks[:1], 2.0).device_bytes is None
    assert replace(ended(jobs, looks, 2.0), run=None).fio_bytes is None


def test_one_profile_that_failed_does_not_fail_the_others() -> None:
    jobs = (
        job("fsync", Op.SYNC, 1.0, operations=1),
        JobResult("page_write", RunResult.FAILED, 28, 1.0, {}),
    )
    run = replace(ended(jobs, (), 3.0), result=ProfileResult.FAILED)
    assert ProfileResult.SUCCESS is run.result_of("fsync")
    assert ProfileResult.FAILED is run.result_of("page_write")
    assert ProfileResult.FAILED is run.result_of("page_read"), "it is not in the report"


def test_a_run_has_twice_its_time_and_what_it_takes_to_begin() -> None:
    assert 65.0 == limit_seconds((REDO, READ, WRITE))
