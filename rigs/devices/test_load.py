"""Arguments of fio and their limits."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rigs.devices.load import Job, arguments

LOOP = Path("/dev/loop9")

JOBS = st.lists(
    st.builds(Job, engine=st.sampled_from(["libaio", "psync"]), depth=st.integers(1, 64)),
    min_size=1,
    max_size=4,
)


def test_libaio_uses_one_thread_and_psync_one_per_request() -> None:
    argv = arguments(
        LOOP, [Job(depth=31), Job(engine="psync", depth=4)], seconds=9, largest_bytes=5 << 20
    )
    shape = [word for word in argv if word.startswith(("--iodepth", "--numjobs", "--io_size"))]
    expected = [
        "--iodepth=31",
        "--numjobs=1",
        "--io_size=1048576",
        "--iodepth=1",
        "--numjobs=4",
        "--io_size=1048576",
    ]
    assert expected == shape


def test_rate_and_fsync_are_optional() -> None:
    plain = arguments(LOOP, [Job()], seconds=9, largest_bytes=1 << 20)
    asked = arguments(
        LOOP, [Job(rate_iops=100, writes_per_fsync=4)], seconds=9, largest_bytes=1 << 20
    )
    expected = ["--rate_iops=100", "--fsync=4"]
    assert expected == [word for word in asked if word not in plain]


@given(jobs=JOBS, largest_bytes=st.integers(1 << 20, 1 << 40))
def test_all_jobs_share_the_byte_limit(jobs: list[Job], largest_bytes: int) -> None:
    argv = arguments(LOOP, jobs, seconds=9, largest_bytes=largest_bytes)
    shares = [int(word.partition("=")[2]) for word in argv if word.startswith("--io_size=")]
    assert sum(s * job.threads for s, job in zip(shares, jobs, strict=True)) <= largest_bytes
