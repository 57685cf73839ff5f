"""Tests runs of fio under guard, and the host's share of their latency."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.profiles import PROFILES
from exporter.io.interval import DiskInterval
from exporter.linux import diskstats
from exporter.linux.diskstats import DiskStats
from exporter.probe.fio_report import JobResult, Op, OpResult, ProbeRun, RunResult
from exporter.probe.fio_run import (
    HostShareRules,
    ProfileResult,
    RunOutcome,
    host_share,
    host_share_of_run,
    is_host_limited,
    limit_seconds,
)
from exporter.probe.production_load import GuardReading
from tests.io.records import NEW, grown, over

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
    """A run with one read every 5 ms, each of 4.2 ms by fio's report, after 1 s of fsync."""
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
def test_the_host_share_is_computed_within_the_time_of_the_job(
    device_ms: float, expected: float
) -> None:
    share = host_share_of_run(reading(device_ms), (REDO, READ), "page_read", RULES)
    assert expected == pytest.approx(share, abs=0.02)


def test_the_host_share_is_unknown_if_others_made_as_many_operations() -> None:
    run = reading(0.2)
    crowded = tuple(
        GuardReading(
            look.at, None if look.disk is None else disk(reads=int(look.at * 2000), read_ms=9)
        )
        for look in run.readings
    )
    run = replace(run, readings=crowded)
    assert host_share_of_run(run, (REDO, READ), "page_read", RULES) is None


def test_the_host_share_is_unknown_for_buffered_writes() -> None:
    assert host_share_of_run(reading(0.2), (REDO, READ), "fsync", RULES) is None


def test_the_host_share_is_unknown_without_readings() -> None:
    run = replace(reading(0.2), readings=())
    assert host_share_of_run(run, (REDO, READ), "page_read", RULES) is None


def test_the_device_bytes_count_if_the_probe_made_most_operations() -> None:
    jobs = (job("page_write", Op.WRITE, 2.0, operations=100, bytes=100 * 16_384),)
    looks = ((0.0, disk()), (2.0, disk(writes=150, sectors=8000)))
    assert 8000 * 512 == ended(jobs, looks, 2.0).device_bytes
    looks = ((0.0, disk()), (2.0, disk(writes=250, sectors=8000)))
    assert ended(jobs, looks, 2.0).device_bytes is None
    assert ended(jobs, looks[:1], 2.0).device_bytes is None
    assert replace(ended(jobs, looks, 2.0), run=None).fio_bytes is None


def test_a_failed_profile_does_not_fail_the_others() -> None:
    jobs = (
        job("fsync", Op.SYNC, 1.0, operations=1),
        JobResult("page_write", RunResult.FAILED, 28, 1.0, {}),
    )
    run = replace(ended(jobs, (), 3.0), result=ProfileResult.FAILED)
    assert ProfileResult.SUCCESS is run.result_of("fsync")
    assert ProfileResult.FAILED is run.result_of("page_write")
    assert ProfileResult.FAILED is run.result_of("page_read"), "it is not in the report"


def test_the_timeout_is_twice_the_runtime_plus_5_s() -> None:
    assert 65.0 == limit_seconds((REDO, READ, WRITE))


def device(op: str, operations: int, seconds: float, others: int = 0) -> DiskInterval:
    """An interval with these operations in one direction, and `others` in the other."""
    other = "write" if op == "read" else "read"
    work = {
        f"{op}s_completed": operations,
        f"{op}_time_seconds": seconds,
        f"{other}s_completed": others,
        f"{other}_time_seconds": 0.1 * others,
    }
    return over(NEW, grown(NEW, **work), 1000.0)


@pytest.mark.parametrize(
    ("op", "probe", "disk", "expected"),
    [
        pytest.param(
            "write", (30_200_000, 4.238e-3), (30_170_065, 6428.786), 0.950, id="USB on a Pi"
        ),
        pytest.param(
            "read", (3_026_000, 42.29e-3), (756_532, 31953.025), 0.001, id="its device full"
        ),
        pytest.param(
            "write", (6_371_943, 4.8205e-3), (6_360_259, 30567.537), 0.003, id="fast NVMe"
        ),
    ],
)
def test_the_host_share_of_published_runs(
    op: Literal["read", "write"],
    probe: tuple[int, float],
    disk: tuple[int, float],
    expected: float,
) -> None:
    share = host_share(op, *probe, device(op, *disk), RULES)
    assert pytest.approx(expected, abs=0.001) == share
    assert (expected > 0.5) == is_host_limited(share, RULES)


def test_the_host_share_is_known_only_if_the_probe_made_half_of_the_operations() -> None:
    assert pytest.approx(0.5) == host_share("read", 500, 2e-3, device("read", 1000, 1.0), RULES)
    assert host_share("read", 499, 2e-3, device("read", 1000, 1.0), RULES) is None


def test_the_other_direction_counts_as_operations_and_not_in_the_await() -> None:
    busy = device("read", 500, 0.5, others=500)
    assert pytest.approx(0.5) == host_share("read", 500, 2e-3, busy, RULES)
    assert host_share("read", 500, 2e-3, device("read", 500, 0.5, others=501), RULES) is None


def test_the_host_share_is_0_if_the_await_exceeds_the_latency() -> None:
    """The kernel rounds to milliseconds."""
    assert 0.0 == host_share("write", 200, 1e-4, device("write", 200, 0.021), RULES)


def test_the_host_share_is_unknown_without_operations() -> None:
    assert host_share("read", 0, 1e-3, device("read", 0, 0.0), RULES) is None
    assert host_share("read", 100, 1e-3, device("write", 100, 0.1), RULES) is None
    assert host_share("read", 100, 0.0, device("read", 100, 0.1), RULES) is None
    assert not is_host_limited(None, RULES)


@given(
    st.sampled_from(["read", "write"]),
    st.tuples(st.integers(-1, 10**9), st.floats()),
    st.tuples(st.integers(0, 10**6), st.floats(0, 1e5), st.integers(0, 10**6)),
)
def test_the_host_share_is_between_0_and_1(
    op: Literal["read", "write"], probe: tuple[int, float], disk: tuple[int, float, int]
) -> None:
    share = host_share(op, *probe, device(op, *disk), RULES)
    assert share is None or 0 <= share <= 1
