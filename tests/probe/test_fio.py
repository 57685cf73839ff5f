"""Tests fio's command line, and runs the installed fio with it."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.profiles import (
    MIB,
    ON_BY_DEFAULT,
    PROFILES,
    Engine,
    Profile,
    Rw,
    Sync,
    with_engine,
)
from exporter.probe import fio, fio_report
from exporter.probe.fio import SystemFio
from exporter.probe.fio_report import Op, ProbeRun, RunResult
from exporter.programs.child import End
from exporter.programs.children import SystemChildren
from exporter.programs.command import SystemRunner
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError
from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.end_to_end.programs import need
from tests.fakes import FakeClock, FakeRunner
from tests.mounts import small_disk

FILE = Path("/data/probe/nvme0n1")
READ, WRITE, REDO = (PROFILES[name] for name in ("page_read", "page_write", "fsync"))


def job(argv: Sequence[str], name: str) -> list[str]:
    """Returns the arguments of one job, including its name."""
    begin = argv.index(f"--name={name}")
    rest = [i for i, each in enumerate(argv[begin + 1 :]) if each.startswith("--name=")]
    return list(argv[begin : begin + 1 + rest[0]] if rest else argv[begin:])


def test_the_due_profiles_are_sequential_jobs_of_one_process() -> None:
    argv = fio.arguments("/opt/fio", [REDO, READ, WRITE], FILE)
    assert ["/opt/fio", "--output-format=json+", "--eta=never"] == argv[:3]
    assert "--stonewall=1" not in job(argv, "fsync")
    for name in ("page_read", "page_write"):
        assert {"--stonewall=1", "--new_group=1"} <= set(job(argv, name))


def test_safety_options_apply_to_all_jobs() -> None:
    common = job(fio.arguments("fio", [REDO], FILE), "global")
    assert {
        "--thread=1",
        "--allow_file_create=0",
        "--randrepeat=0",
        "--norandommap=1",
        "--refill_buffers=1",
        "--percentile_list=50:95:99:99.9",
        "--filename=/data/probe/nvme0n1",
    } <= set(common)


def test_only_runs_without_writes_are_read_only() -> None:
    assert "--readonly" in fio.arguments("fio", [READ], FILE)
    assert "--readonly" not in fio.arguments("fio", [READ, REDO], FILE)


def test_operations_are_capped_by_number_and_time() -> None:
    argv = fio.arguments("fio", [REDO], FILE)
    assert {"--number_ios=200", "--rate_iops=100", "--runtime=10", "--fdatasync=1"} <= set(
        job(argv, "fsync")
    )
    assert not [each for each in argv if each.startswith(("--time_based", "--io_size"))]


@pytest.mark.parametrize("sync", Sync)
def test_each_sync_mode_sets_its_option(sync: Sync) -> None:
    found = {
        each.partition("=")[0].lstrip("-")
        for each in job(fio.arguments("fio", [replace(WRITE, sync=sync)], FILE), "page_write")
    }
    assert ({sync.value} - {"none"}) == found & {"fsync", "fdatasync", "end_fsync"}


def test_a_colon_in_a_path_is_escaped() -> None:
    argv = fio.arguments("fio", [READ], Path("/data/disk:1/f"))
    assert "--filename=/data/disk\\:1/f" in argv


@pytest.mark.parametrize("path", ["f", "", "/a\\b/f", "/a\nb/f", "/a\x7f/f", "/a\udc80/f"])
def test_a_path_that_fio_would_misread_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="name a directory"):
        fio.arguments("fio", [READ], Path(path))


@given(
    st.lists(
        st.builds(
            Profile,
            st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True),
            st.sampled_from(Rw),
            st.integers(512, 16 * MIB),
            st.integers(MIB, 1 << 36),
            st.sampled_from(Engine),
            st.integers(1, 256),
            st.integers(1, 16),
            st.booleans(),
            st.sampled_from(Sync),
            st.none() | st.integers(1, 1_000_000),
            st.none() | st.integers(1, 1000),
            st.floats(1, 600),
        ),
        min_size=1,
    )
)
def test_every_argument_is_a_long_option(profiles: list[Profile]) -> None:
    argv = fio.arguments("fio", profiles, FILE)
    assert all(each.startswith("--") for each in argv[1:])
    assert len(profiles) == sum(each.startswith("--runtime=") for each in argv)


def test_the_engines_are_parsed_from_indented_lines() -> None:
    listed = "Available IO engines:\n\tcpuio\n\tpsync\n\tio_uring\n\tdev-dax\n"
    assert {"cpuio", "psync", "io_uring", "dev-dax"} == fio.parse_engines(listed)
    assert frozenset() == fio.parse_engines("fio: unrecognized option '--enghelp'\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fio-3.33\n", (3, 33)),
        ("fio-3.16", (3, 16)),
        ("fio-3.36-12-gabcd-dirty", (3, 36)),
        ("3.41", (3, 41)),
        ("fio-2.2.10", (2, 2)),
        ("fio-4", None),
        ("", None),
        ("bash: fio: command not found", None),
    ],
)
def test_the_version_is_its_first_two_numbers(text: str, expected: tuple[int, int] | None) -> None:
    assert expected == fio.parse_version(text)


@given(st.text())
def test_any_text_can_be_parsed_for_engines_and_a_version(text: str) -> None:
    assert all(fio.parse_engines(text))
    found = fio.parse_version(text)
    assert found is None or min(found) >= 0


# The tests below run the installed fio on small files.


def short(profile: Profile, **changes: object) -> Profile:
    """Returns the profile with a file of 1 MiB, few operations and an engine of this fio."""
    quick = replace(
        profile,
        size_bytes=MIB,
        rate_iops=None,
        number_ios=20,
        # On a busy disk, a few writes take longer than a run may.
        runtime_seconds=PATIENCE_SECONDS,
    )
    available = fio.parse_engines(subprocess.check_output(fio.engines_arguments("fio"), text=True))
    return with_engine(replace(quick, **changes), available)  # type: ignore[arg-type]


def file_of(directory: Path, size: int = MIB) -> Path:
    path = directory / "file"
    path.write_bytes(os.urandom(size))
    return path


def run(profiles: Sequence[Profile], file: Path) -> ProbeRun:
    argv = fio.arguments("fio", profiles, file)
    done = subprocess.run(argv, capture_output=True, check=False, timeout=PATIENCE_SECONDS)
    return fio_report.parse(done.stdout, done.returncode)


@pytest.mark.real
def test_the_default_profiles_run_and_report_all_results(tmp_path: Path) -> None:
    found = run([short(PROFILES[name]) for name in ON_BY_DEFAULT], file_of(tmp_path))
    assert (RunResult.SUCCESS, ()) == (found.result, found.faults)
    assert list(ON_BY_DEFAULT) == [each.name for each in found.jobs]
    redo, read, write = found.jobs
    assert {Op.WRITE, Op.SYNC} == set(redo.ops)
    # number_ios ends the job after the last write, which is therefore not synced.
    assert (20, 19) == (redo.ops[Op.WRITE].operations, redo.ops[Op.SYNC].operations)
    assert {Op.READ} == set(read.ops)
    assert {Op.WRITE} == set(write.ops)
    assert 20 * 4096 + 20 * 16_384 == found.written_bytes
    for each in found.jobs:
        for op in each.ops.values():
            assert op.operations == sum(op.bins.values())
            assert None not in (op.mean_seconds, op.p50_seconds, op.p999_seconds)
            assert op.max_seconds is not None
            # The key of a bin is its middle, within 1/64 of its values.
            assert pytest.approx(op.max_seconds, rel=0.02) == max(op.bins)
    assert fio.parse_version(found.fio_version) is not None


@pytest.mark.real
def test_a_run_does_not_replace_or_resize_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, 2 * MIB)
    before = file.stat()
    run([short(PROFILES["burst"], number_ios=None, block_bytes=65_536), short(READ)], file)
    assert (before.st_ino, before.st_size) == (file.stat().st_ino, file.stat().st_size)


@pytest.mark.real
def test_the_results_of_threads_are_summed_per_group(tmp_path: Path) -> None:
    found = run([short(READ, jobs=4), short(WRITE, jobs=2)], file_of(tmp_path))
    assert [80, 40] == [next(iter(each.ops.values())).operations for each in found.jobs]


@pytest.mark.real
@pytest.mark.parametrize("engine", [Engine.PSYNC, Engine.LIBAIO])
def test_each_engine_runs(tmp_path: Path, engine: Engine) -> None:
    """The installed fio has the engines to which profiles fall back."""
    found = run([short(READ, engine=engine, depth=4)], file_of(tmp_path))
    assert RunResult.SUCCESS == found.result


@pytest.mark.real
@pytest.mark.parametrize("size", [None, 4096])
def test_a_missing_or_short_file_is_not_created(tmp_path: Path, size: int | None) -> None:
    """Without the options, fio writes a missing file in full, and deletes a short one."""
    file = file_of(tmp_path, size) if size else tmp_path / "file"
    for profile in (short(WRITE), short(READ, sync=Sync.NONE)):
        found = run([profile, short(REDO)], file)
        assert RunResult.FAILED == found.result
        assert 0 == found.written_bytes
        assert not file.exists() or file.stat().st_size == size


@pytest.mark.real
def test_a_missing_directory_is_a_failed_run(tmp_path: Path) -> None:
    assert RunResult.FAILED == run([short(REDO)], tmp_path / "gone" / "file").result


def started(profile: Profile, file: Path) -> subprocess.Popen[bytes]:
    argv = fio.arguments("fio", [profile], file)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def await_open(pid: int, place: Path) -> None:
    """Waits until fio has opened its file. From then on it handles signals."""
    wait_until(lambda: [each for each in _open_files(pid) if each.startswith(f"{place}/")])


def _open_files(pid: int) -> list[str]:
    files = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            files.append(os.readlink(descriptor))
    return files


@pytest.mark.real
def test_a_terminated_run_reports_its_written_bytes(tmp_path: Path) -> None:
    with started(short(REDO, rate_iops=5, number_ios=250), file_of(tmp_path)) as child:
        await_open(child.pid, tmp_path)
        child.send_signal(signal.SIGTERM)
        output, _ = child.communicate(timeout=PATIENCE_SECONDS)
    found = fio_report.parse(output, child.returncode)
    assert (128, RunResult.ABORTED) == (child.returncode, found.result)
    assert 0 <= found.written_bytes < 250 * 4096
    assert all(each.error == 0 for each in found.jobs)


@pytest.mark.real
def test_an_intermediate_report_is_not_used(tmp_path: Path) -> None:
    with started(short(REDO, rate_iops=10, number_ios=50), file_of(tmp_path)) as child:
        await_open(child.pid, tmp_path)
        child.send_signal(signal.SIGUSR1)
        output, _ = child.communicate(timeout=PATIENCE_SECONDS)
    found = fio_report.parse(output, child.returncode)
    assert (RunResult.SUCCESS, 50 * 4096) == (found.result, found.written_bytes)


@pytest.mark.real
def test_a_killed_fio_leaves_no_process(tmp_path: Path) -> None:
    """Without --thread, a forked job keeps writing in its own session."""
    file = file_of(tmp_path)
    with started(short(REDO, rate_iops=5, number_ios=250), file) as child:
        await_open(child.pid, tmp_path)
        child.kill()
        child.communicate(timeout=PATIENCE_SECONDS)
    names = [
        os.readlink(f"/proc/{pid}/exe")
        for pid in os.listdir("/proc")
        if pid.isdecimal() and str(file) in _command_line(pid)
    ]
    assert [] == names


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a loop device")
def test_a_full_disk_stops_only_the_job_that_writes(tmp_path: Path) -> None:
    with small_disk(tmp_path, 16 * MIB) as mountpoint:
        file = mountpoint / "file"
        with file.open("wb") as opened:
            opened.truncate(64 * MIB)
        filling = short(PROFILES["slc"], number_ios=None, size_bytes=64 * MIB)
        found = run([filling, short(READ)], file)
    assert [RunResult.FAILED, RunResult.SUCCESS] == [each.result for each in found.jobs]
    assert 28 == found.jobs[0].error
    assert 0 < found.written_bytes < 16 * MIB


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


# The tests below are for `SystemFio`.

#: Reads 512 blocks, which takes 51 s at 10 operations per second.
LONG_READ = replace(READ, size_bytes=8 * MIB, runtime_seconds=60.0)


def test_the_engines_are_queried_once_an_hour() -> None:
    runner = FakeRunner(
        {
            ("fio", "--version"): "fio-3.33\n",
            ("fio", "--enghelp"): "Available IO engines:\n\tpsync\n\tlibaio\n",
        }
    )
    clock = FakeClock()
    fio = SystemFio("fio", runner, clock)
    assert frozenset({"psync", "libaio"}) == fio.engines() == fio.engines()
    assert 2 == len(runner.ran)
    clock.advance(3600)
    fio.engines()
    assert 4 == len(runner.ran)


@pytest.mark.parametrize(
    ("said", "words"),
    [("fio-3.1\n", "older than 3.16"), ("hello", "older than"), (None, "not found")],
)
def test_the_problem_of_an_unusable_fio_is_described(said: str | None, words: str) -> None:
    runner = FakeRunner({} if said is None else {("fio", "--version"): said})
    fio = SystemFio("fio", runner, FakeClock())
    assert fio.engines() is None
    assert words in fio.problem


@pytest.fixture
def system_fio() -> SystemFio:
    need("fio", "setpriv")
    # A fio of a busy machine ends late. One that is killed has another status.
    children = SystemChildren(
        SystemClock(),
        grace_seconds=PATIENCE_SECONDS,
        max_output_bytes=fio_report.MAX_REPORT_BYTES,
    )
    return SystemFio("fio", SystemRunner(), SystemClock(), children)


@pytest.mark.real
def test_a_run_can_be_ended_at_once(system_fio: SystemFio, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1" * 8 * MIB)
    pid = system_fio.start([replace(LONG_READ, rate_iops=10)], file, PATIENCE_SECONDS)
    assert pid is not None
    await_open(pid, tmp_path)
    assert system_fio.wait(0.0) is None
    with at_most(2):
        system_fio.end()
        finished = system_fio.wait(PATIENCE_SECONDS)
        assert finished is not None
        assert (End.TIMED_OUT, 128) == (finished.end, finished.status)
    assert not Path(f"/proc/{pid}").exists()
    assert not system_fio.is_stuck


@pytest.mark.real
def test_a_missing_program_is_not_started(tmp_path: Path) -> None:
    without_setpriv = FakeRunner({})
    fio = SystemFio(str(tmp_path / "fio"), without_setpriv, SystemClock())
    assert fio.start([LONG_READ], tmp_path / "file", 30.0) is None
    finished = fio.wait(5.0)
    assert finished is not None
    assert End.NOT_STARTED is finished.end
