"""Reads past the page cache by this process."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.clock import SystemClock
from exporter.errors import ReadError
from exporter.probe import direct_read
from exporter.probe.fio_report import Op, RunResult
from exporter.probe.profiles import MIB, PROFILES

READ = replace(PROFILES["page_read"], size_bytes=MIB, number_ios=64, rate_iops=None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MIB))
    return path


def test_only_single_direct_reads_are_its_business() -> None:
    fitting = {name for name, profile in PROFILES.items() if direct_read.fits(profile)}
    assert {"page_read"} == fitting
    assert not direct_read.fits(replace(READ, depth=4))
    assert not direct_read.fits(replace(READ, direct=False))


def test_each_read_is_timed(file: Path) -> None:
    run = direct_read.run(READ, file, SystemClock(), lambda: True)
    (job,) = run.jobs
    found = job.ops[Op.READ]
    assert (RunResult.SUCCESS, "page_read") == (run.result, job.name)
    assert (64, 64 * 16_384) == (found.operations, found.bytes)
    assert 64 == sum(found.bins.values())
    assert found.p50_seconds is not None
    assert found.max_seconds is not None
    assert 0 < found.p50_seconds <= found.max_seconds < 5
    assert 0 == run.written_bytes


def test_the_rate_is_kept(file: Path) -> None:
    run = direct_read.run(
        replace(READ, number_ios=40, rate_iops=200), file, SystemClock(), lambda: True
    )
    assert run.jobs[0].seconds is not None
    assert run.jobs[0].seconds >= 0.19


def test_it_ends_when_it_is_told_to(file: Path) -> None:
    answers = iter([True, True, False])
    run = direct_read.run(READ, file, SystemClock(), lambda: next(answers))
    assert (RunResult.ABORTED, 2) == (run.result, run.jobs[0].ops[Op.READ].operations)


def test_it_ends_with_its_time(file: Path) -> None:
    slow = replace(READ, number_ios=1000, rate_iops=10, runtime_seconds=0.35)
    run = direct_read.run(slow, file, SystemClock(), lambda: True)
    assert 4 == run.jobs[0].ops[Op.READ].operations


@pytest.mark.parametrize("what", ["gone", "a link", "too short"])
def test_a_file_that_cannot_be_read_so_is_said(file: Path, what: str) -> None:
    target = file
    if what == "gone":
        file.unlink()
    elif what == "a link":
        target = file.with_name("link")
        target.symlink_to(file)
    else:
        file.write_bytes(b"")
    with pytest.raises(ReadError, match="past the page cache"):
        direct_read.run(READ, target, SystemClock(), lambda: True)
