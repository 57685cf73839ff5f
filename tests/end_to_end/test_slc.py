"""The command `slc` on a real device that becomes slower after a number of bytes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.commands.measured import GATE, Ended
from tests.duration import PATIENCE_SECONDS, ahead_of_other_work
from tests.end_to_end.daemon import environment
from tests.required import lacking
from tests.rig.cgroup import RigUnavailable
from tests.rig.load import require_fio
from tests.rig.slow_disk import SlowDisk
from tests.rig.write_cache import mounted, write_cache

pytestmark = pytest.mark.real

MEMORY = Path("/dev/shm")

#: The simulated write cache: bytes per second while it has room, its size in bytes, and bytes per
#: second when it is full.
FAST, CACHE_BYTES, SLOW = 40_000_000, 300_000_000, 12_000_000
#: Bytes that are free again after a rest of this many seconds.
BACK_BYTES, REST_SECONDS = 160_000_000, 1.5


@pytest.fixture
def large_disk() -> Iterator[SlowDisk]:
    with ExitStack() as stack:
        try:
            require_fio()
            disk = stack.enter_context(SlowDisk(MEMORY, 576 << 20))
        except RigUnavailable as e:
            lacking(f"no slow disk on this machine: {e}")
        stack.enter_context(ahead_of_other_work())
        yield disk


def slc(disk: SlowDisk, place: Path, *arguments: str) -> Ended:
    """Runs the command in the cgroup of the disk, whose filesystem is mounted at `place`/mnt."""
    (place / "root/run/lock").mkdir(parents=True)
    (place / "state").mkdir()
    (place / "config.toml").write_text(GATE)
    ended = subprocess.run(
        [
            *(*disk.cgroup.prefix, sys.executable, "-m", "exporter", "slc"),
            *(str(place / "mnt/probe"), "--yes", "--anyway", "--json", *arguments),
            f"--config.file={place / 'config.toml'}",
            f"--state.directory={place / 'state'}",
            f"--path.rootfs={place / 'root'}",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_SECONDS,
        check=False,
        env=environment(),
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_slc_finds_the_end_of_the_cache_and_its_recovery(
    large_disk: SlowDisk, tmp_path: Path
) -> None:
    with (
        mounted(large_disk, tmp_path / "mnt") as mount,
        write_cache(
            large_disk,
            fast=FAST,
            slow=SLOW,
            cache_bytes=CACHE_BYTES,
            back_bytes=BACK_BYTES,
            rest_seconds=REST_SECONDS,
        ) as cache,
    ):
        ended = slc(large_disk, tmp_path, "--bytes=448MiB", "--idle=2")
        left = [each.name for each in mount.iterdir()]
    assert 1 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    assert "cliff" == data["result"]
    assert pytest.approx(CACHE_BYTES, rel=0.1) == data["cache_bytes"]
    assert pytest.approx(SLOW / FAST, rel=0.1) == data["falloff_ratio"]
    assert data["written_bytes"] < 0.9 * (448 << 20), (
        "the run did not stop soon after the end of the cache"
    )
    (rung,) = data["recovery"]
    assert pytest.approx(BACK_BYTES, rel=0.15) == rung["recovered_bytes"]
    assert rung["others_bytes"] is None
    assert (2, 1) == (cache.ended, cache.recovered)
    assert ["lost+found"] == left
    (kept,) = (tmp_path / "state").glob("slc-*.json")
    assert {"2": rung["recovered_bytes"]} == json.loads(kept.read_text())["recovered_bytes"]


def test_slc_finds_no_cache_on_a_disk_of_constant_speed(
    large_disk: SlowDisk, tmp_path: Path
) -> None:
    """On a disk of 576 MiB, a cache has at most a third of its size."""
    with mounted(large_disk, tmp_path / "mnt"):
        large_disk.throttle(write_bps=FAST)
        ended = slc(large_disk, tmp_path, "--bytes=220MiB")
    assert 0 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    assert "flat" == data["result"]
    assert pytest.approx(FAST, rel=0.15) == data["burst_bytes_per_second"]
    assert data["cache_bytes"] is None
    assert 1 == data["falloff_ratio"]
